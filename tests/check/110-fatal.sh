#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Mistakes that end the program: what is released and was not allocated, NULL pointers, with offsets too, and
# others that lead nowhere; a wrong access that a signal answers is told by the rule it breaks.
. tests/lib.sh
need jq gcc clang
need_bpf

source=tests/programs/fatal.c
gcc -g -O0 -fno-builtin -w -o "$TMPDIR/gcc" $source || fail "cannot compile"
clang -g -O0 -fno-builtin -w -o "$TMPDIR/clang" $source || fail "cannot compile"
n=0
for i in $(seq 0 26); do
	cc=gcc
	((i % 2)) && cc=clang
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/$cc" "$i" >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	want=$(grep -n "case $i: .*// expect: " $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/')
	[ "$i" = 0 ] || [ -n "$want" ] || fail "case $i expects nothing"
	expect_status $((i > 0)) "$FAULTLINE" check --json "$TMPDIR/c"
	found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out")
	# What find() gave is what was wrong, in it or with it.
	[ "$found" = "$want" ] || fail "$cc, case $i: '$found', not '$want'"
	n=$((n + 1))
done
[ $n = 27 ] || fail "$n cases"
