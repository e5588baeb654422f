#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# `faultline analyze --accesses`: twelve heap overflows after RIPE's classes (table 3.5 of
# paper 001), the two inside one struct included, are found at their statement; nothing is
# in their corrected twins, nor in programs of Debian's; use after free is told.
# time limit: 300
. tests/lib.sh
need gojq cc
need_bpf

source=tests/programs/overflow.c
marked=$(grep -n '/\* OVERFLOW \*/' $source | cut -d: -f1 | paste -sd' ')
# Where the compiler made the call of memcpy a jump, the statement is the caller's.
callers=$(grep -nE 'fill\(buffer|by_memcpy\(v' $source | cut -d: -f1 | paste -sd' ')

# accesses STATUS COMMAND... - record and analyze it; JSON in $TMPDIR/json.
accesses() {
	local want=$1 got=0
	shift
	rm -rf "$TMPDIR/capture"
	make_capture "$TMPDIR/capture" "$@"
	"$FAULTLINE" analyze "$TMPDIR/capture" --accesses --json >"$TMPDIR/json" \
		2>"$TMPDIR/err" || got=$?
	[ $got = "$want" ] ||
		fail "exit status $got, not $want, of $*: $(cat "$TMPDIR/err" "$TMPDIR/json")"
}

# With the string functions that are best here, and with the oldest; in full with those
# between, too.
old=AVX512VL,-AVX512F,-AVX2,-AVX,-AVX_Fast_Unaligned_Load
builds=("O0 none" "O2 $old,-SSE4_2,-SSE4_1,-SSSE3")
[ "${FAULTLINE_ACCESSES:-}" != full ] ||
	builds+=("O2 none" "O2 AVX512VL,-AVX512BW,-AVX512F" "O2 $old" "O3 $old,-ERMS,-FSRM")
n=0
for build in "${builds[@]}"; do
	level=${build% *}
	without_features "${build#* }"
	cc -std=gnu11 -D_GNU_SOURCE -g -$level -w -o "$TMPDIR/overflow" $source ||
		fail "cannot compile"
	for kind in return base1 base2 stack parameter heap bss data jump1 jump2 \
		inside1 inside2; do
		accesses 1 "$TMPDIR/overflow" $kind
		case $kind in
		inside*) want=field ;;
		*) want=beyond ;;
		esac
		jq -e --arg want $want --arg lines "$marked $callers" '.accesses |
			all(.write and .kind == $want and .from.size >= 64 and
			(.at.line | tostring) as $line | $lines | split(" ") | index($line))' \
			"$TMPDIR/json" >/dev/null || fail "$kind -$level: $(jq -c .accesses "$TMPDIR/json")"
		accesses 0 "$TMPDIR/overflow" $kind fixed
		n=$((n + 1))
	done
done
echo "$n of $n overflows found, none in their twins"
without_features none

cat >"$TMPDIR/freed.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
struct node { int v; struct node *next; };
int main(void)
{
	struct node *a = malloc(sizeof(*a)), *b;
	a->v = 1;
	a->next = NULL;
	free(a); /* FREE */
	b = malloc(sizeof(*b));
	b->v = 2;
	a->v = 3; /* USE */
	printf("%d\n", b->v);
	b = realloc(b, 100);
	free(b);
	return 0;
}
END
cc -g -O0 -w -o "$TMPDIR/freed" "$TMPDIR/freed.c" || fail "cannot compile"
accesses 1 "$TMPDIR/freed"
jq -e '.accesses | length == 1 and .[0].kind == "freed" and .[0].at.line == 12 and
	.[0].to.node == "n2"' "$TMPDIR/json" >/dev/null || fail "freed: $(jq -c .accesses "$TMPDIR/json")"
"$FAULTLINE" analyze "$TMPDIR/capture" --accesses >"$TMPDIR/text"
grep -q "write of 4 bytes at .*freed.c:12 in main" "$TMPDIR/text" || fail "$(cat "$TMPDIR/text")"
grep -q "which was freed at .*freed.c:9 in main" "$TMPDIR/text" || fail "$(cat "$TMPDIR/text")"

# Freed twice; and a struct of whose first fields alone a copy is made.
cat >"$TMPDIR/twice.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct head { char name[8]; long size; };
struct item { char name[8]; long size, more; };
__attribute__((noinline)) static void drop(void *p)
{
	free(p); /* TWICE */
}
int main(int argc, char **argv)
{
	struct item *i = calloc(1, sizeof(*i));
	struct head *h = malloc(sizeof(*h));
	void *other = malloc(5000);
	memcpy(h, i, sizeof(*h));
	drop(i);
	free(malloc(5000));
	if (argc > 1)
		drop(i);
	free(other);
	return (int)h->size;
}
END
cc -g -O0 -w -o "$TMPDIR/twice" "$TMPDIR/twice.c" || fail "cannot compile"
accesses 0 "$TMPDIR/twice"
rm -rf "$TMPDIR/capture"
"${RECORD[@]}" -o "$TMPDIR/capture" -- "$TMPDIR/twice" again >/dev/null 2>&1
"$FAULTLINE" analyze "$TMPDIR/capture" --accesses >"$TMPDIR/text" 2>&1
grep -q 'freed again at .*twice.c:7 in drop ' "$TMPDIR/text" &&
	grep -q 'n1 (.*), which was freed at .*twice.c:7 in drop (time ' "$TMPDIR/text" || fail "not told: $(cat "$TMPDIR/text")"

# What strcmp loads at once depends on where both strings lie: that is no mistake.
cat >"$TMPDIR/near.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*volatile compare)(const char *, const char *) = strcmp, n = 0;
	char *s = malloc(5);
	strcpy(s, "ab.c");
	for (int left = 5; left < 64; left++) {
		char *other = page + 4096 - left;
		strcpy(other, "ab.d");
		n += compare(s, other) != 0 && compare(other, s) != 0;
	}
	return n != 59;
}
END
cc -g -O0 -w -D_GNU_SOURCE -o "$TMPDIR/near" "$TMPDIR/near.c" || fail "cannot compile"
accesses 0 "$TMPDIR/near"

# The difference of two pointers' low halves, as strlen makes it, is a number: an index.
cat >"$TMPDIR/halves.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char *a = malloc(40), *b = malloc(300), text[64];
	unsigned long index = (unsigned long)a, low;
	snprintf(text, sizeof(text), "%lu %lu", index & 0xffffffff, (unsigned long)(b + 8));
	char *rest, *base;
	low = strtoul(text, &rest, 10) - 5; /* nobody knows what these two come from */
	base = (char *)strtoul(rest, NULL, 10);
	__asm__("subl %k1, %k0" : "+r"(index) : "r"(low));
	__asm__ volatile("movb $1, (%0, %1)" : : "r"(base), "r"(index) : "memory");
	return b[13] != 1;
}
END
cc -g -O0 -w -o "$TMPDIR/halves" "$TMPDIR/halves.c" || fail "cannot compile"
accesses 0 "$TMPDIR/halves"

# Of nodes that are only inferred nobody knows the bounds.
expect_status 2 "$FAULTLINE" analyze "$TMPDIR/capture" --accesses --no-allocator
grep -q -e '--accesses needs the allocator' "$TMPDIR/err" || fail "$(cat "$TMPDIR/err")"

seq -f "line %g" 500 >"$TMPDIR/lines"
for command in "bison -o /dev/null tests/corpus/files/grammar.y" \
	"tidy -q tests/corpus/files/page.html" "ls -l /usr/lib" "sort $TMPDIR/lines" \
	"m4 tests/corpus/files/loops.m4" "lua5.4 tests/corpus/files/mandel.lua"; do
	need "${command%% *}"
	rm -rf "$TMPDIR/capture"
	"${RECORD[@]}" -o "$TMPDIR/capture" -- $command >/dev/null 2>"$TMPDIR/err"
	"$FAULTLINE" analyze "$TMPDIR/capture" --accesses --json >"$TMPDIR/json" ||
		fail "$command: $(jq -c .accesses "$TMPDIR/json")"
done
exit 0
