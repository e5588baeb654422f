#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Caught at the exit of ring_expire(); the program ends normally.
. tests/examples/example.bash

check_example clist 6 0 c1
