#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What system calls access of memory, by registers, vectors and messages: too much, or without a value. A program that
# makes such calls as they are to be has no finding, and needs no log.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/check/programs/calls.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" = 56 ] || fail "$source expects something else: $(wc -l <"$TMPDIR/want")"
for how in "gcc O0" "gcc O2" "clang O0" "clang O2"; do
	read -r cc level <<<"$how"
	$cc -std=gnu11 -g -$level -fno-builtin -w -o "$TMPDIR/calls" $source || fail "cannot compile $source"
	for kind in right wrong; do
		rm -rf "$TMPDIR/c"
		make_capture "$TMPDIR/c" "$TMPDIR/calls" ${kind/right/}
		FAULTLINE_LOG=faultlocate:2 "$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
		jq -r '.findings[] | select(.rule | test("LEAK") | not) | .rule as $r | (.at, (.also // [])[]) |
			"\(.line) \($r)"' "$TMPDIR/out" | sort -u | sort -n >"$TMPDIR/found" || fail "$how: $(cat "$TMPDIR/err")"
		if [ $kind = right ]; then
			[ ! -s "$TMPDIR/found" ] || fail "$how: $(cat "$TMPDIR/found")"
			grep -q 'guard.*doubt 0' "$TMPDIR/err" || fail "$how: a doubt: $(cat "$TMPDIR/err")"
			continue
		fi
		# Of variables of a function that was optimized, by clang, not all is known.
		[ "$how" != "clang O2" ] || sed -i '/STACK/d' "$TMPDIR/found"
		[ "$how" != "clang O2" ] || sed -i '/STACK/d' "$TMPDIR/want"
		diff "$TMPDIR/want" "$TMPDIR/found" || fail "$how"
	done
done
