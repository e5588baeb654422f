#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Caught at the exit of bst_lookup(); the program ends normally.
. tests/examples/example.bash

check_example bst 2 0 c1
