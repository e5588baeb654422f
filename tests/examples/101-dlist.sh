#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Caught at the exit of dlist_cut(); the program ends normally.
. tests/examples/example.bash

check_example dlist 5 0 c1
