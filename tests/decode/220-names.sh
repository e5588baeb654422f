#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# decode names what people call it: functions of C++, labels of assembler, stubs of the PLT (a call
# through one is the function's), and functions whose code is inlined; so often as the program
# called them.
. tests/lib.sh

need gojq
need_bpf
capture=$TMPDIR/c
make_capture "$capture" "$BUILD/tests/programs/names" 3 4 5 6
expect_status 0 "$FAULTLINE" encode "$capture"
"$FAULTLINE" decode --calls "$capture" >"$TMPDIR/calls" 2>"$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"
calls() { # N CALL
	[ "$(grep -cF " $2  <- " "$TMPDIR/calls")" = "$1" ] ||
		fail "$(grep -cF " $2  <- " "$TMPDIR/calls"), not $1 calls of $2: $(grep names "$TMPDIR/calls")"
}
calls 3 'geometry::point::scale(double)'
calls 4 'geometry::point::scale(int, int)'
calls 5 'double around<double>(double)'
calls 6 'bare_label'
# The first goes by way of the loader, unless that has done its work before.
n=$(grep -c ' fmod \[libm\]  <- double around<double>(double)+0x[0-9a-f]* (names\.cc:[0-9]* in within)$' \
	"$TMPDIR/calls")
[ "$n" = 4 ] || [ "$n" = 5 ] || fail "$n calls of fmod from what is inlined: $(grep names "$TMPDIR/calls")"
"$FAULTLINE" decode --instructions "$capture" 2>"$TMPDIR/err" |
	grep -q ' call 0x[0-9a-f]* <fmod@plt> ' || fail "no stub of fmod is named"
"$FAULTLINE" decode --calls --json --function 'geometry::point::scale(double)' "$capture" \
	2>"$TMPDIR/err" | jq -r 'select(.call == "call") | .to.name, .to.symbol' | sort | uniq -c |
	awk '{ $1 = $1; print }' >"$TMPDIR/json"
printf '%s\n' '3 _ZN8geometry5point5scaleEd' '3 geometry::point::scale(double)' | cmp - "$TMPDIR/json" ||
	fail "by name: $(cat "$TMPDIR/json")"
