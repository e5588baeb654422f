#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program that reads what its child wrote into shared memory diverges, and the replay
# says why: in words and as JSON. A capture that matches has nothing to explain.
. tests/lib.sh

need gojq
need_bpf
program=$BUILD/tests/programs/inputs
"${RECORD[@]}" -o "$TMPDIR/c" -- "$program" shared >"$TMPDIR/out" 2>"$TMPDIR/err" ||
	fail "record: $(cat "$TMPDIR/err")"
[ "$(cat "$TMPDIR/out")" = 01234 ] || fail "the program says: $(cat "$TMPDIR/out")"

expect_status 1 "$FAULTLINE" replay --explain "$TMPDIR/c"
for line in '^diverged: thread ' '^last system call that agreed:' '^  wait4(' \
	'^first difference: rdx' '^  recorded: 0x5 in write(' '^  replayed: 0 in write(' \
	'inputs\.c:[0-9]* in by_shared' '^likely cause: shared-memory' '^what to do: '; do
	grep -q "$line" "$TMPDIR/out" || fail "no '$line' in: $(cat "$TMPDIR/out")"
done

expect_status 1 "$FAULTLINE" replay --explain --json "$TMPDIR/c"
jq -e '.matched == false and (.explanation |
	.agreed.name == "wait4" and .difference.kind == "register" and
	.difference.register == "rdx" and .difference.recorded == "0x5" and
	.difference.replayed == "0" and .cause.name == "shared-memory" and
	(.chain | length) >= 2 and (.chain | map(.function) | index("by_shared")) and
	(.position > .agreed.position))' "$TMPDIR/out" >/dev/null ||
	fail "says: $(cat "$TMPDIR/out")"

# Without --explain it is one line, and the place.
expect_status 1 "$FAULTLINE" replay "$TMPDIR/c"
[ "$(wc -l <"$TMPDIR/out")" -le 2 ] || fail "talks: $(cat "$TMPDIR/out")"

make_capture "$TMPDIR/d" "$program" time
expect_status 0 "$FAULTLINE" replay --explain --json "$TMPDIR/d"
jq -e '.matched and (has("explanation") | not)' "$TMPDIR/out" >/dev/null ||
	fail "explains: $(cat "$TMPDIR/out")"
