#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Mapped files, mremap, brk, large reads, a deep stack.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/memory"
# More stack than most programs may have.
if ulimit -s unlimited 2>/dev/null; then
	rm -rf "$TMPDIR/c"
	record_and_replay "$BUILD/tests/programs/memory" deep
fi
