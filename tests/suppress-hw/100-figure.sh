#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Figures 5.1 and 5.2 of paper 003, number by number: which lines crash, which are suppressed at
# each step, which run at last, and what is reported. The first address of an array is suppressed
# with the index ("not shown in the figure"): lines x, y stand for where the arrays are made.
. tests/lib.sh

need gojq gcc
source=tests/suppress-hw/figure-5.1.c
gcc -g -O0 -w -o "$TMPDIR/figure" "$source" || fail "compiling"
want_status=139 make_capture "$TMPDIR/f.flt" "$TMPDIR/figure"
expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/f.flt"
cp "$TMPDIR/out" "$TMPDIR/json"

# numbers FILTER - the figure's numbers of the source lines that it gives, x and y for the others
# of the program, sorted.
numbers() {
	jq -r "$1" "$TMPDIR/json" | while read -r line; do
		sed -n "${line}s|.*// \([0-9]*\).*|\1|p;${line}s|.*intArray = malloc.*|x|p
			${line}s|.*structArray = calloc.*|y|p" "$source"
	done | sort -n | tr '\n' ' '
}
is() {
	[ "$(numbers "$1")" = "$2 " ] || fail "$1: $(numbers "$1"), not $2"
}
own='select(.file | test("figure-5.1.c"))|.line'

[ "$(jq '.steps | length' "$TMPDIR/json")" = 3 ] || fail "steps: $(cat "$TMPDIR/out")"
is '.steps[0].at.line' 12
is '.steps[0].suppressed[].line' "x 11"
is ".steps[0].lines[] | $own" "x 11 12"
is '.steps[1].at.line' 13
is '.steps[1].suppressed[].line' "y 8"
is ".steps[1].lines[] | $own" "x y 8 9 10 11 12 13"
is '.steps[2].at.line' 15
is '.steps[2].suppressed[].line' 4
is ".steps[2].lines[] | $own" "x y 4 8 9 10 11 12 13 15"
is '.identified[].line' 4
[ "$(jq -r .run.end "$TMPDIR/json")" = "exits with status 0" ] || fail "the last run crashes"
