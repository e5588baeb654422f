#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Mistakes that end the program: what is released and was not allocated, NULL pointers, with offsets too, and
# others that lead nowhere, or were never given a value; a wrong access that a signal answers is told by the rule it breaks. FAULTLINE_RULES=full:
# each as two compilers make it at three levels.
# time limit: 1200
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/programs/fatal.c
n=$(grep -c 'case [0-9]*: .*// expect: ' $source)

# check_case COMPILER LEVEL CASE
check_case() {
	local want found exe=$TMPDIR/$1-$2
	[ -e "$exe" ] || "$1" -g "-$2" -fno-builtin -w -o "$exe" $source || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$exe" "$3" >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	want=$(grep -n "case $3: .*// expect: " $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/')
	((!$3 || $3 >= 90)) || [ -n "$want" ] || fail "case $3 expects nothing"
	expect_status $(($3 > 0 && $3 < 90)) "$FAULTLINE" check --json "$TMPDIR/c"
	found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out")
	# What find() gave is what was wrong, in it or with it.
	[ "$found" = "$want" ] || fail "$1 -$2, case $3: '$found', not '$want'"
	# Calls and returns to nowhere: that is what is told, not where it stood.
	case $3 in
	35) want=0 ;;
	36 | 37) want=0x4142434445464748 ;;
	*) return ;;
	esac
	jq -e --arg want $want '.findings[0].values.r == $want' "$TMPDIR/out" >/dev/null ||
		fail "$1 -$2, case $3: $(jq -c '.findings[0].values' "$TMPDIR/out"), not $want"
}

for i in $(seq 0 "$n") 90 91 92; do
	if [ "${FAULTLINE_RULES:-}" = full ]; then
		for cc in gcc clang; do
			for level in O0 O2 O3; do
				check_case $cc $level "$i"
			done
		done
	elif ((i % 2)); then
		check_case clang O0 "$i"
	else
		check_case gcc O0 "$i"
	fi
done
[ "$n" -ge 42 ] || fail "$n cases"
exit 0
