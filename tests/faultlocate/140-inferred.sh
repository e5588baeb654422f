#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# C-points that nobody named. The structures of table 4.1 of paper 001, with ten faults and
# no C-point but the end: the faulty statement is among those reported, and they are no more
# than the table says, but for those that stored what was there already. Then a program that
# crashes over a node that is gone by then.
# FAULTLINE_INFERRED=full: with a dozen seeds, and every structure of specs/.
# time limit: 1800
. tests/lib.sh
need gojq cc
need_bpf

# run DIR COMMAND... - record it, however it ends; its stderr is in DIR.err.
run() {
	local dir=$1
	shift
	rm -rf "$dir"
	"${RECORD[@]}" -o "$dir" -- "$@" >/dev/null 2>"$dir.err"
	tail -n 1 "$dir.err" | grep -q complete || fail "not recorded: $(cat "$dir.err")"
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$dir"
}

# locate NAME SEED MOST - a statement was faulty; MOST: 0 for any number.
located=0
locate() {
	local name=$1 seed=$2 most=$3 line found
	run "$TMPDIR/c" "$BUILD/specs/$name-O2" "$seed" 10
	line=$(sed -n 's/^wrong: .*://p' "$TMPDIR/c.err" | head -n 1)
	[ -n "$line" ] || return 0
	"$FAULTLINE" analyze "$TMPDIR/c" --spec "specs/$name.spec" --json \
		>"$TMPDIR/json" || [ $? = 1 ] || fail "$name $seed: analyze"
	found=$(jq '.faults | length' "$TMPDIR/json")
	[ "$found" -gt 0 ] || { echo "$name $seed: right at the end"; return 0; }
	jq -e ".faults | any(.line == $line)" "$TMPDIR/json" >/dev/null ||
		fail "$name $seed: line $line is not among $(jq -c '[.faults[].line]' \
			"$TMPDIR/json")"
	found=$(jq '[.faults[] | select(.because != "same")] | length' "$TMPDIR/json")
	[ "$most" = 0 ] || [ "$found" -le "$most" ] ||
		fail "$name $seed: $found statements, not $most"
	located=$((located + 1))
}

seeds="5"
[ "${FAULTLINE_INFERRED:-}" = full ] && seeds=$(seq 1 12)
for seed in $seeds; do
	while read -r name most; do
		locate "$name" "$seed" "$most"
	done <<-TABLE
		circular 6
		ordered 2
		doubly 5
		quad 1
		avl 4
		btree 6
		redblack 10
		leftist 1
		bipartite 2
	TABLE
done
if [ "${FAULTLINE_INFERRED:-}" = full ]; then
	for seed in $seeds; do
		for name in tree binheap kary skiplist hash radix splay unionfind cube; do
			locate "$name" "$seed" 0
		done
	done
fi

# Some faults change nothing, or are made good again before the end; most do not.
[ $located -ge $((5 * $(wc -w <<<"$seeds"))) ] || fail "only $located were there to be located"

# With --named-only the end it is; without, it is the return of a function.
run "$TMPDIR/c" "$BUILD/specs/avl-O2" 5 10
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec specs/avl.spec --named-only --json
jq -e '.violations | length > 0 and all(.cpoint == "exit" or .cpoint == "crash")' "$TMPDIR/out" >/dev/null ||
	fail "--named-only: $(jq -c .violations[].cpoint "$TMPDIR/out")"
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec specs/avl.spec
grep -q '^note: no C-point was named: taken for one is .*avl_.*, where all held [0-9]* times' \
	"$TMPDIR/out" || fail "no note about the inferred C-point"

# A queue whose nodes are freed as they are read: at the crash nothing is wrong any more.
cat >"$TMPDIR/queue.c" <<'C'
#include <stdlib.h>
struct item { long v; struct item *next; };
static struct item *head;
static long sum;
__attribute__((noinline)) static void put(long v)
{
	struct item *n = malloc(sizeof(*n));
	n->v = v;
	n->next = v == 50 ? (struct item *)8 : head; /* WRONG */
	head = n;
}
int main(void)
{
	for (long i = 0; i < 40; i++)
		put(i);
	for (long i = 40; i < 60; i++)
		put(i);
	while (head) {
		struct item *n = head;
		head = n->next;
		sum += n->v;
		free(n);
	}
	return sum > 0;
}
C
cc -g -O2 -o "$TMPDIR/queue" "$TMPDIR/queue.c" || fail "cannot compile"
wrong=$(grep -n WRONG "$TMPDIR/queue.c" | cut -d: -f1)
echo 'item FIELD 2 EDGE 1; item X; item Y; X.next != NULL => (X.next) == Y;' \
	>"$TMPDIR/queue.spec"
run "$TMPDIR/q" "$TMPDIR/queue"
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/q" --spec "$TMPDIR/queue.spec" --named-only
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/q" --spec "$TMPDIR/queue.spec" --json
jq -e ".faults | length == 1 and .[0].line == $wrong" "$TMPDIR/out" >/dev/null ||
	fail "the queue: $(jq -c '[.faults[].line]' "$TMPDIR/out"), not $wrong"
echo "result: $located located"
