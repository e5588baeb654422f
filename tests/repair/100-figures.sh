#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The sessions of paper 004, figures 1 and 4: the patch is found, localised, nothing but its lines
# differs, and the patched program, compiled, does in general what was drawn of a part of it.
. tests/lib.sh

need cc
need patch
# session NUMBER FUNCTION [OPTION...] - its output, and the patched program.
session() {
	local c=tests/repair/figure$1.c f=$2 n=$1
	shift 2
	"$FAULTLINE" repair --source "$c" --function "$f" --commands "tests/repair/figure$n.commands" "$@" \
		>"$TMPDIR/out$n" || fail "figure $n: status $?: $(tail -n 3 "$TMPDIR/out$n")"
	sed -n '/^--- /,$p' "$TMPDIR/out$n" >"$TMPDIR/diff$n"
	cp "$c" "$TMPDIR/f$n.c"
	patch -s "$TMPDIR/f$n.c" "$TMPDIR/diff$n" || fail "figure $n: the difference does not apply"
}

# order NUMBER WANT - the list that the patched program leaves.
order() {
	cat >"$TMPDIR/main.c" <<C
#define main original
#include "$TMPDIR/f$1.c"
#undef main
#include <stdio.h>
int main(void)
{
	original();
	for (struct node *n = head; n; n = n->next)
		printf("%d ", n->data);
}
C
	cc -o "$TMPDIR/main" "$TMPDIR/main.c" 2>"$TMPDIR/err" || fail "figure $1: $(cat "$TMPDIR/err")"
	got=$("$TMPDIR/main") || fail "figure $1: the patched program crashes"
	[ "$got" = "$2 " ] || fail "figure $1: '$got', not '$2'"
}

session 1 reverse
[ "$(grep -c ^repaired "$TMPDIR/out1")" = 2 ] || fail "not two repairs"
[ "$(grep -c '^-[^-]' "$TMPDIR/diff1")" = 2 ] && [ "$(grep -c '^+[^+]' "$TMPDIR/diff1")" = 3 ] ||
	fail "more than the faults differs: $(cat "$TMPDIR/diff1")"
grep -q '^+.*while (current != NULL) { // FIX1: current != NULL' "$TMPDIR/diff1" ||
	fail "the condition, or its comment: $(cat "$TMPDIR/diff1")"
order 1 "2 4 8 10"
# The program before it leaves the list as it was.
cp tests/repair/figure1.c "$TMPDIR/f1.c"
order 1 "10 8 4 2"

session 4 deleteMid
grep -q '^repaired: 0 guards, 1 statements, 0 new; 2 of 13' "$TMPDIR/out4" || fail "$(cat "$TMPDIR/out4")"
grep -q '^+.*temp = fast_ptr->next; // FIX' "$TMPDIR/diff4" || fail "$(cat "$TMPDIR/diff4")"
order 4 "8 2"

# Without localisation: one statement, which another may be too that does what was drawn.
session 4 deleteMid --everywhere
grep -q '^repaired: 0 guards, 1 statements, 0 new' "$TMPDIR/out4" || fail "everywhere: $(cat "$TMPDIR/out4")"

# A state that nothing small makes is told, not invented.
sed '$d' tests/repair/figure4.commands | sed 's/^change temp null/change n1 -> data 77/' >"$TMPDIR/never"
got=0
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/never" --seconds 1 \
	>"$TMPDIR/out" || got=$?
[ $got = 1 ] && grep -Eq '^(no repair within reach|not known)' "$TMPDIR/out" || fail "status $got: $(tail -n 3 "$TMPDIR/out")"
exit 0
