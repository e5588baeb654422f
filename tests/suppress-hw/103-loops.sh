#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# tests/programs/crashes: a loop that goes wrong at each of its instances is left out as a whole, not
# an instance a run; a block that is read after it was given back leads to its free(); recursion
# without an end to what it went by; a pointer that nothing ever set to its use; an index without
# a sign to what computed it.
. tests/lib.sh

need gojq
need_bpf
source=tests/programs/crashes.c
# line PATTERN - its number in the source, the last one's.
line() {
	grep -n -- "$1" "$source" | tail -n 1 | cut -d: -f1
}
# removes MODE STATUS FILTER RUNS LINE - of which the FILTER'd line is LINE, in RUNS at most.
removes() {
	"${RECORD[@]}" -o "$TMPDIR/$1.flt" -- "$BUILD/tests/programs/crashes-O0" "$1" 300 \
		>/dev/null 2>"$TMPDIR/err"
	[ $? = "$2" ] || fail "$1 does not crash: $(cat "$TMPDIR/err")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/$1.flt"
	expect_status 1 "$FAULTLINE" suppress --json "$TMPDIR/$1.flt"
	[ "$(jq "$3" "$TMPDIR/out")" = "$5" ] || fail "$1: not line $5: $(cat "$TMPDIR/out")"
	[ "$(jq '.steps | length' "$TMPDIR/out")" -le "$4" ] || fail "$1: too many runs"
}

removes uaf 139 '.identified[0].line' 4 "$(grep -n -m 1 'free(all\[i\]);' "$source" | cut -d: -f1)"
removes recursion 139 '.identified[0].line' 1 "$(line "memset(text, '(', 4 << 20)")"
removes machine 139 '.identified[0].line' 2 "$(line 'nowhere = \*sp')"
jq -e '.notes[] | test("this instruction itself was left out")' "$TMPDIR/out" >/dev/null ||
	fail "not told that nothing defined it: $(cat "$TMPDIR/out")"
removes sort 139 '.identified[0].line' 1 "$(line 'all\[N / 2\] = NULL')"
removes tree 139 '.steps[0].suppressed[0].line' 2 "$(line 'free(l);')"
jq -e .removed "$TMPDIR/out" >/dev/null || fail "tree: $(cat "$TMPDIR/out")"
removes hash 139 '.steps[0].suppressed[0].line' 10 "$(line 'is_checked ? h & 63')"
