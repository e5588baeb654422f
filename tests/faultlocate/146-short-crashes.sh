#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Crashes of short runs, and no C-point named: what was done a few times only leads to the faulty
# statement, too, alone. A program that is right and ends in the midst of an operation is not
# accused by a C-point that nobody named: a note says in what it ended.
. tests/lib.sh
need gojq cc
need_bpf

# record NAME COMMAND... - it ends by a signal.
crash() {
	local dir=$TMPDIR/$1 got=0
	shift
	rm -rf "$dir"
	"${RECORD[@]}" -o "$dir" -- "$@" >/dev/null 2>"$TMPDIR/truth" || got=$?
	[ $got -ge 128 ] || fail "it did not crash: $*"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$dir"
}

# A fault of an AVL tree of 6 nodes, 12 operations.
for run in "O0 8 1" "O2 1 3"; do
	level=${run%% *} run=${run#* }
	cc -std=gnu11 -g "-$level" -I. -DSUBJECT_NODES=6 -DSUBJECT_OPERATIONS=12 \
		-o "$TMPDIR/avl" specs/avl.c || fail "cannot compile"
	# shellcheck disable=SC2086
	crash c "$TMPDIR/avl" $run
	line=$(sed -n 's/^wrong: .*://p' "$TMPDIR/truth" | head -n 1)
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec specs/avl.spec --json
	jq -e "(.faults | map(.line)) == [$line]" "$TMPDIR/out" >/dev/null ||
		fail "avl $run -$level: $(jq -c '[.faults[].line]' "$TMPDIR/out"), not [$line]"
done

# All is done by main: its statements are looked at.
cat >"$TMPDIR/main.c" <<'C'
#include <stdlib.h>
struct node { struct node *next, *prev; int v; };
int main(void)
{
	struct node *head = NULL, *tail = NULL;
	for (int i = 0; i < 30; i++) {
		struct node *n = calloc(1, sizeof(*n));
		n->v = i;
		n->prev = tail;
		if (tail)
			tail->next = n;
		else
			head = n;
		tail = n;
		if (i % 5 == 4) {
			struct node *d = head->next;
			d->prev->next = d->next;
			d->next->prev = i == 14 ? d : d->prev; /* WRONG */
			free(d);
		}
		if (i % 7 == 6) {
			struct node *m = head->next->next;
			struct node *x = calloc(1, sizeof(*x));
			x->prev = m;
			x->next = m->next;
			m->next->prev = x;
			m->next = x;
		}
		if (i % 4 == 3) {
			struct node *t = tail;
			tail = tail->prev;
			tail->next = NULL;
			free(t);
		}
	}
	for (struct node *n = tail; n; n = n->prev)
		if (n->prev && n->prev->next != n)
			abort();
	return 0;
}
C
cat >"$TMPDIR/main.spec" <<'SPEC'
node FIELD 3 EDGE 2;
node X; node Y; (X.next) == Y => (Y.prev) == X;
node X; node Y; X.next != NULL => (X.next) == Y;
SPEC
cc -g -O0 -o "$TMPDIR/main" "$TMPDIR/main.c" || fail "cannot compile"
crash m "$TMPDIR/main"
line=$(grep -n WRONG "$TMPDIR/main.c" | cut -d: -f1)
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/m" --spec "$TMPDIR/main.spec" --json
jq -e ".violations[0].cpoint | startswith(\"before main.c:\")" "$TMPDIR/out" >/dev/null &&
	jq -e ".faults | length <= 4 and any(.line == $line)" "$TMPDIR/out" >/dev/null ||
	fail "main: $(jq -c '[.violations[0].cpoint, [.faults[].line]]' "$TMPDIR/out"), not $line"

# Right programs which end by abort() where their faults would be, in the midst of operations.
mkdir -p "$TMPDIR/include/specs"
sed 's|^\(\t*\)wrong; |\1abort(); |' specs/subject.h >"$TMPDIR/include/specs/subject.h"
grep -q 'abort();' "$TMPDIR/include/specs/subject.h" || fail "no twin"
for run in "leftist 3" "redblack 2"; do
	name=${run% *}
	cp "specs/$name.c" "$TMPDIR/twin.c"
	cc -std=gnu11 -g -O2 -I"$TMPDIR/include" -DSUBJECT_NODES=300 -DSUBJECT_OPERATIONS=200 \
		-o "$TMPDIR/twin" "$TMPDIR/twin.c" || fail "cannot compile"
	crash t "$TMPDIR/twin" "${run#* }" 1
	got=0
	"$FAULTLINE" analyze "$TMPDIR/t" --spec "specs/$name.spec" >"$TMPDIR/out" || got=$?
	grep -q 'taken for one' "$TMPDIR/out" && fail "$run is right: $(head -n 20 "$TMPDIR/out")"
	[ $got = 0 ] && continue
	[ $got = 1 ] && grep -q 'violations\? at C-point: crash' "$TMPDIR/out" &&
		grep -q '^note: the crash is inside .*: violations may be temporary' "$TMPDIR/out" ||
		fail "$run: exit status $got: $(head -n 20 "$TMPDIR/out")"
done
exit 0
