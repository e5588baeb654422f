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
	[ -s "$TMPDIR/diff$n" ] || return 0
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

# states NUMBER FILE - what `show' printed of figure NUMBER is FILE's.
states() {
	sed -n '/^> show/,/^> [^s]\|^> spec/p' "$TMPDIR/out$1" | grep '^  ' | diff "tests/repair/$2" - >"$TMPDIR/err" ||
		fail "figure $1, a state: $(cat "$TMPDIR/err")"
}

session 1 reverse
states 1 figure2.states
[ "$(grep -c ^repaired "$TMPDIR/out1")" = 2 ] || fail "not two repairs"
[ "$(grep -c '^-[^-]' "$TMPDIR/diff1")" = 2 ] && [ "$(grep -c '^+[^+]' "$TMPDIR/diff1")" = 3 ] ||
	fail "more than the faults differs: $(cat "$TMPDIR/diff1")"
grep -q '^+.*while (current != NULL) { // FIX1: current != NULL' "$TMPDIR/diff1" ||
	fail "the condition, or its comment: $(cat "$TMPDIR/diff1")"
order 1 "2 4 8 10"
# Of the new statement's variable there are two that lead there: the other is told.
sed -n '/^as near/,/^>/p' "$TMPDIR/out1" | grep -q '`head = temp[12]->prev. is new$' || fail "one alone: $(cat "$TMPDIR/out1")"
# The program before it leaves the list as it was.
cp tests/repair/figure1.c "$TMPDIR/f1.c"
order 1 "10 8 4 2"

# Boxes and arrows, drawn.
if command -v dot >/dev/null; then
	sed '/^leave$/,$d' tests/repair/figure1.commands >"$TMPDIR/f1"
	session 1 reverse --commands "$TMPDIR/f1" --svg "$TMPDIR/f1.svg"
	grep -q '<svg' "$TMPDIR/f1.svg" && [ "$(grep -c 'class="node"' "$TMPDIR/f1.svg")" -ge 4 ] || fail "no boxes: $(cat "$TMPDIR/f1.svg")"
	grep -q '<title>.*n3.*&#45;&gt;.*n2' "$TMPDIR/f1.svg" || fail "no arrow from n3 to n2: $(grep title "$TMPDIR/f1.svg")"
fi

# Figure 7: nine states, and how many of them differ behind each assignment; nothing is wrong.
session 7 f
[ "$(sed -n 's/^M = //p; s/^ .*Gamma = \([0-9]*\).*/\1/p' "$TMPDIR/out7" | tr '\n' ' ')" = "9 0 6 0 6 0 0 " ] ||
	fail "figure 7: $(cat "$TMPDIR/out7")"
grep -q '^nothing to repair' "$TMPDIR/out7" || fail "figure 7: $(cat "$TMPDIR/out7")"
# Figure 5: of figure 4 the difference changes at one statement.
sed 's/^repair$/gamma/; /^leave/d' tests/repair/figure4.commands >"$TMPDIR/f5"
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/f5" >"$TMPDIR/out5" ||
	fail "figure 5"
[ "$(grep '^ *[0-9] \*' "$TMPDIR/out5")" = "  2 * line 23  Gamma = 1  temp = fast_ptr" ] || fail "$(cat "$TMPDIR/out5")"

session 4 deleteMid
grep -q '^repaired: 0 guards, 1 statements, 0 new; 2 of 13' "$TMPDIR/out4" || fail "$(cat "$TMPDIR/out4")"
grep -q '^+.*temp = fast_ptr->next; // FIX' "$TMPDIR/diff4" || fail "$(cat "$TMPDIR/diff4")"
order 4 "8 2"

# The suspects, in their order: the fault first, which is enough.
sed 's/^repair$/suspects/; /^leave/d' tests/repair/figure4.commands |
	"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid >"$TMPDIR/out" || fail "suspects"
[ "$(sed -n '/operations are suspects/{n;p}' "$TMPDIR/out")" = \
	"  line 23: temp = fast_ptr (changed alone, it can do all)" ] || fail "suspects: $(cat "$TMPDIR/out")"

# What is before it in the file is left as it is written.
sed '1i static int other(int n) { n++; return !n; }' tests/repair/figure4.c >"$TMPDIR/second.c"
"$FAULTLINE" repair --source "$TMPDIR/second.c" --function deleteMid --commands tests/repair/figure4.commands \
	>"$TMPDIR/out" || fail "the second function: $(cat "$TMPDIR/out")"
[ "$(grep '^[-+][^-+]' "$TMPDIR/out")" = "$(grep '^[-+][^-+]' "$TMPDIR/diff4")" ] || fail "$(cat "$TMPDIR/out")"

# Figure 11: checkpoints 0, 1, 2; back to 0, another way to 3; and to 2 again, where 3 counts no more.
session 11 reverse
states 11 figure11.states
sed -n '/^> resume 2/,/^> repair/p' "$TMPDIR/out11" >"$TMPDIR/back"
grep -q '^  current -> n2$' "$TMPDIR/back" && grep -q '^  n3 | data = 8 | next -> n4 | prev -> n2 |$' "$TMPDIR/back" ||
	fail "the state of checkpoint 2: $(cat "$TMPDIR/back")"
grep -q '^repaired: 0 guards, 2 statements, 0 new' "$TMPDIR/out11" || fail "figure 11: $(tail -n 22 "$TMPDIR/out11")"
grep -q '^+.*current->prev = temp2;' "$TMPDIR/diff11" && grep -q '^+.*current->next = temp1;' "$TMPDIR/diff11" ||
	fail "figure 11: $(cat "$TMPDIR/diff11")"
order 11 "2 4 8 10"
# With all four asserted, none of them forgotten, one contradicts another.
sed '/^resume/d;/^show/d' tests/repair/figure11.commands >"$TMPDIR/f11"
got=0
"$FAULTLINE" repair --source tests/repair/figure11.c --function reverse --commands "$TMPDIR/f11" --seconds 1 \
	>"$TMPDIR/out" || got=$?
[ $got = 1 ] && grep -q '^with what is asserted up to spec 2 there is a patch, with spec 3 none' "$TMPDIR/out" ||
	fail "status $got: $(tail -n 3 "$TMPDIR/out")"
# What was not found in the time is not said not to be there.
honest() {
	case $(grep -Ec '^not known|none was found in time$' "$TMPDIR/out") in
	0) grep -q '^no repair within reach' "$TMPDIR/out" ;;
	2) ! grep -q '^no repair within reach' "$TMPDIR/out" ;;
	*) false ;;
	esac || fail "is it known or not? $(grep -E '^(not known|no repair|with what)' "$TMPDIR/out")"
}
honest

# Without localisation: one statement, which another may be too that does what was drawn.
session 4 deleteMid --everywhere
grep -q '^repaired: 0 guards, 1 statements, 0 new' "$TMPDIR/out4" || fail "everywhere: $(cat "$TMPDIR/out4")"

# A state that nothing small makes is told, not invented.
sed '$d' tests/repair/figure4.commands | sed 's/^change temp null/change n1 -> data 77/' >"$TMPDIR/never"
got=0
"$FAULTLINE" repair --source tests/repair/figure4.c --function deleteMid --commands "$TMPDIR/never" --seconds 1 \
	>"$TMPDIR/out" || got=$?
[ $got = 1 ] && grep -Eq '^(no repair within reach|not known)' "$TMPDIR/out" || fail "status $got: $(tail -n 3 "$TMPDIR/out")"
honest
exit 0
