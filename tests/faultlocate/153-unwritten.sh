#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What malloc() gives has no value: a constraint that reads a field before anything was stored
# to it says so, be the bytes zeros or what the last owner left. What calloc() gives has one;
# of what realloc() gives, the beginning has what it had before.
. tests/lib.sh
need gojq cc
need_bpf

cat >"$TMPDIR/unwritten.c" <<'C'
#include <stdlib.h>
#include <string.h>
struct item { struct item *next; int count; char flag; };
struct grown { long a; long b; };
struct item *all;
struct grown *grown;
__attribute__((noinline)) static void use(void) { __asm__ volatile("" ::: "memory"); }
int main(int argc, char **argv)
{
	char how = argv[1][0];
	struct item *n;
	struct grown *g;
	(void)argc;
	if (how == 'o') { /* the old bytes */
		n = malloc(sizeof(*n)); /* OLD */
		memset(n, 0, sizeof(*n));
		n->flag = 1;
		free(n);
	}
	if (how == 'c')
		n = calloc(1, sizeof(*n)); /* CALLOC */
	else
		n = malloc(sizeof(*n)); /* MALLOC */
	n->next = all;
	if (how == 'w')
		memset(&n->count, 0, sizeof(n->count));
	n->flag = 1;
	all = n;
	g = malloc(8); /* SMALL */
	if (how != 'g')
		g->a = 1;
	g = realloc(g, how == 'i' ? 16 : 4096); /* GROWN */
	if (how == 'f')
		g->b = 0;
	grown = g;
	use();
	return 0;
}
C
cat >"$TMPDIR/unwritten.spec" <<'S'
item FIELD 3 EDGE 1; item X; X.flag == 1 and X.count == 0;
grown FIELD 2 EDGE 0 AT unwritten.c:36; grown X; X.a <= 1 and X.b <= X.b;
CPOINT use;
S
sed -i "s/unwritten.c:36/unwritten.c:$(grep -n GROWN "$TMPDIR/unwritten.c" | cut -d: -f1)/" \
	"$TMPDIR/unwritten.spec"
number() {
	grep -n "/\* $1 \*/" "$TMPDIR/unwritten.c" | cut -d: -f1
}

# told HOW WANT - what is told of the program run so: field and line, in their order.
told() {
	local got
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/unwritten" "$1"
	"$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/unwritten.spec" --json \
		>"$TMPDIR/out" 2>"$TMPDIR/err" || [ $? = 1 ] || fail "$1: $(cat "$TMPDIR/err")"
	got=$(jq -r '[.unwritten[] | "\(.field | sub("n[0-9]+."; "")):\(.allocated.line)"] | join(" ")' \
		"$TMPDIR/out")
	[ "$got" = "$2" ] || fail "$level $1: '$got', not '$2'"
}

for level in -O0 -O2; do
	cc -g $level -fno-builtin-malloc -o "$TMPDIR/unwritten" "$TMPDIR/unwritten.c" ||
		fail "cannot compile"
	told m "count:$(number MALLOC) b:$(number GROWN)"
	told o "count:$(number MALLOC) b:$(number GROWN)"
	told c "b:$(number GROWN)"
	told w "b:$(number GROWN)"
	told f "count:$(number MALLOC)"
	told i "count:$(number MALLOC) b:$(number GROWN)"
	told g "count:$(number MALLOC) a:$(number GROWN) b:$(number GROWN)"
done

# In words, with nothing violated; and nothing of the structures of specs/.
rm -rf "$TMPDIR/c"
make_capture "$TMPDIR/c" "$TMPDIR/unwritten" f
expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/unwritten.spec"
grep -Eq "^n[0-9]+\.count was never written since its allocation at [^ ]*unwritten\.c:$(number MALLOC) in main \(time [0-9]+\), and c1 reads it at entry of use \(time [0-9]+\)$" \
	"$TMPDIR/out" || fail "not told: $(cat "$TMPDIR/out")"
for name in between remove rotate; do
	cc -g -O2 -DBUG=0 -o "$TMPDIR/p" tests/faultlocate/stores/$name.c || fail "cannot compile"
	sed -n 's,^// spec: ,,p' tests/faultlocate/stores/$name.c >"$TMPDIR/spec"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/p"
	expect_status 0 "$FAULTLINE" analyze "$TMPDIR/c" --spec "$TMPDIR/spec" --json
	jq -e '.unwritten == []' "$TMPDIR/out" >/dev/null || fail "$name: $(jq -c .unwritten "$TMPDIR/out")"
done
exit 0
