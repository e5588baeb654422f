#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Signals raised, by timer, by fault, nested, on another stack, left by siglongjmp.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/signals"

# Where a signal landed is found whatever is logged on the way.
for mode in flow stores addresses values; do
	expect_status 0 timeout 60 "$FAULTLINE" replay --log=$mode "$TMPDIR/c"
	grep -Eq ' [1-9][0-9]*\.[0-9]+ log bytes an instruction' "$TMPDIR/err" ||
		fail "--log=$mode: $(cat "$TMPDIR/err")"
done
