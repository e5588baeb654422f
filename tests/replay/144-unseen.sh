#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A program sees nothing of its recorder in what it may ask of rdtsc and filters, and loses no
# handler of SIGSEGV by it; what it wants to trap itself traps there again.
. tests/lib.sh

program=$BUILD/tests/programs/unseen
"$program" >"$TMPDIR/alone" || fail "it fails by itself"
for follow in "" -f; do
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" $follow -o "$TMPDIR/c" -- "$program" >"$TMPDIR/recorded" 2>"$TMPDIR/said" ||
		fail "it fails recorded"
	cmp "$TMPDIR/alone" "$TMPDIR/recorded" || fail "recorded $follow it sees something else"
	grep -q ": complete" "$TMPDIR/said" || fail "$(cat "$TMPDIR/said")"
	"$FAULTLINE" replay "$TMPDIR/c" || fail "diverged"
done
