#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# cmps reads by two pointers, each of which is to its own memory: gcc -Os makes memcmp of it.
. tests/lib.sh
need gojq gcc
need_bpf

cat >"$TMPDIR/compare.c" <<'END'
#include <stdlib.h>
#include <string.h>
#define N 15
static char in_data[N];
static int n_same;
__attribute__((noinline)) static void compare(const char *a, const char *b, long n)
{
	unsigned char is_same;
	__asm__ volatile("repz cmpsb\n sete %0" : "=q"(is_same), "+S"(a), "+D"(b), "+c"(n) : : "memory", "cc"); // compared
	n_same += is_same;
}
__attribute__((noinline)) static void compare_down(const char *a, const char *b, long n)
{
	unsigned char is_same;
	a += n - 1, b += n - 1;
	__asm__ volatile("std\n repz cmpsb\n cld\n sete %0" : "=q"(is_same), "+S"(a), "+D"(b), "+c"(n) : : "memory", "cc");
	n_same += is_same;
}
int main(int argc, char **argv)
{
	char first[N], between[N], second[N], *block = malloc(N), *other = malloc(N);
	memset(first, 1, N), memset(second, 1, N), memset(between, 2, N);
	memset(in_data, 1, N), memset(block, 1, N), memset(other, 1, N);
	compare(first, second, N);
	compare(second, first, N);
	compare(between, first, N);
	compare(block, second, N);
	compare(in_data, block, N);
	compare(block, other, N);
	compare(other, block, N);
	compare_down(first, second, N);
	compare_down(second, first, N);
	compare_down(in_data, block, N);
	compare_down(other, block, N);
	compare_down(block, other, N);
	n_same += memcmp(block, other, N) == 0;
	n_same += ((volatile char *)block)[N * (argc > 1)]; // wrong
	if (argc > 2)
		compare(other, second, N + 1);
	free(block);
	free(other);
	return n_same < 0;
}
END
wrong=$(sed -n '/\/\/ wrong/=' "$TMPDIR/compare.c")
compared=$(sed -n '/\/\/ compared/=' "$TMPDIR/compare.c")

# check_with WANT ARGUMENT..
check_with() {
	local want=$1 found
	shift
	rm -rf "$TMPDIR/c"
	make_capture "$TMPDIR/c" "$TMPDIR/compare" "$@"
	"$FAULTLINE" check --json "$TMPDIR/c" >"$TMPDIR/out" 2>"$TMPDIR/err"
	found=$(jq -r '.findings[] | "\(.at.line) \(.rule)"' "$TMPDIR/out" | sort -n | paste -sd,)
	[ "$found" = "$want" ] || fail "$level $*: '$found', not '$want'"
}

for level in -O0 -Os; do
	gcc -g $level -w -o "$TMPDIR/compare" "$TMPDIR/compare.c" || fail "cannot compile"
	check_with ""
	check_with "$wrong HEAP-OVERFLOW" 1
	[ $level != -O0 ] || check_with "$compared HEAP-OVERFLOW,$compared STACK-OVERFLOW,$wrong HEAP-OVERFLOW" 1 2
done
exit 0
