#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A store that writes what was there already, where another value was due: found through an
# attribute, with a C-point before it and without, and in a red-black tree that colours a black
# node black.
. tests/lib.sh
need gojq cc
need_bpf

# finds WHAT LINE ARGUMENT... - the last capture, analysed so, has the statement among the faults.
finds() {
	local what=$1 line=$2
	shift 2
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --json "$@"
	jq -e "any(.faults[]; .line == $line and .because == \"same\") and
		all(.faults[]; .because != \"missing\")" "$TMPDIR/out" >/dev/null ||
		fail "$what: line $line is not among $(jq -c '[.faults[] | {because, line}]' "$TMPDIR/out")"
}

line() {
	grep -n '/\* WRONG \*/' "$1" | cut -d: -f1
}

cat >"$TMPDIR/sum.c" <<'C'
#include <stdlib.h>
struct item { long value; struct item *next; };
struct list { struct item *first; long total; };
__attribute__((noinline)) static void change(struct list *l, struct item *i, long by)
{
	*(volatile long *)&i->value = i->value + (by == 5 ? 0 : by); /* WRONG */
	l->total += by;
}
int main(void)
{
	struct list *l = calloc(1, sizeof(*l));
	for (int i = 0; i < 6; i++) {
		struct item *n = calloc(1, sizeof(*n));
		n->next = l->first;
		l->first = n;
	}
	for (long i = 1; i < 8; i++)
		change(l, i & 1 ? l->first : l->first->next, i);
	return 0;
}
C
cat >"$TMPDIR/sum.spec" <<'S'
item FIELD 2 EDGE 1; list FIELD 2 EDGE 1;
item.SUM NULL 0; item X; X.SUM = X.next.SUM + X.value;
list X; X.first.SUM == X.total;
S
for level in -O0 -O2; do
	cc -g $level -o "$TMPDIR/sum" "$TMPDIR/sum.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/sum"
	finds "sum $level" "$(line "$TMPDIR/sum.c")" --spec "$TMPDIR/sum.spec" --cpoint change
done
# The same with nothing after it, and no C-point before the end.
sed 's/i < 8/i < 6/' "$TMPDIR/sum.c" >"$TMPDIR/last.c"
cc -g -o "$TMPDIR/last" "$TMPDIR/last.c" || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/last"
finds "sum at the end" "$(line "$TMPDIR/last.c")" --spec "$TMPDIR/sum.spec" --named-only

# specs/redblack.c, whose grandparent is not red when the 700th key comes.
sed '0,/^\t\t\tg->color = RED;/s||\t\t\tg->color = n_keys == 700 ? BLACK : RED; /* WRONG */|' \
	specs/redblack.c >"$TMPDIR/rb.c"
cc -g -O2 -I. -DSUBJECT_OPERATIONS=1 -o "$TMPDIR/rb" "$TMPDIR/rb.c" || fail "cannot compile"
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/rb" 3
first() {
	finds "$@"
	[ "$(jq .faults[0].line "$TMPDIR/out")" = "$2" ] || fail "$1: not the first"
}
first "red-black" "$(line "$TMPDIR/rb.c")" --spec specs/redblack.spec --cpoint rb_insert
first "red-black, by itself" "$(line "$TMPDIR/rb.c")" --spec specs/redblack.spec
exit 0
