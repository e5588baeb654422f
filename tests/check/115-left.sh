#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Once main() has returned nothing in its frame leads to anything, whatever lies there still. Pointers are looked for in
# what was touched: 64 GiB of which a page was are no more than that.
# time limit: 60
. tests/lib.sh
need gojq gcc
need_bpf

source=tests/check/programs/left.c
grep -n '// expect: ' $source | sed 's/^\([0-9]*\):.*expect: \(.*\)/\1 \2/' >"$TMPDIR/want"
[ "$(wc -l <"$TMPDIR/want")" = 24 ] || fail "$source expects something else"
for level in O0 O2; do
	gcc -g -$level -o "$TMPDIR/left" $source || fail "cannot compile $source"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/left"
	expect_status 1 "$FAULTLINE" check --json "$TMPDIR/c"
	jq -r '.findings[] | .rule as $r | (.at, (.also // [])[]) | "\(.line) \($r)"' "$TMPDIR/out" |
		sort -n >"$TMPDIR/found"
	diff "$TMPDIR/want" "$TMPDIR/found" || fail "-$level"
done
exit 0
