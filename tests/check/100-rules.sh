#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline check` finds each mistake of programs that say on each line which it is, at that line and by
# that rule, and nothing else, as two compilers make them at three levels.
. tests/lib.sh
need jq gcc clang g++ clang++
need_bpf

# found_in CAPTURE - rules and lines, those that are told of the same finding included.
found_in() {
	expect_status 1 "$FAULTLINE" check --json "$1"
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' \
		"$TMPDIR/out" | sort -u
}

for program in wrong.c wrong_cc.cc; do
	source=tests/programs/$program
	grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' | sort -u >"$TMPDIR/want"
	[ "$(wc -l <"$TMPDIR/want")" -ge 11 ] || fail "$source expects nothing"
	compilers="gcc clang" standard=gnu11
	[ $program = wrong.c ] || compilers="g++ clang++" standard=c++17
	for cc in $compilers; do
		for level in O0 O2 O3; do
			[ "$program$level" != wrong_cc.ccO3 ] || continue
			$cc -std=$standard -D_GNU_SOURCE -g -$level -fno-builtin -w -o "$TMPDIR/wrong" $source ||
				fail "cannot compile $source"
			rm -rf "$TMPDIR/c"
			make_capture "$TMPDIR/c" "$TMPDIR/wrong" all
			found_in "$TMPDIR/c" >"$TMPDIR/found"
			diff "$TMPDIR/want" "$TMPDIR/found" || fail "$cc -$level $program"
		done
	done
done
exit 0
