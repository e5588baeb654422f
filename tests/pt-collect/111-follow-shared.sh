#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Memory shared by two followed processes: nothing is missing in either capture. Without -f the
# program's says that it misses something, and names the mapping.
. tests/lib.sh

need_bpf
"${RECORD[@]}" -f -o "$TMPDIR/c" -- "$BUILD/tests/programs/forks" shared >"$TMPDIR/out" \
	2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
[ "$(cat "$TMPDIR/out")" = 42 ] || fail "the program ran differently"
tail -n 1 "$TMPDIR/err" | grep -q "2 processes.*: complete" || fail "says: $(cat "$TMPDIR/err")"
for manifest in "$TMPDIR"/c/manifest.json "$TMPDIR"/c/children/1-*/manifest.json; do
	grep -Eq '"joint":[[:space:]]*true' "$manifest" || fail "$manifest does not say joint"
done
"${RECORD[@]}" -o "$TMPDIR/alone" -- "$BUILD/tests/programs/forks" shared >"$TMPDIR/out" \
	2>"$TMPDIR/err" || fail "record: $(cat "$TMPDIR/err")"
grep -Eq 'shares memory at 0x[0-9a-f]+ \(/dev/zero' "$TMPDIR/alone/manifest.json" ||
	fail "the manifest does not name the mapping"
