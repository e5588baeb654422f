#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline graph`: the heap as counted by the program itself, at the end, at a time and
# when a function returned; pictures that Graphviz reads; folded when large, and nothing
# lost by that; a page whose steps lead from its first state to its last, field by field.
. tests/lib.sh
need gojq cc dot
need_bpf
cd "$TMPDIR" || exit 1

cat >prog.c <<'END'
#include <stdio.h>
#include <stdlib.h>
struct item { int key; struct item *next; };
struct pair { struct item *a, *b; };
static struct item *first;
__attribute__((noinline)) static void push(int key)
{
	struct item *n = malloc(sizeof(*n));
	n->key = key;
	n->next = first;
	first = n;
}
__attribute__((noinline)) static void pop(void)
{
	struct item *n = first;
	first = n->next;
	free(n);
}
int main(void)
{
	struct pair *p;
	for (int i = 0; i < 50; i++)
		push(i);
	for (int i = 0; i < 10; i++)
		pop();
	p = malloc(sizeof(*p));
	p->a = first;
	p->b = first->next;
	for (int i = 0; i < 3; i++)
		push(100 + i);
	printf("%d\n", p->a->key);
	return 0;
}
END
cc -g -o prog prog.c || fail "cannot compile"
make_capture capture ./prog

graph() { "$FAULTLINE" graph capture "$@" 2>err || fail "graph $*: $(cat err)"; }
count() { sed -n "s/^ *\([0-9]*\) $1\$/\1/p"; }

[ "$(graph | count item)" = 43 ] || fail "at the end: $(graph)"
[ "$(graph | count pair)" = 1 ] || fail "at the end: $(graph)"
[ "$(graph --at pop | count item)" = 40 ] || fail "when pop returned last: $(graph --at pop)"
[ "$(graph --at pop | count pair)" = "" ] || fail "a pair before its time"
[ "$(graph --at 0 | count item)" = "" ] || fail "an item before the beginning"

# All boxes: 43 items and a pair, and an edge for each pointer to one of them.
graph --nodes 100 --dot >all.dot
[ "$(grep -c '^	n[0-9]* \[' all.dot)" = 44 ] || fail "not 44 boxes"
[ "$(grep -c '^	n[0-9]*:f[0-9]*:e -> n' all.dot)" = 44 ] || fail "not 44 edges"
dot -Tplain all.dot >plain || fail "dot does not read all.dot"
# Folded: the boxes shown and what the others stand for add up.
graph --nodes 8 --type item --dot >few.dot
shown=$(grep -c '^	n[0-9]* \[' few.dot)
[ "$shown" -le 8 ] || fail "$shown boxes"
folded=$(sed -n 's/^	fold.*and \([0-9]*\) more in a row.*/\1/p' few.dot)
[ $((shown + folded + 1)) = 43 ] || fail "$shown shown, $folded more in a row"
grep -q 'pair' few.dot && fail "--type item shows a pair"
graph --svg heap.svg
grep -q '<svg' heap.svg || fail "no picture"

# The page: its first state, and its steps, give its last state.
graph --from pop --to END --html page.html
page_log page.html >page.json
jq -e . page.json >/dev/null || fail "page.html has no data"
jq -e '(.start | length) == 40' page.json >/dev/null || fail "the first state has not 40 nodes"
jq -e '(.start | length) + ([.steps[] | select(.[1] == "alloc")] | length)
	- ([.steps[] | select(.[1] == "free")] | length) == 44' page.json >/dev/null ||
	fail "the steps do not lead to 44 nodes"
jq -e '[.steps[] | select(.[1] == "store") | .[4][] | .[1]] | index("102") != null' \
	page.json >/dev/null || fail "no step stores 102"
grep -qE '(src|href)=' page.html && fail "the page needs other files"

# With a specification: when it is violated.
echo 'item FIELD 2 EDGE 1; item X; X.INDEGREE <= 1; ..(once)' >once.spec
graph --spec once.spec --html page.html
page_log page.html >page.json
jq -e '[.steps[] | .[5] // empty | select(length > 0)] == []' page.json >/dev/null ||
	fail "violated, but only items count"

# Step by step to the last state, field by field, where fields lie over each other and repeat.
cat >mixed.c <<'END'
#include <stdlib.h>
#include <string.h>
union word { long all; short half[4]; char text[8]; };
struct mixed { int n; union { struct { short x, y; } p; unsigned both; } u; char pad[9];
	struct { char c; union word w; } item[]; };
int main(void)
{
	struct mixed *all[6] = {};
	unsigned r = 1;
	for (int i = 0; i < 400; i++) {
		r = r * 1103515245 + 12345;
		int k = (r >> 16) % 6, n = 1 + (r >> 20) % 7;
		if (all[k] && r >> 28 == 3) {
			free(all[k]);
			all[k] = NULL;
		}
		if (!all[k]) {
			all[k] = malloc(sizeof(struct mixed) + n * sizeof(all[k]->item[0]));
			all[k]->n = n;
		}
		n = r % all[k]->n;
		all[k]->u.p.y = r >> 8;
		all[k]->pad[r >> 12 & 7] = i;
		all[k]->item[n].w.all = r * 77l;
		all[k]->item[n].w.half[i & 3] = i;
		memset(&all[k]->item[n].c, i, 4);
	}
	return 0;
}
END
cc -g -o mixed mixed.c || fail "cannot compile"
make_capture mixed.fl ./mixed
data() {
	"$FAULTLINE" graph mixed.fl "$@" --html page.html 2>err || fail "graph $*: $(cat err)"
	page_log page.html
}
data --from END | jq .start >last
jq -e 'length >= 3' last >/dev/null || fail "few nodes at the end"
end=$("$FAULTLINE" graph mixed.fl | sed -n 's/^after \([0-9]*\) .*/\1/p')
for from in 0 $((end - 2000)); do
	data --from "$from" | jq 'reduce .steps[] as $s (.start;
		($s[2] | tostring) as $node
		| if $s[1] == "free" then del(.[$node])
		else reduce $s[4][] as $c (.; .[$node][$c[0]] = $c[1]) end)' >stepped
	diff stepped last >&2 || fail "the steps from $from on do not lead to the last state"
done

expect_status 2 "$FAULTLINE" graph capture --at nowhere
expect_error "cannot show the heap at 'nowhere'"
expect_status 2 "$FAULTLINE" graph capture --type nothing --svg x.svg
expect_error "cannot show 'nothing'"
expect_status 2 "$FAULTLINE" graph capture --html x.html --from END --to 5
expect_error "cannot show a stretch"
expect_status 2 "$FAULTLINE" graph missing
expect_error "missing"
exit 0
