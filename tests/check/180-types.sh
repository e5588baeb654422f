#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What goes wrong with C++'s containers, owners, lambdas and objects is found at the user's statement, not in the
# library's headers, and nothing is wrong in right ones: exceptions, streams of objects, what optimizers make of
# them. FAULTLINE_RULES=full: as two compilers make it at three levels, and what is C elsewhere (wrong.c,
# bytes.c) as C++; else one of them, and another of right ones.
# time limit: 600
. tests/lib.sh
need gojq g++ clang++
need_bpf

# check_as SOURCE KIND COMPILER...
check_as() {
	local source=$1 kind=$2 status=0
	shift 2
	grep -n '// expect: ' "$source" | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' |
		awk '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u >"$TMPDIR/want"
	[ "$(wc -l <"$TMPDIR/want")" -ge 39 ] || fail "$source expects nothing"
	[ "$kind" != right ] || : >"$TMPDIR/want"
	"$@" -D_GNU_SOURCE -g -fno-builtin -w -o "$TMPDIR/p" "$source" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/p" "$kind"
	"$BUILD/tests/check/tool_bytes" "$TMPDIR/c" || fail "as fast as it goes is not the same"
	"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err" || status=$?
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
		sort -u >"$TMPDIR/found" || fail "$*: $(cat "$TMPDIR/err")"
	[ "$kind" = right ] || [ $status = 1 ] || fail "$*: status $status"
	diff "$TMPDIR/want" "$TMPDIR/found" || fail "$source $kind: $*"
}

types=tests/programs/wrong_types.cc
if [ "${FAULTLINE_RULES:-}" = full ]; then
	for level in O0 O2 O3; do
		for cc in g++ clang++; do
			check_as $types wrong $cc -std=c++17 -$level
			check_as $types right $cc -std=c++17 -$level
		done
		check_as tests/programs/wrong.c all g++ -x c++ -fpermissive -$level
		check_as tests/programs/bytes.c wrong g++ -x c++ -fpermissive -$level
		check_as tests/programs/bytes.c right g++ -x c++ -fpermissive -$level
	done
else
	check_as $types wrong clang++ -std=c++17 -O2
	check_as $types right g++ -std=c++17 -O2
fi
exit 0
