#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Code that the program writes and overwrites.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/jit"
rm -r "$TMPDIR/c"
record_and_replay "$BUILD/tests/programs/jitcrew"
