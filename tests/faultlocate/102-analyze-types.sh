#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# How nodes get their types: an allocation site in the spec, also through a wrapper, and
# what is said when no node has a declared type.
. tests/lib.sh
need jq cc
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
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/other.spec"
grep -q 'no allocation has a declared type' "$TMPDIR/out" ||
	fail "not said: $(cat "$TMPDIR/out")"
