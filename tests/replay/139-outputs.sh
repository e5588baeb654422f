#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What calls write that fail or return 0, and what comes through other doors, is there again. A
# command that may have written where it does not say is named.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/outputs"
program=$BUILD/tests/programs/outputs
"$program" command || exit 0
"${RECORD[@]}" -o "$TMPDIR/k" -- "$program" command 2>&1 | grep -q "ioctl with command 0xc004ae02" ||
	fail "no word of a command that is not in the table"
