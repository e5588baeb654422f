#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# With and without allocator knowledge the heap of a malloc program is the same: at many times
# each node found is within one allocation, and pointers lead to the same. Programs with
# debug information: always. Debian's, which are stripped: where memory that a library keeps
# for itself is the program's business, too (stdio's buffers), a node may be mistaken.
# time limit: 1200
. tests/lib.sh
need cc
need_bpf
tool=$BUILD/tests/heapgraph/tool_agree
times=40
[ "${FAULTLINE_AGREE:-}" = full ] && times=400

# agree STATUS COMMAND...: compare, at most exit status STATUS; counts in $TMPDIR/counts.
agree() {
	local ok=$1 got=0
	shift
	rm -rf "$TMPDIR/capture"
	"${RECORD[@]}" -o "$TMPDIR/capture" -- "$@" >/dev/null 2>"$TMPDIR/err" ||
		[ -d "$TMPDIR/capture" ] || fail "record: $(cat "$TMPDIR/err")"
	"$tool" "$TMPDIR/capture" $times >"$TMPDIR/counts" 2>"$TMPDIR/wrong" || got=$?
	[ $got -le "$ok" ] || fail "$*: $(head -3 "$TMPDIR/wrong")"
	echo "$*: $(paste -sd' ' "$TMPDIR/counts")"
	[ "$(count edges)" -gt 0 ] || fail "$*: nothing was compared"
}
count() { sed -n "s/^$1 //p" "$TMPDIR/counts"; }

for spec in avl hash btree skiplist radix redblack; do
	for level in O0 O2; do
		agree 0 "$BUILD/specs/$spec-$level"
		[ "$(count seen)" -ge "$(count allocations)" ] ||
			fail "$spec-$level: allocations without a node"
	done
done
for kind in malloc "malloc fault"; do
	agree 0 "$BUILD/tests/programs/arena" $kind
	agree 0 "$BUILD/tests/programs/pool" $kind
done

# A program that only drives a library, neither with debug information: the library's nodes
# are the program's.
cat >"$TMPDIR/items.c" <<'C'
#include <stdlib.h>
struct item { struct item *next, *prev; long v; };
static struct item *head;
void items_put(long v)
{
	struct item *n = malloc(sizeof(*n));
	n->v = v;
	n->prev = NULL;
	n->next = head;
	if (head)
		head->prev = n;
	head = n;
}
long items_take(void)
{
	struct item *n = head;
	long v = n->v;
	head = n->next;
	if (head)
		head->prev = NULL;
	free(n);
	return v;
}
C
cat >"$TMPDIR/driver.c" <<'C'
void items_put(long v);
long items_take(void);
int main(void)
{
	long sum = 0;
	for (long i = 0; i < 200; i++)
		items_put(i);
	for (long i = 0; i < 150; i++)
		sum += items_take();
	for (long i = 0; i < 100; i++)
		items_put(i);
	return sum == 0;
}
C
cc -O2 -shared -fPIC -o "$TMPDIR/libitems.so" "$TMPDIR/items.c" &&
	cc -O2 -o "$TMPDIR/driver" "$TMPDIR/driver.c" -L"$TMPDIR" -litems \
		-Wl,-rpath,"$TMPDIR" || fail "cannot compile"
agree 0 "$TMPDIR/driver"
[ "$(count seen)" -ge "$(count allocations)" ] || fail "driver: allocations without a node"

seq -f "line %g" 500 >"$TMPDIR/lines"
for command in "ls -l /usr/lib" "bison -o /dev/null tests/corpus/files/grammar.y" \
	"sort $TMPDIR/lines" "m4 tests/corpus/files/loops.m4" \
	"lua5.4 tests/corpus/files/mandel.lua" \
	"tidy -q --show-warnings no tests/corpus/files/page.html"; do
	need "${command%% *}"
	agree 1 $command
	# At each time one, in a small program, or one of 200.
	[ "$(count outside)" -le $((times + $(count nodes) / 200)) ] &&
		[ "$(count extra)" -le $((times + $(count edges) / 200)) ] &&
		[ "$(count missing)" -le $((times + $(count edges) / 200)) ] ||
		fail "$command: $(paste -sd' ' "$TMPDIR/counts")"
done
exit 0
