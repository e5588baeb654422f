#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# Optimized code keeps a variable's end as an address; that less one inside of the variable is no pointer, where it is added
# to what is kept elsewhere.
. tests/lib.sh
need gojq gcc clang
need_bpf

cat >"$TMPDIR/ends.c" <<'END'
#include <stdio.h>
static volatile unsigned long hidden = 0x5a5a5a5a5a5a5a5a;
static unsigned long to, size; // where is not known of whom

__attribute__((noinline)) static void append(const char *at, const char *end)
{
	char *there = (char *)(to ^ hidden);

	size += end - at;
	there += size;
	there[-1] = 1;
}

__attribute__((noinline)) static void number(unsigned x)
{
	volatile char more[24], other[24];
	char text[32], *end, *at;

	__asm__ volatile("lea %1, %0" : "=r"(end) : "m"(text[32]));
	__asm__ volatile("lea %1, %0" : "=r"(at) : "m"(text[30]));
	more[3] = other[3] = x;
	end[-1] = end[-2] = x;
	__asm__ volatile("" : : "m"(text), "m"(more), "m"(other));
	append(at, end);
}

int main(void)
{
	char store[400];

	to = (unsigned long)store ^ hidden;
	for (unsigned i = 0; i < 20; i++)
		number(i);
	printf("%d %d\n", (int)size, store[3]);
	return 0;
}
END
for how in "gcc -O1" "gcc -O2" "clang -O1" "clang -O2"; do
	$how -g -w -o "$TMPDIR/ends" "$TMPDIR/ends.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/ends"
	expect_status 0 "$FAULTLINE" check "$TMPDIR/c"
done
exit 0
