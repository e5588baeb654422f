#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# C-points that somebody named: a line, a return after so many, of the command line and of a
# specification. What is wrong only there is found there, and nowhere else. A line without
# code is told with those next to it that have some; a name that nothing has does not turn off
# the automatic choice. The same of `graph --at`, which knows where the run ends.
. tests/lib.sh
need gojq cc
need_bpf
cat >"$TMPDIR/prog.c" <<'C'
#include <stdlib.h>
struct item { struct item *next, *prev; };
struct other { struct other *up; } others;
static struct item *first;
__attribute__((noinline)) static void push(int i)
{
	struct item *n = malloc(sizeof(*n));
	n->next = first;
	n->prev = NULL;
	if (first)
		first->prev = i == 5 ? first : n; /* WRONG */
	first = n;
}
__attribute__((noinline)) static void repair(void)
{
	for (struct item *n = first; n->next; n = n->next)
		n->next->prev = n; /* REPAIR */
}
__attribute__((noinline)) static void use(void)
{
	struct item *n = first;
	n->next = NULL; /* BREAK */

	n->next = n->prev; /* BROKEN */
	n->next = n == first ? NULL : n;
}
int main(void)
{
	for (int i = 1; i <= 5; i++)
		push(i);
	repair();
	for (int i = 6; i <= 9; i++)
		push(i);
	for (int i = 0; i < 40; i++)
		repair();
	struct item *rest = first->next;
	use();
	first->next = rest;
	return 0;
}
C
cc -g -O0 -o "$TMPDIR/prog" "$TMPDIR/prog.c" || fail "cannot compile"
make_capture "$TMPDIR/c" "$TMPDIR/prog"
line() {
	grep -n "/\* $1 \*/" "$TMPDIR/prog.c" | cut -d: -f1
}
cat >"$TMPDIR/prog.spec" <<'SPEC'
item FIELD 2 EDGE 2;
item X; item Y; (X.next) == Y => (Y.prev) == X;
item X; X.prev != NULL => (X.prev).next != NULL; ..(back)
SPEC

# locate WANT_STATUS ARGS... - the statement and the C-point are in $fault and $cpoint.
locate() {
	local want=$1
	shift
	expect_status "$want" "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/prog.spec" --json "$@"
	fault=$(jq -c '[.faults[].line]' "$TMPDIR/out")
	cpoint=$(jq -r '.violations[0].cpoint // ""' "$TMPDIR/out")
}
locate 0
locate 0 --cpoint 'AFTER push RETURNS 4' --cpoint 'AFTER push RETURNS 9 TIMES'
locate 1 --cpoint 'AFTER push RETURNS 5'
[ "$cpoint" = "return 5 of push" ] && jq -e ".faults | any(.line == $(line WRONG))" "$TMPDIR/out" \
	>/dev/null || fail "after 5 returns: $cpoint, $fault"
locate 0 --cpoint "prog.c:$(line BREAK)"
locate 1 --cpoint "prog.c:$(line BROKEN)"
[ "$cpoint" = "before prog.c:$(line BROKEN)" ] && [[ $fault = "[$(line BREAK)"[],]* ]] ||
	fail "before a line: $cpoint, $fault"

# The same in a specification, for one type.
{
	cat "$TMPDIR/prog.spec"
	echo "CPOINT AFTER push RETURNS 5 OF item; CPOINT prog.c:$(line BROKEN);"
} >"$TMPDIR/named.spec"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/named.spec"
grep -q '^1 violation at C-point: return 5 of push ' "$TMPDIR/out" || fail "in a specification"

# One function for two types: neither replaces the other.
for ends in "" EXIT; do
	{
		cat "$TMPDIR/prog.spec"
		echo "other FIELD 1 EDGE 1; CPOINT push $ends OF other; CPOINT push $ends OF item;"
	} >"$TMPDIR/types.spec"
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/types.spec"
	grep -q 'at C-point: return of push ' "$TMPDIR/out" || fail "the second type's C-point"
done

# What is not there, or not reached, is told.
empty=$(($(line BREAK) + 1))
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/prog.spec" --cpoint prog.c:$empty \
	--cpoint prog.c:4000 --cpoint prig.c:20 --cpoint 'AFTER push RETURNS 10' --cpoint pusch
while read -r note; do
	grep -Eqx "note: C-point $note" "$TMPDIR/out" || fail "no '$note' in $(cat "$TMPDIR/out")"
done <<NOTES
prog.c:$empty: no code at this line \(the nearest lines with code are $((empty - 1)) and $((empty + 1))\)
prog.c:4000: no code at this line \(the nearest line with code is [0-9]+\)
prig.c:20: no source of this name in the debug information
push: it returned 9 times, not 10
pusch: no function of this name
NOTES
for mistake in 'push ENTERED' 'AFTER push' 'AFTER push RETURNS 0'; do
	expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/prog.spec" --cpoint "$mistake"
	expect_error "cannot analyze: '$mistake' is no C-point"
done
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/prog.spec" \
	--cpoint 'push OF nobody'
grep -q 'cpoint:1:16: error: the program has no such struct' "$TMPDIR/err" ||
	fail "C-points of nobody: $(cat "$TMPDIR/err")"

# A name that nothing has is no C-point: one is found, as without it.
cat >"$TMPDIR/crash.c" <<'C'
#include <stdlib.h>
struct item { long v; struct item *next; };
static struct item *head;
__attribute__((noinline)) static void put(long v)
{
	struct item *n = malloc(sizeof(*n));
	n->v = v;
	n->next = v == 50 ? (struct item *)8 : head; /* WRONG */
	head = n;
}
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 60; i++)
		put(i);
	for (struct item *n = head; n; n = n->next)
		sum += n->v;
	return sum > 0;
}
C
cc -g -O0 -o "$TMPDIR/crash" "$TMPDIR/crash.c" || fail "cannot compile"
"${RECORD[@]}" -o "$TMPDIR/d" -- "$TMPDIR/crash" >/dev/null 2>"$TMPDIR/err"
[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/d"
echo 'item FIELD 2 EDGE 1; item X; item Y; X.next != NULL => (X.next) == Y;' >"$TMPDIR/crash.spec"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/d" --spec "$TMPDIR/crash.spec" --cpoint pot \
	--cpoint crash.c:1 --cpoint 'AFTER put RETURNS 99'
grep -q '^note: no C-point was named: taken for one is .* of put,' "$TMPDIR/out" ||
	fail "nothing was chosen: $(cat "$TMPDIR/out")"

# graph: a line, what is not there, and beyond the end.
expect_status 0 "$FAULTLINE" graph "$TMPDIR/c" --at "prog.c:$(line BROKEN)"
grep -q '9 item' "$TMPDIR/out" || fail "graph --at a line: $(cat "$TMPDIR/out")"
at() {
	expect_status 2 "$FAULTLINE" graph "$TMPDIR/d" --at "$1"
	[ -s "$TMPDIR/out" ] && fail "graph --at $1 shows something"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] || fail "graph --at $1: more than a line"
	expect_error "cannot show the heap at '?$1'?: $2"
}
at pusch "no function of this name"
at main "it .*never returned"
at crash.c:4000 "no code at this line"
at 99999999999 "the run ends after [0-9]+ instructions"
expect_status 2 "$FAULTLINE" graph "$TMPDIR/c" --from 5 --to 99999999999 --html "$TMPDIR/p.html"
expect_error "the run ends after"
exit 0
