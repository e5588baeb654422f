#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What calls write through pointers in structures, or as much as only the kernel knows, is there
# again, and nothing of it is told as a gap.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/pointers"
