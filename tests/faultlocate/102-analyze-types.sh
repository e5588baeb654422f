#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# How nodes get their types: an allocation site in the spec, also through a wrapper, and
# what is said when no node has a declared type.
. tests/lib.sh
need gojq cc
need_bpf
cat >"$TMPDIR/prog.c" <<'C'
#include <stdlib.h>
struct a { struct a *next; long v; };
struct b { struct b *next; long v; };
static void *xmalloc(size_t n)
{
	void *p = malloc(n); /* SITE */
	if (!p) exit(1);
	return p;
}
struct a *keep;
int main(void)
{
	struct a *first = xmalloc(sizeof(struct a));
	struct a *second = xmalloc(sizeof(struct a));
	first->next = second;
	second->next = first; /* CYCLE */
	first->v = second->v = 1;
	keep = first;
	return 0;
}
C
cc -g -O1 -o "$TMPDIR/prog" "$TMPDIR/prog.c" || fail "cannot compile"
want_status=0 make_capture "$TMPDIR/c" "$TMPDIR/prog"
site=$(grep -n 'SITE' "$TMPDIR/prog.c" | cut -d: -f1)
cycle=$(grep -n 'CYCLE' "$TMPDIR/prog.c" | cut -d: -f1)
cat >"$TMPDIR/site.spec" <<SPEC
a FIELD 2 EDGE 1 AT prog.c:$site;
a X; a Y; X -> Y => Y /->> X; ..(c1)
SPEC
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/site.spec" --json
jq -e --argjson line "$cycle" '.faults[0].line == $line' "$TMPDIR/out" >/dev/null ||
	fail "not line $cycle: $(cat "$TMPDIR/out")"

# Of another site: nothing is of the type, and that is said.
sed 's/prog.c:[0-9]*/prog.c:1/' "$TMPDIR/site.spec" >"$TMPDIR/other.spec"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/other.spec"
grep -q 'no allocation has a declared type' "$TMPDIR/out" ||
	fail "not said: $(cat "$TMPDIR/out")"

# All objects come from one function, whose result has a type: a line that calls it tells
# them apart. All are gone at the end: that is said where the end is the only C-point.
cat >"$TMPDIR/objects.c" <<'C'
#include <stdlib.h>
struct object { long kind; };
struct pair { struct object head; struct pair *other; };
static struct object *object_new(long kind, size_t size)
{
	struct object *o = calloc(1, size);
	if (!o) exit(1);
	o->kind = kind;
	return o;
}
static struct pair *pair_new(void)
{
	struct object *o = object_new(1, sizeof(struct pair)); /* SITE */
	return (struct pair *)o;
}
void *volatile number, *volatile seen;
__attribute__((noinline)) static void join(struct pair *a, struct pair *b)
{
	a->other = b;
	b->other = b; /* WRONG */
}
int main(void)
{
	struct pair *a = pair_new(), *b = pair_new();
	number = object_new(2, 16);
	join(a, b);
	seen = a->other->other;
	free(a);
	free(b);
	return 0;
}
C
cc -g -O1 -o "$TMPDIR/objects" "$TMPDIR/objects.c" || fail "cannot compile"
want_status=0 make_capture "$TMPDIR/o" "$TMPDIR/objects"
cat >"$TMPDIR/objects.spec" <<SPEC
pair FIELD 2 EDGE 1 AT objects.c:$(grep -n SITE "$TMPDIR/objects.c" | cut -d: -f1);
pair X; pair Y; (X.other) == Y => (Y.other) == X; ..(both)
SPEC
sed 's/pair FIELD/object FIELD 1 EDGE 0 AT objects.c:1;\n&/' "$TMPDIR/objects.spec" >"$TMPDIR/two.spec"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/o" --spec "$TMPDIR/two.spec"
grep -q "no allocation has the declared type 'object'" "$TMPDIR/out" || fail "not said: $(cat "$TMPDIR/out")"
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/o" --spec "$TMPDIR/objects.spec"
grep -q 'no node of a declared type is left' "$TMPDIR/out" || fail "not said: $(cat "$TMPDIR/out")"
wrong=$(grep -n WRONG "$TMPDIR/objects.c" | cut -d: -f1)
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/o" --spec "$TMPDIR/objects.spec" --cpoint join --json
jq -e --argjson line "$wrong" '.faults | any(.line == $line)' "$TMPDIR/out" >/dev/null ||
	fail "objects: not line $wrong: $(cat "$TMPDIR/out")"

# INDEGREE counts pointers of nodes of declared types: that others lead there is told, with what to declare.
cat >"$TMPDIR/links.c" <<'C'
#include <stdlib.h>
struct inode { long links; };
struct entry { struct inode *inode; struct entry *next; };
static struct entry *first;
static void add(struct inode *i)
{
	struct entry *e = malloc(sizeof(*e));

	*e = (struct entry){ i, first };
	first = e;
	i->links++;
}
int main(void)
{
	struct inode *i = calloc(1, sizeof(*i));

	add(i);
	add(i);
	return 0;
}
C
cc -g -o "$TMPDIR/links" "$TMPDIR/links.c" || fail "cannot compile"
make_capture "$TMPDIR/l" "$TMPDIR/links"
echo 'inode I; I.links == I.INDEGREE;' >"$TMPDIR/links.spec"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/l" --spec "$TMPDIR/links.spec"
grep -qxF "note: n1.INDEGREE does not count a pointer in n2, as its type 'entry' is not declared: \`entry;' does so" \
	"$TMPDIR/out" || fail "not said: $(cat "$TMPDIR/out")"
echo 'entry;' >>"$TMPDIR/links.spec"
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/l" --spec "$TMPDIR/links.spec"
! grep -q 'not count' "$TMPDIR/out" || fail "said: $(cat "$TMPDIR/out")"
