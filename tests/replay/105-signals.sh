#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Signals raised, by timer, by fault, nested, on another stack, left by siglongjmp.
. tests/lib.sh

record_and_replay "$BUILD/tests/programs/signals"

# Where a signal landed is found whatever is logged on the way, of each mode no less than of the one before
# (a loop that waits for a signal may be most of the run, and reads nothing).
first= last=0
for mode in stores flow addresses values; do
	expect_status 0 timeout 60 "$FAULTLINE" replay --log=$mode "$TMPDIR/c"
	bytes=$(sed -n 's/^faultline: \([0-9.]*\) log bytes an instruction.*/\1/p' "$TMPDIR/err")
	awk "BEGIN { exit !(${bytes:-0} > 0 && ${bytes:-0} >= $last) }" || fail "--log=$mode, behind $last: $(cat "$TMPDIR/err")"
	first=${first:-$bytes} last=$bytes
done
awk "BEGIN { exit !($last > $first) }" || fail "values: $last, stores: $first"

# .. and where another thread decides what becomes of them.
for _ in 1 2 3; do
	rm -rf "$TMPDIR/c"
	"$BUILD/tests/programs/disposed" | grep -q handled || fail "no signal came"
	record_and_replay "$BUILD/tests/programs/disposed"
done
