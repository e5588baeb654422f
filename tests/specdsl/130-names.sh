#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# A struct is found by any of its names, its allocations are of its type whatever they are called
# where they are made; a name that may mean several is refused with these, a wrong one with what
# may have been meant; FIELD and EDGE are needed without debug information alone.
. tests/lib.sh
need "${CC:=cc}" "${CXX:=c++}" gojq
need_bpf

cd "$TMPDIR" || exit 1
cat >names.h <<'END'
#include <stdlib.h>
#define KEEP(p) __asm__ volatile("" : : "r"(p) : "memory")
typedef struct { int n; struct { int q; } *parts; void *pad[2]; } bag, sack;
struct list { struct node *head; };
void push(struct list *l, int v);
void *grow(int depth);
END
cat >list.c <<'END'
#include "names.h"
struct node { int v; struct node *next; };
typedef struct node item;
void push(struct list *l, int v)
{
	item *n = malloc(sizeof *n);
	n->v = v, n->next = l->head, l->head = n;
}
END
cat >tree.c <<'END'
#include "names.h"
struct node { long v; struct node *left, *right; };
void *grow(int depth)
{
	struct local { char v; } *one = malloc(1);
	struct node *n = depth ? malloc(sizeof *n) : NULL;
	one->v = 'x';
	free(one);
	if (n)
		n->v = 7, n->left = grow(depth - 1), n->right = NULL;
	return n;
}
END
cat >main.c <<'END'
#include "names.h"
int main(void)
{
	struct local { int v; struct local *up; char c[40]; } *l = NULL;
	struct { int v; short b[30]; } *loose = malloc(sizeof *loose);
	struct list list = { NULL };
	bag *s = malloc(sizeof *s);
	sack *same = s;
	for (int i = 0; i < 3; i++) {
		struct local *next = malloc(sizeof *next);
		next->v = 7, next->up = l, l = next;
		push(&list, 7);
	}
	same->n = 7, loose->v = 7;
	s->parts = malloc(sizeof *s->parts);
	s->parts->q = 7;
	KEEP(s); KEEP(l); KEEP(loose); KEEP(list.head);
	return !grow(4);
}
END
cat >main.cc <<'END'
#include <list>
#include <map>
namespace ns {
inline namespace v1 {
template <class T> struct list {
	struct node { T v; node *next; };
	node *head = nullptr;
	void push(T v) { head = new node{ v, head }; }
};
}
}
namespace { struct node { int v; node *a, *b, *c; }; }
template <class T> struct tree { T v; tree *left, *right; using self = tree<T>; };
int main()
{
	ns::list<int> ints;
	ns::list<double> doubles;
	auto &std_list = *new std::list<int>;
	auto &map = *new std::map<int, char>;
	for (int i = 0; i < 3; i++)
		ints.push(7), doubles.push(7), std_list.push_back(7), map[i] = 7;
	auto *n = new node{ 7, nullptr, nullptr, nullptr };
	tree<long>::self *t = new tree<long>::self{ 7, nullptr, nullptr };
	return n->v + (int)t->v + std_list.front() + map[0] != 28;
}
END
"$CC" -g -O0 -o c list.c tree.c main.c || fail "cannot compile C"
"$CC" -g -O2 -o c2 list.c tree.c main.c || fail "cannot compile C"
"$CXX" -g -O0 -o cxx main.cc || fail "cannot compile C++"
for prog in c c2 cxx; do
	"${RECORD[@]}" -o $prog.fl -- ./$prog 2>err || fail "record $prog: $(cat err)"
done

# nodes PROG [N NAME FIELD]... - of the type called NAME there are N, and FIELD of all is 7.
nodes() {
	local prog=$1 want="" got
	shift
	echo "CPOINT EXIT;" >names.spec
	while [ $# -gt 0 ]; do
		echo "$2 X; X.$3 != 7;" >>names.spec
		want+="$1 $2
"
		shift 3
	done
	expect_status 1 "$FAULTLINE" analyze "$prog.fl" --spec names.spec --json
	got=$(sed -n 's/ X; X.* != 7;$//p' names.spec | while IFS= read -r name; do
		n=$((${n:-0} + 1))
		echo "$(jq --arg c "c$n" '[.violations[] | select(.constraint == $c)] | length' out) $name"
	done)
	[ "$got" = "${want%
}" ] || fail "$prog: $(diff <(echo "$want") <(echo "$got")) $(cat err)"
}

for prog in c c2; do
	nodes $prog 3 item v 3 '"list.c::node"' v 4 '"tree.c::node"' v \
		4 'struct "tree.c::node"' v 1 bag n 1 sack n 1 parts q 1 '"main::loose"' v \
		3 '"main::local"' v
done
nodes cxx 3 '"list<int>::node"' v 3 '"ns::list<int>::node"' v \
	3 '"ns::v1::list< double >::node"' v 3 '"struct list<double>::node"' v \
	3 '"std::_List_node<int>"' _M_storage 3 _List_node _M_storage \
	3 _Rb_tree_node _M_storage.second 1 '"(anonymous namespace)::node"' v \
	1 'class tree' v 1 self v 1 '"tree<long>::self"' v

# Two names of one struct are one type; nodes are told of by the name they are asked for.
printf 'item;\n"list.c::node" X; item Y; X.next == &Y and X.v == 7 => Y.INDEGREE == 0;\nCPOINT grow;' >two.spec
expect_status 1 "$FAULTLINE" analyze c.fl --spec two.spec
grep -q '^2 violations' out || fail "two names: $(cat out)"
grep -q 'no allocation has' out && fail "two names: $(cat out)"

# refused PROG NAME MESSAGE [HINT] - of a specification that begins with NAME.
refused() {
	echo "$2 X; X[1] != 7;" >names.spec
	expect_status 1 "$FAULTLINE" spec check names.spec --binary $1
	for want in "^names.spec:1:1: error: $3" "${4:+hint: $4}"; do
		grep -q -- "$want" err || fail "$1: $2: no '$want' in: $(cat err)"
	done
}
refused c node "'node' may be \"list.c::node\" (16 bytes, .*list.c:2), \"tree.c::node\" (24 bytes, .*tree.c:2)" \
	"write one of these"
refused c local "'local' may be \"grow::local\" (1 bytes, .*), \"main::local\" (56 bytes"
refused c itme "the program has no such struct" "did you mean 'item'"
refused c nothing "the program has no such struct"
refused cxx '"list::node"' "'list::node' may be \"list<int>::node\" (16 bytes, .*), \"list<double>::node\""
refused cxx '"list<char>::node"' "the program has no such struct"
expect_status 2 "$FAULTLINE" analyze cxx.fl --spec names.spec
grep -q "the program has no such struct" err || fail "analyze: $(cat err)"

# Without debug information the fields must be counted.
"$CC" -o bare list.c tree.c main.c || fail "cannot compile C"
refused bare item "no debug information says what 'item' is" "count its fields"
echo 'item FIELD 2 EDGE 1; item X; X[1] != 7;' >names.spec
expect_status 0 "$FAULTLINE" spec check names.spec --binary bare

# What is declared by its use counts as no statement, and is said where nothing compares it.
printf 'node;\nstruct other X; struct node Y; X.next == Y;\nclass node AT a.c:1;' >use.spec
expect_status 1 "$FAULTLINE" spec check use.spec
grep -q "use.spec:3:7: error: type 'node' was declared at use.spec:1" err || fail "$(cat err)"
sed -i '3d' use.spec
"$FAULTLINE" spec check use.spec >out 2>err || fail "use.spec: $(cat err)"
grep -q "^faultline: note: 'other' is not declared, so it must be a struct of the program" err ||
	fail "use.spec: $(cat err)"
grep -q '^2 statements, 2 types' out || fail "use.spec: $(cat out)"
"$FAULTLINE" spec format use.spec | cmp - use.spec || fail "format: use.spec"
exit 0
