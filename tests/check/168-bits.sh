#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# cmpxchg, xadd, bsf and the like: what has no value decides by them, too.
. tests/lib.sh
need gojq gcc clang
need_bpf

source=tests/check/programs/bits.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" = 7 ] || fail "$source expects something else"
for how in "gcc O0" "gcc O2" "gcc O2 -mbmi -mlzcnt" "clang O0" "clang O2"; do
	read -r cc level more <<<"$how"
	$cc -g -$level $more -o "$TMPDIR/bits" $source || fail "cannot compile $source"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/bits"
	expect_status 1 "$FAULTLINE" check --only UNINIT-USE --json "$TMPDIR/c"
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
		sort -u | sort -n >"$TMPDIR/found"
	diff "$TMPDIR/want" "$TMPDIR/found" || fail "$how"
done
exit 0
