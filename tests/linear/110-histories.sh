#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Histories in files: each of tests/linear/histories says in its first line which object, and what the
# answer is; files that are none are one line; an object of the user's.
. tests/lib.sh

n=0
for file in tests/linear/histories/*; do
	read -r _ object status rest < <(head -1 "$file" | sed 's/^\(INFO.* - \)\?[#;]* */# /')
	"$FAULTLINE" linear --object "$object" "$file" >"$TMPDIR/out" 2>"$TMPDIR/err"
	got=$?
	[ $got = "$status" ] || fail "$file: $got, not $status: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	cat "$TMPDIR/out" "$TMPDIR/err" | tr '\n' ' ' | grep -q -e "$rest" ||
		fail "$file: not '$rest': $(cat "$TMPDIR/out" "$TMPDIR/err")"
	n=$((n + 1))
done
[ $n -ge 15 ] || fail "only $n histories"
echo "result: $n histories"
