#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses` where a pointer to a part of a struct means its whole: nothing is
# found in correct code, as two compilers make it, and what leaves an array is, at each statement.
. tests/lib.sh
need gojq gcc clang
need_bpf

# try PROGRAM LEVEL... - as compiled at each level.
try() {
	local source=tests/programs/$1.c marked cc level found
	marked=$(grep -n '/\* WRONG \*/' $source | cut -d: -f1 | paste -sd' ')
	for cc in gcc clang; do
		for level in "${@:2}"; do
			# The compiler must not know the functions: it would expand their calls.
			$cc -std=gnu11 -g -$level -fno-builtin -w -o "$TMPDIR/$1" $source ||
				fail "cannot compile"
			rm -rf "$TMPDIR/c"
			make_capture "$TMPDIR/c" "$TMPDIR/$1"
			expect_status 0 "$FAULTLINE" analyze --accesses "$TMPDIR/c"
			grep -q 'no access by a pointer' "$TMPDIR/out" ||
				fail "$1, $cc -$level: $(cat "$TMPDIR/out")"
			rm -rf "$TMPDIR/c"
			make_capture "$TMPDIR/c" "$TMPDIR/$1" wrong
			expect_status 1 "$FAULTLINE" analyze --accesses --json "$TMPDIR/c"
			found=$(jq -r '[.accesses[] | select(.kind == "field") | .at.line] | unique | join(" ")' \
				"$TMPDIR/out")
			[ "$found" = "$marked" ] || fail "$1, $cc -$level: '$found', not '$marked'"
		done
	done
}
try containers O0 O1 O2 O3 Os
try elements O0 O1 O2
