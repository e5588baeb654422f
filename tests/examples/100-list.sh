#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The crash is the C-point: next leads out of the heap.
. tests/examples/example.bash

check_example list 2 139 c1
