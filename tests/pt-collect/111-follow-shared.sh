#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Memory shared by two followed processes: both captures say that they miss something, and
# name the mapping.
. tests/lib.sh

need_bpf
"${RECORD[@]}" -f -o "$TMPDIR/c" -- "$BUILD/tests/programs/forks" shared >"$TMPDIR/out" \
	2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
[ "$(cat "$TMPDIR/out")" = 42 ] || fail "the program ran differently"
tail -n 1 "$TMPDIR/err" | grep -q "2 processes.* 2 gaps: .*shares memory at 0x" ||
	fail "says: $(cat "$TMPDIR/err")"
for manifest in "$TMPDIR"/c/manifest.json "$TMPDIR"/c/children/1-*/manifest.json; do
	grep -Eq '"complete":[[:space:]]*false' "$manifest" || fail "$manifest says complete"
	grep -Eq 'shares memory at 0x[0-9a-f]+ \(/dev/zero' "$manifest" ||
		fail "$manifest does not name the mapping"
done
processes "$TMPDIR/c" | grep -c "(incomplete)" | grep -qx 2 || fail "the tree says complete"
