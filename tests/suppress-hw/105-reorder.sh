#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Programs after the kinds of paper 003, Table 5.4: overflows that nobody notices. With variables
# elsewhere they crash, and the line with FAULT is what is named; but for one that writes a 0 over a
# 0. Of one that crashes a statement further on (FIRST) is named without --reorder.
. tests/lib.sh
. tests/suppress-hw/table.sh

need gojq gcc
need_bpf
exposed=0
for source in tests/suppress-hw/quiet/*.c; do
	kind=$(basename "$source" .c)
	fault=$(sed -n '\|// FAULT|=' "$source")
	first=$(sed -n '\|// FIRST|=' "$source")
	gcc -g -O0 -w -fno-stack-protector -U_FORTIFY_SOURCE -o "$TMPDIR/$kind" "$source" ||
		fail "compiling $kind"
	want_status=$([ "$first" ] && echo 139 || echo 0) make_capture "$TMPDIR/$kind.flt" "$TMPDIR/$kind"
	if [ "$first" ]; then
		expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$kind.flt"
		[ "$(jq '.identified[0].line' "$TMPDIR/out")" = "$first" ] ||
			fail "$kind as it was: not line $first: $(cat "$TMPDIR/out")"
		row "$kind" "$TMPDIR/$kind.flt" "$source" "$fault" "$(jq '1 + (.steps | length)' "$TMPDIR/out")"
	fi
	expect_status "$([ $kind = global-same ] && echo 0 || echo 1)" \
		"$FAULTLINE" suppress --reorder --json "$TMPDIR/$kind.flt"
	if [ $kind = global-same ]; then
		jq -e '.crashed == false and .orderings == []' "$TMPDIR/out" >/dev/null ||
			fail "$kind: $(cat "$TMPDIR/out")"
		continue
	fi
	[ "$(jq '.identified[0].line' "$TMPDIR/out")" = "$fault" ] ||
		fail "$kind: not line $fault: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	jq -e '.orderings_tried <= 18 and (.steps[-1].ordering >= 1) and .removed and
		(.orderings[0].pairs | length) > 0' "$TMPDIR/out" >/dev/null ||
		fail "$kind: $(cat "$TMPDIR/out")"
	row "$kind, --reorder" "$TMPDIR/$kind.flt" "$source" "$fault" \
		"$(jq '1 + (.steps | length) + .orderings_tried' "$TMPDIR/out")"
	exposed=$((exposed + 1))
done
[ $exposed = 9 ] || fail "$exposed crash"
# What is right does not crash, however its blocks lie.
gcc -g -O0 -w -o "$TMPDIR/right" tests/suppress-hw/right.c || fail "compiling right"
make_capture "$TMPDIR/right.flt" "$TMPDIR/right"
expect_status 0 "$FAULTLINE" suppress --reorder --json "$TMPDIR/right.flt"
jq -e '.crashed == false and .orderings == []' "$TMPDIR/out" >/dev/null || fail "right: $(cat "$TMPDIR/out")"
