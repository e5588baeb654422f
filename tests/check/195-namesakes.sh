#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Methods of C++ and static functions that are called malloc, free, close, strlen .. are none of the C library's: nothing
# is wrong of a pool that has them, and what goes wrong in its block is found.
. tests/lib.sh
need gojq gcc g++ clang clang++
need_bpf

for build in "g++ -O0 programs/namesakes.cc" "clang++ -O2 programs/namesakes.cc" "gcc -fno-builtin -static check/programs/statics.c" "clang -O2 -fno-builtin check/programs/statics.c"; do
	source=tests/${build##* }
	line=$(sed -n '/ expect: /=' $source)
	${build% *} -g -w -o "$TMPDIR/namesakes" $source || fail "cannot compile $build"
	for wrong in "" 1; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/namesakes" $wrong
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		[ $? = $((0$wrong)) ] || fail "$build $wrong: $(cat "$TMPDIR/out" "$TMPDIR/err")"
		jq -e "[.findings[] | .at.line] == [${wrong:+$line}]" "$TMPDIR/out" >/dev/null ||
			fail "$build $wrong: $(cat "$TMPDIR/out")"
		"$FAULTLINE" analyze --accesses --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -e "[.accesses[] | .at.line] == [${wrong:+$line}]" "$TMPDIR/out" >/dev/null ||
			fail "accesses, $build $wrong: $(cat "$TMPDIR/out" "$TMPDIR/err")"
	done
done
exit 0
