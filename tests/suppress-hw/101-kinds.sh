#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Eleven programs after the kinds of paper 003, Table 5.1: overflows of global, heap and stack
# buffers, pointers that are NULL, a block freed twice; all crash far from the fault. The line with
# FAULT is the one that is named first, in no more altered runs than the paper's 4.
. tests/lib.sh

need jq gcc
need_bpf
found=0
for source in tests/suppress-hw/kinds/*.c; do
	kind=$(basename "$source" .c)
	fault=$(sed -n '\|// FAULT|=' "$source")
	gcc -g -O0 -w -fno-stack-protector -U_FORTIFY_SOURCE -o "$TMPDIR/$kind" "$source" ||
		fail "compiling $kind"
	"${RECORD[@]}" -o "$TMPDIR/$kind.flt" -- "$TMPDIR/$kind" >/dev/null 2>"$TMPDIR/err"
	[ $? -ge 128 ] || fail "$kind does not crash"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$kind.flt"
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$kind.flt"
	[ "$(jq '.identified[0].line' "$TMPDIR/out")" = "$fault" ] ||
		fail "$kind: not line $fault: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	[ "$(jq '.steps | length' "$TMPDIR/out")" -le 3 ] || fail "$kind: too many runs"
	found=$((found + 1))
done
[ $found = 11 ] || fail "$found kinds, not 11"
