#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Fields as C++ and C programs have them: what std::list keeps in bytes, a std::unique_ptr,
# a flexible array; and whose statement a call is that the compiler made a jump or inlined.
. tests/lib.sh
need gojq c++
need_bpf
cat >"$TMPDIR/prog.cc" <<'C'
#include <cstdlib>
#include <list>
#include <memory>
struct item { int key; int weight; };
struct box { int n; std::unique_ptr<box> inner; };
struct row { int n; row *to[]; };
static std::list<item> *items;
static box *outer;
static row *rows[3];
__attribute__((noinline)) static void drop(row *r)
{
	if (r->n > 7)
		r->n = 7;
	free(r); /* DROP */
}
__attribute__((noinline)) static void operate(int i)
{
	for (item &x : *items)
		x.key += 10;
	outer->n++;
	if (i == 3)
		items->back().key = 1; /* KEY */
	if (i == 4)
		outer->inner->n = 99; /* BOX */
	if (i == 5)
		drop(rows[2]);
	if (i == 6)
		std::swap(items->front().weight, items->back().key); /* SWAP */
}
int main()
{
	items = new std::list<item>;
	for (int i = 0; i < 4; i++)
		items->push_back({ i, 1 });
	outer = new box{ 100, nullptr };
	outer->inner = std::make_unique<box>(box{ 5, nullptr });
	for (int i = 2; i >= 0; i--) {
		rows[i] = (row *)calloc(1, sizeof(row) + 3 * sizeof(row *));
		rows[i]->n = 3;
		for (int k = i + 1; k < 3; k++)
			rows[i]->to[k] = rows[k];
	}
	for (int i = 0; i < 8; i++)
		operate(i);
}
C
c++ -g -O2 -o "$TMPDIR/prog" "$TMPDIR/prog.cc" || fail "cannot compile"
want_status=0 make_capture "$TMPDIR/c" "$TMPDIR/prog"

# $1: the constraints, $2: the marked line that is at fault, or calls what is
blames()
{
	printf '%s\nCPOINT operate;\n' "$1" >"$TMPDIR/s.spec"
	expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/s.spec" --json
	jq -e --argjson line "$(grep -n "$2" "$TMPDIR/prog.cc" | cut -d: -f1)" \
		'.faults[0] | [.line, .called_at[].line] | index($line)' "$TMPDIR/out" >/dev/null ||
		fail "not $2: $(cat "$TMPDIR/out")"
}

blames '"_List_node<item>" FIELD 4 EDGE 2;
"_List_node<item>" X, Y; X._M_next == Y => X._M_storage.key < Y._M_storage.key;' KEY
blames 'box FIELD 2 EDGE 1; box X; X.inner != NULL => X.inner.n < X.n - 50;' BOX
blames 'row FIELD 1 EDGE 0; row X;
for I in 0 to 9, X.to[I] != NULL => X.to[I].n == 3;' DROP
# Who called drop(); the compiler may have made operate()'s call of it a jump.
jq -e '.faults[0] | .function == "drop" and
	.called_at[-1].function == "main"' "$TMPDIR/out" >/dev/null ||
	fail "other callers: $(cat "$TMPDIR/out")"
blames '"_List_node<item>" FIELD 4 EDGE 2; "_List_node<item>" X; X._M_storage.weight == 1;' SWAP
expect_status 1 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/s.spec"
grep -q ', called at .*prog.cc:[0-9]* in operate' "$TMPDIR/out" ||
	fail "no call: $(cat "$TMPDIR/out")"

# Pictures have its elements, too.
"$FAULTLINE" graph "$TMPDIR/c" --type row --dot >"$TMPDIR/dot" || fail "no graph"
grep -q '>to\[2\]<' "$TMPDIR/dot" || fail "no to[2]: $(cat "$TMPDIR/dot")"
"$FAULTLINE" graph "$TMPDIR/c" --type row --html "$TMPDIR/page.html" >/dev/null ||
	fail "no page"
grep -q '"tail":\["to\[\]"\]' "$TMPDIR/page.html" || fail "no names of elements in the page"
