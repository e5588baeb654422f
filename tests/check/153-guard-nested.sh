#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# What library functions are told the length of, or find the end of, in a struct within a struct: both ways look at it, as in
# 150-guard.sh. 1: text goes on behind its array, to the end; 2, 3: what is copied, or has no end, goes on behind the inner
# struct.
# time limit: 120
. tests/lib.sh
. tests/check/guard.sh
need gojq gcc
need_bpf

cat >"$TMPDIR/nested.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct last {
	long a;
	struct inner {
		long l;
		char t[8];
		long more;
	} in;
};
struct outer {
	long a;
	struct inner in;
	char tail[8];
};
__attribute__((noinline)) static void put(struct inner *in, const char *text, size_t n)
{
	memcpy(in->t, text, n);
}
__attribute__((noinline)) static size_t length(const struct inner *in)
{
	return strlen(in->t);
}
int main(int argc, char **argv)
{
	static const char text[64] = "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz";
	char copy[64];
	size_t sum = 0;
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	for (int i = 0; i < 30; i++) {
		int is_now = i == 20 ? wrong : 0;
		struct last *l = calloc(1, sizeof(*l));
		struct outer *o = calloc(1, sizeof(*o)), *p = calloc(1, sizeof(*p));
		put(&l->in, text, is_now == 1 ? 16 : 8);
		put(&o->in, text, is_now == 3 ? 8 : 7);
		put(&p->in, text, 7);
		memcpy(o->tail, text, 7);
		o->in.more = is_now == 3 ? -1 : 7;
		memcpy(&p->in, &o->in, sizeof(p->in));
		memcpy(copy, &o->in, is_now == 2 ? 30 : 24);
		sum += memcmp(&o->in, &p->in, sizeof(p->in)) + length(&o->in) +
		       (memchr(&p->in, 'c', 24) != NULL);
		free(l);
		free(o);
		free(p);
	}
	return sum == 1;
}
END
gcc -O0 -g -fno-builtin -w -o "$TMPDIR/nested" "$TMPDIR/nested.c" || fail "cannot compile"
numbered nested 3
exit 0
