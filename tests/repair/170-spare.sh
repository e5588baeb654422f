#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What needs a variable more gets one, declared, also where its name is taken; what does not, gets none. What
# is loaded for a part of a statement can be used in another.
. tests/lib.sh

need cc
need patch
# mended NAME - the session's patch of $TMPDIR/NAME.c, compiled, swaps.
mended() {
	local c=$TMPDIR/$1.c got=0
	"$FAULTLINE" repair --source "$c" --function swap --commands tests/repair/spare.commands >"$TMPDIR/out" ||
		fail "$1: $(cat "$TMPDIR/out")"
	grep -q '^repaired: 0 guards, 1 statements, 1 new' "$TMPDIR/out" || fail "$1: $(cat "$TMPDIR/out")"
	sed -n '/^--- /,/^>/p' "$TMPDIR/out" | grep -v '^>' >"$TMPDIR/diff"
	patch -s "$c" "$TMPDIR/diff" || fail "$1: the difference does not apply"
	cc -Werror -o "$TMPDIR/main" "$c" 2>"$TMPDIR/err" || fail "$1: $(cat "$TMPDIR/err")"
	"$TMPDIR/main" || got=$?
	[ $got = 42 ] || fail "$1: $got, not 42: $(cat "$TMPDIR/diff")"
}

cp tests/repair/spare.c "$TMPDIR/plain.c"
mended plain
grep -q '^+	struct node \*spare;$' "$TMPDIR/diff" || fail "$(cat "$TMPDIR/diff")"
sed 's/^#include.*/&\n\nint spare;/' tests/repair/spare.c >"$TMPDIR/taken.c"
mended taken
grep -q '^+	struct node \*spare2;$' "$TMPDIR/diff" || fail "$(cat "$TMPDIR/diff")"
sed 's/^	b->next = a->next.*/	b->next = held;/; s/^	a->next = b->next;/	struct node *held = a->next;\n\n	a->next = held;/' \
	tests/repair/spare.c >"$TMPDIR/had.c"
sed 's/^step$/step\nnext/' tests/repair/spare.commands >"$TMPDIR/commands"
"$FAULTLINE" repair --source "$TMPDIR/had.c" --function swap --commands "$TMPDIR/commands" >"$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"
grep -q '^line 16: `a->next = b->next. instead of `a->next = held.$' "$TMPDIR/out" && ! grep -q '^+.*spare;' "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"

cat >"$TMPDIR/load.c" <<'C'
struct node {
	int data;
	struct node *next;
};
int sum;
void f(struct node *n)
{
	sum = n->next->data + n->data;
}
int main(void)
{
	struct node *n = malloc(sizeof(*n));

	n->data = 1;
	n->next = malloc(sizeof(*n));
	n->next->data = 7;
	f(n);
	return 0;
}
C
sed -i '1i #include <stdlib.h>' "$TMPDIR/load.c"
printf '%s\n' start 'until 18' step next 'change sum 14' spec repair >"$TMPDIR/commands"
"$FAULTLINE" repair --source "$TMPDIR/load.c" --function f --commands "$TMPDIR/commands" >"$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"
grep -q '^line 9: `sum = n->next->data + n->next->data. instead of' "$TMPDIR/out" || fail "$(cat "$TMPDIR/out")"
exit 0
