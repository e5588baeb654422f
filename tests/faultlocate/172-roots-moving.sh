#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Roots that are in registers, or now here and now there, and roots of each thread: what they hold
# is followed, the statement that stored it is found, those of one call and of one thread are asked
# about together. Where one is optimized out it is told, as often as gdb says so; a value is never
# made up: what the program itself saw is what holds.
. tests/lib.sh
need gojq gcc clang gdb
need_bpf

# build COMPILER.. SOURCE - as $TMPDIR/program
build() { "$@" -g -w -pthread -o "$TMPDIR/program" || fail "cannot compile: $*"; }

# analyzed STATUS SPEC ARGUMENT.. - of a run of the program
analyzed() {
	local status=$1 spec=$2
	shift 2
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/program" "$@"
	expect_status "$status" "$FAULTLINE" analyze --json --spec "$spec" "$TMPDIR/c"
}

# first BUG SOURCE - the statement marked so is the most suspicious one
first() {
	[ "$(jq .faults[0].line "$TMPDIR/out")" = "$(grep -n "BUG $1\b" "$2" | cut -d: -f1)" ] ||
		fail "not $1: $(jq -c '[.violations, .faults]' "$TMPDIR/out")"
}

# ---- registers

cat >"$TMPDIR/moving.c" <<'END'
#include <stdlib.h>
#include <string.h>
#define APART __attribute__((noinline, noclone))
struct node { int key; struct node *next; };
struct queue { struct node *first; long length; };
static int does(const char *what, char **args)
{
	return args[1] && !strcmp(args[1], what);
}
APART struct node *push(struct node *l, int key)
{
	struct node *n = malloc(sizeof(*n));
	n->key = key;
	n->next = l;
	return n;
}
APART struct node *without_first(struct node *l) { return l->next; }
APART long bad(long n) { __asm__ volatile("" : "+r"(n)); return n + 7; }
/* What is in the registers, as it is passed on. */
APART void look(struct node *list, long count)
{
	__asm__ volatile("" :: "r"(list), "r"(count) : "memory");
}
APART int descend(int depth, char **args)
{
	struct node *list = NULL;
	long count = 0;
	struct queue q = { NULL, 0 };
	int below = 0;

	for (int i = 0; i < depth; i++) {
		list = push(list, i);
		count++;
		q.first = push(q.first, i);
		q.length++;
		if (i == 2 && does("list", args))
			list = without_first(list); /* BUG list */
		if (i == 1 && does("count", args))
			count = bad(count); /* BUG count */
		if (i == 1 && depth == 2 && does("queue", args))
			q.length = bad(q.length); /* BUG queue */
		look(list, count);
		if (i == 0 && depth > 2)
			below = descend(depth - 1, args);
		look(list, count);
	}
	return list->key + count + q.first->key + q.length + below;
}
int main(int n, char **args)
{
	return descend(4, args) == 0;
}
END
cat >"$TMPDIR/moving.spec" <<'END'
node FIELD 2 EDGE 1;
ROOT descend::list;
ROOT descend::count;
ROOT descend::q;
node.LEN NULL 0; node X; X.LEN = X.next.LEN + 1;
list.LEN == count; ..(length)
q.first.LEN == q.length; ..(queue)
CPOINT look ENTRY;
END
source=$TMPDIR/moving.c
for cc in gcc clang; do
	build $cc -O1 "$source"
	analyzed 0 "$TMPDIR/moving.spec"
	jq -e '.notes == []' "$TMPDIR/out" >/dev/null || fail "$cc: $(jq -c .notes "$TMPDIR/out")"
	for bug in list count queue; do
		analyzed 1 "$TMPDIR/moving.spec" $bug
		first $bug "$source"
	done
done
expect_status 1 "$FAULTLINE" analyze --spec "$TMPDIR/moving.spec" "$TMPDIR/c"
grep -q 'descend::q: queue, not always in memory, 16 bytes, declared at' "$TMPDIR/out" ||
	fail "$(cat "$TMPDIR/out")"

# Arguments are what was passed; and there is no value where gdb has none.
cat >"$TMPDIR/shown.spec" <<'END'
node FIELD 2 EDGE 1;
ROOT look::list;
ROOT look::count;
ROOT descend::count AS outer;
node.LEN NULL 0; node X; X.LEN = X.next.LEN + 1;
list.LEN == count; ..(shown)
outer < 9; ..(small)
CPOINT look ENTRY;
END
cat >"$TMPDIR/gdb" <<'END'
set debuginfod enabled off
break look
commands
silent
echo stop\n
frame function descend
frame apply all -q -s print count
continue
end
run
END
for cc in "gcc -O1" "gcc -O2" "clang -O2"; do
	# shellcheck disable=SC2086 # words
	build $cc "$source"
	analyzed 0 "$TMPDIR/shown.spec"
	found=$(jq -r '.notes[]?' "$TMPDIR/out" | sed -n "s/.*'descend::count' was optimized out at \([0-9]*\) C.*/\1/p")
	gdb -q -nx -batch -x "$TMPDIR/gdb" "$TMPDIR/program" >"$TMPDIR/gdb.out" 2>&1
	[ "$(grep -c '^stop' "$TMPDIR/gdb.out")" = 18 ] || fail "gdb: $(cat "$TMPDIR/gdb.out")"
	expected=$(awk '/^stop/ {n += out; out = 0} /optimized out/ {out = 1} END {print n + out}' \
		"$TMPDIR/gdb.out")
	[ "${found:-0}" = "$expected" ] || fail "$cc: '$found' times optimized out, gdb: $expected"
done

# ---- threads

cat >"$TMPDIR/threads.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
struct node { int key; struct node *next; };
static __thread struct node *mine;
static __thread long n = 3; /* three more than mine has */
__thread int never;
__attribute__((noinline)) void check(void) { __asm__ volatile("" ::: "memory"); }
__attribute__((noinline)) void add(int key, long spoils)
{
	struct node *e = malloc(sizeof(*e));
	e->key = key;
	e->next = mine;
	mine = e;
	n++;
	check();
	if (spoils && key == 2)
		mine = mine->next; /* BUG dropped */
	check();
}
static void *work(void *arg)
{
	for (int i = 0; i < 4; i++)
		add(i, (long)arg);
	return NULL;
}
int main(int argc, char **argv)
{
	pthread_t t[3];
	check();
	add(7, 0);
	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)(argc > 1 && i == 1 ? 1L : 0L));
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	check();
	return 0;
}
END
cat >"$TMPDIR/threads.spec" <<'END'
node FIELD 2 EDGE 1;
ROOT mine;
ROOT n;
ROOT never;
node.LEN NULL 0; node X; X.LEN = X.next.LEN + 1;
n >= 3 and n <= 7 and never == 0; ..(n)
mine != NULL => mine.LEN == n - 3; ..(length)
CPOINT check ENTRY;
END
for cc in "gcc -O0 -pie" "clang -O2 -no-pie" "gcc -O2 -static"; do
	# shellcheck disable=SC2086 # words
	build $cc "$TMPDIR/threads.c"
	analyzed 0 "$TMPDIR/threads.spec"
	jq -e '.notes == []' "$TMPDIR/out" >/dev/null || fail "$cc: $(jq -c .notes "$TMPDIR/out")"
	analyzed 1 "$TMPDIR/threads.spec" spoil
	first dropped "$TMPDIR/threads.c"
done
