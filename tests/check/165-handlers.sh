#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A handler of a signal has registers of its own, and reads those of what it interrupted; that gets its own back.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/check/programs/handlers.c
while read -r build; do
	$build -g -w -o "$TMPDIR/handlers" $source || fail "cannot compile: $build"
	for wrong in 0 1 2; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/handlers" $wrong
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		status=$?
		found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out")
		want=$(sed -n "s/.*\/\/ wrong $wrong: /$(sed -n "/\/\/ wrong $wrong: /=" $source) /p" $source)
		# The line that leaves the variable is that of touch().
		[ $wrong != 1 ] || want="$(sed -n '/p\[i\]++/=' $source) STACK-OVERFLOW"
		[ "$found" = "$want" ] || fail "$build, wrong $wrong: '$found', not '$want'"
		[ $status = $((wrong > 0)) ] || fail "$build, wrong $wrong: status $status"
	done
done <<END
gcc -O0
clang -O0
gcc -O1
END
exit 0
