#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Where a function was entered and left there is as much of the heap's history before it whether all
# of the run is looked at or its calls alone: also where it stores by its first instruction, and
# where malloc() returns to its caller.
. tests/lib.sh
need cc
need_bpf

cat >"$TMPDIR/tasks.c" <<'END'
#include <stdlib.h>
struct node { struct node *next; long key; };
__attribute__((noinline)) struct node *make(void) { return malloc(sizeof(struct node)); }
__attribute__((noinline)) void set(struct node *n, long key) { n->key = key; }
__attribute__((noinline)) void drop(struct node *n) { free(n); }
int main(void)
{
	struct node *list = NULL;

	for (long i = 0; i < 20; i++) {
		struct node *n = make();

		set(n, i);
		n->next = list;
		list = n;
	}
	for (struct node *next; list; list = next) {
		next = list->next;
		set(list, 0);
		drop(list);
	}
	return 0;
}
END
echo 'node; node X; X.key >= 0;' >"$TMPDIR/spec"
cc -g -O2 -o "$TMPDIR/tasks" "$TMPDIR/tasks.c" || fail "cannot compile"
make_capture "$TMPDIR/capture" "$TMPDIR/tasks"
"$BUILD/tests/faultlocate/tool_visits" "$TMPDIR/capture" "$TMPDIR/spec" make set drop main \
	>"$TMPDIR/out" 2>&1 || fail "$(cat "$TMPDIR/out")"
# Entered and left, main's two, and the end.
[ "$(cat "$TMPDIR/out")" = "163 visits" ] || fail "$(cat "$TMPDIR/out")"
