#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What compilers make of right programs, and was taken for wrong: nothing is told of it, and of the same program with argument
# `wrong' each line that says `expect:', and no other.
. tests/lib.sh
need gojq gcc g++ clang
need_bpf

for how in "g++ -O"{1,2,3}" returned.cc" "g++ -O2 -fno-omit-frame-pointer returned.cc" {"gcc -O0","gcc -O1","clang -O0"}" ends.c" "clang -O1 folded.c" {gcc,clang}" -O0 either.c" clang" -O"{1,2,s}" pushed.c" clang" -O"{1,s}" relative.c" "clang -O2"{," -DOWN"}" aborting.c" {gcc,clang}" -O"{0,1}" "{placed,usable}.c {gcc,clang}" -O0 lowered.c" "clang -O"{1,2}" apart.c"; do
	source=tests/check/programs/${how##* }
	grep -n '// expect: ' "$source" | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
	[ -s "$TMPDIR/want" ] || fail "$source expects nothing"
	${how% *} -g -w -o "$TMPDIR/program" "$source" || fail "cannot compile: $how"
	for argument in "" wrong; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/program" $argument
		"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -u | sort -n >"$TMPDIR/found" ||
			fail "$how $argument: $(cat "$TMPDIR/err")"
		[ -n "$argument" ] || [ ! -s "$TMPDIR/found" ] || fail "$how: $(cat "$TMPDIR/found")"
		[ -z "$argument" ] || diff "$TMPDIR/want" "$TMPDIR/found" || fail "$how $argument"
	done
done
exit 0
