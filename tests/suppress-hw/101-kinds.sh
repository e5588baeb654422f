#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Eleven programs after the kinds of paper 003, Table 5.1: overflows of global, heap and stack
# buffers, pointers that are NULL, a block freed twice; all crash far from the fault. The line with
# FAULT is the one that is named first, in no more altered runs than the paper's 4. The three
# implementations tell the same, to the instruction; where words of 8 bytes are NaT as a whole, the
# same line.
#
# time limit: 300
. tests/lib.sh
. tests/suppress-hw/table.sh

need gojq gcc
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
	row "$kind" "$TMPDIR/$kind.flt" "$source" "$fault" "$(jq '1 + (.steps | length)' "$TMPDIR/out")"
	jq 'del(.run.mode, .steps[].stepped)' "$TMPDIR/out" >"$TMPDIR/told"
	stepped=$(jq '[.steps[] | .instructions - .stepped] | add' "$TMPDIR/out")
	[ "$stepped" -gt 0 ] || fail "$kind: nothing ran in emitted code: $(cat "$TMPDIR/out")"
	for mode in software nat-mem; do
		expect_status 1 "$FAULTLINE" suppress --json --mode $mode "$TMPDIR/$kind.flt"
		[ "$(jq -r .run.mode "$TMPDIR/out")" = $mode ] || fail "$kind: not $mode"
		jq 'del(.run.mode, .steps[].stepped)' "$TMPDIR/out" |
			diff "$TMPDIR/told" - || fail "$kind: $mode tells another thing"
	done
	found=$((found + 1))
	[[ $kind == heap-* ]] || continue
	expect_status 1 "$FAULTLINE" suppress --json --mode nat-mem --granule 8 "$TMPDIR/$kind.flt"
	[ "$(jq '.identified[0].line' "$TMPDIR/out")" = "$fault" ] ||
		fail "$kind: words of 8 bytes: $(cat "$TMPDIR/out")"
done
[ $found = 11 ] || fail "$found kinds, not 11"
