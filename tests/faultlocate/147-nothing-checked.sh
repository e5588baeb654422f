#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Nothing was checked is not success: a stripped program, another struct's name, guards that are
# never true, a structure that is gone at the only C-point. Exit status 2, a line on stderr, and
# counts: nodes of each type, bindings of each constraint; the same in JSON. One constraint that
# was asked of nothing while others were asked is a note.
. tests/lib.sh
need gojq cc strip
need_bpf
cat >"$TMPDIR/prog.c" <<'C'
#include <stdlib.h>
struct item { long v; struct item *next; };
static struct item *first;
__attribute__((noinline)) static void push(long v)
{
	struct item *n = malloc(sizeof(*n));
	n->v = v;
	n->next = first;
	first = n;
}
int main(int argc, char **argv)
{
	(void)argv;
	for (int i = 0; i < 5; i++)
		push(i);
	while (argc > 1 && first) {
		struct item *n = first;
		first = n->next;
		free(n);
	}
	return 0;
}
C
cc -g -O0 -o "$TMPDIR/prog" "$TMPDIR/prog.c" || fail "cannot compile"
strip -o "$TMPDIR/stripped" "$TMPDIR/prog"
make_capture "$TMPDIR/c" "$TMPDIR/prog"
make_capture "$TMPDIR/gone" "$TMPDIR/prog" free
make_capture "$TMPDIR/s" "$TMPDIR/stripped"

# nothing CAPTURE NODES WHY ARGS... - of the spec on stdin nothing was checked.
nothing() {
	local capture=$TMPDIR/$1 nodes=$2 why=$3
	shift 3
	cat >"$TMPDIR/spec"
	expect_status 2 "$FAULTLINE" analyze "$capture" --spec "$TMPDIR/spec" "$@"
	[ "$(wc -l <"$TMPDIR/err")" = 1 ] && grep -q \
		'^faultline: cannot say whether anything is wrong: nothing was checked' "$TMPDIR/err" ||
		fail "no line on stderr: $(cat "$TMPDIR/err")"
	grep -Eqx "  [a-z]+: $nodes nodes? in the run" "$TMPDIR/out" &&
		grep -Eqx "  c1 \(.*:2\): asked of 0 bindings: $why" "$TMPDIR/out" ||
		fail "not '$nodes', '$why': $(cat "$TMPDIR/out")"
	grep -q 'no violation' "$TMPDIR/out" && fail "no violation?"
	expect_status 2 "$FAULTLINE" analyze "$capture" --spec "$TMPDIR/spec" --json "$@"
	jq -e ".checked.nothing and .checked.types[0].nodes == $nodes and
		(.checked.constraints | all(.asked == 0)) and .violations == []" "$TMPDIR/out" \
		>/dev/null || fail "JSON: $(cat "$TMPDIR/out")"
}
nothing s 0 'there was no node for it in the run' <<'SPEC'
tree FIELD 3 EDGE 2;
tree X; tree Y; (X[2]) == Y => X[1] >= Y[1];
SPEC
grep -q 'debug information' "$TMPDIR/out" ||
	"$FAULTLINE" analyze "$TMPDIR/s" --spec "$TMPDIR/spec" 2>/dev/null |
	grep -q 'no debug information' || fail "stripped: not said"
nothing c 0 'there was no node for it in the run' <<'SPEC'
itme FIELD 2 EDGE 1;
itme X; itme Y; (X[2]) == Y => X[1] >= Y[1];
SPEC
nothing c 5 'its guard was true of no node at a C-point' <<'SPEC'
item FIELD 2 EDGE 1;
item X; X.v > 100 => X.next != NULL;
SPEC
nothing gone 5 'no node was there for it at a C-point' <<'SPEC'
item FIELD 2 EDGE 1;
item X; X.INDEGREE <= 1;
SPEC

# With a C-point at which there are nodes it is success.
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/gone" --spec "$TMPDIR/spec" --cpoint push --json
jq -e '.checked.nothing == false and .checked.constraints[0].asked >= 5' "$TMPDIR/out" >/dev/null ||
	fail "asked: $(jq -c .checked "$TMPDIR/out")"

# One of two was asked.
cat >"$TMPDIR/spec" <<'SPEC'
item FIELD 2 EDGE 1;
item X; X.INDEGREE <= 1;
item X; X.v > 100 => X.next != NULL; ..(large)
SPEC
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec"
grep -Eq '^note: large \(.*spec:3\) was asked of nothing: its guard was true of no node' "$TMPDIR/out" ||
	fail "no note: $(cat "$TMPDIR/out")"
[ "$(grep -c '^note: .*asked of nothing' "$TMPDIR/out")" = 1 ] || fail "more than one note"
grep -q '^no violation of 2 constraints' "$TMPDIR/out" || fail "not said"

# What the accesses say is a result, whatever was checked; without a specification it is all.
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/gone" --spec "$TMPDIR/spec" --accesses
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/gone" --accesses
exit 0
