#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# .. what depends on debug information, on longer runs, on libraries: as 150-guard.sh.
# time limit: 420
. tests/lib.sh
. tests/check/guard.sh
need gojq gcc g++ clang gzip
need_bpf

# With debug information the same, as long as no block may be a struct with arrays in it.
gcc -O1 -g -fno-builtin -w -o "$TMPDIR/cursors" tests/programs/cursors.c || fail "cannot compile"
gcc -O1 -g -fno-builtin -w -o "$TMPDIR/overflow" tests/programs/overflow.c ||
	fail "cannot compile"
was=$wrong quick=0
same "$TMPDIR/cursors"
[ $quick = 1 ] || fail "debug information was in the way: $(cat "$TMPDIR/said")"
same "$TMPDIR/cursors" 4
for kind in heap inside1 inside2; do
	same "$TMPDIR/overflow" "$kind"
done
[ $((wrong - was)) = 4 ] || fail "with debug information $((wrong - was)) of 4 are wrong"

# .. in a long run, too, of which variables are left out: what is used that has no value is not.
cat >"$TMPDIR/long.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *block = malloc(24);
	volatile long sum = 0;
	for (long i = 0; i < 16000000; i++)
		sum += i;
	block[3] = 1;
	if (block[argc == 1 ? 3 : 4] == 7)
		sum++;
	free(block);
	return 0;
}
END
gcc -O1 -g -w -o "$TMPDIR/long" "$TMPDIR/long.c" || fail "cannot compile"
for kind in "" uninitialized; do
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/long" $kind >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	expect_status $([ -z "$kind" ] && echo 0 || echo 1) "$FAULTLINE" check --json "$TMPDIR/c"
	jq -e --arg found "${kind:+UNINIT-USE 9}" '(.notes | any(startswith("variables were not looked at"))) and
		([.findings[] | "\(.rule) \(.at.line)"] | join(",")) == $found' "$TMPDIR/out" >/dev/null ||
		fail "long $kind: $(cat "$TMPDIR/out")"
done

# Vectors of which a mask has some lanes accessed.
gcc -O1 -s -w -o "$TMPDIR/masked" tests/programs/masked.c || fail "cannot compile"
if grep -qw avx2 /proc/cpuinfo; then
	was=$wrong quick=0
	same "$TMPDIR/masked"
	same "$TMPDIR/masked" wrong
	[ $((wrong - was)) = 1 ] || fail "a lane behind the block: $((wrong - was)) of 1 are wrong"
	[ $quick = 1 ] || fail "masked lanes were not followed: $(cat "$TMPDIR/said")"
fi

# Links that are the exclusive or of two addresses lead to nodes, and are none themselves; without debug
# information and with it.
cat >"$TMPDIR/xored.c" <<'END'
#include <stdint.h>
#include <stdlib.h>
struct node {
	long id;
	uintptr_t link;
};
int main(int argc, char **argv)
{
	struct node *n[9], *prev = NULL, *next;
	long sum = 0;
	for (int i = 0; i < 9; i++) {
		n[i] = malloc(sizeof(*n[i]));
		n[i]->id = i;
		n[i]->link = i ? (uintptr_t)n[i - 1] : 0;
		if (i)
			n[i - 1]->link ^= (uintptr_t)n[i];
	}
	if (argc > 1)
		n[4]->link ^= 1ul << 62;
	for (struct node *at = n[0]; at; prev = at, at = next) {
		next = (struct node *)(at->link ^ (uintptr_t)prev);
		sum += at->id;
	}
	for (struct node *at = n[8], *after = NULL; at; at = next) {
		next = (struct node *)(at->link ^ (uintptr_t)after);
		after = at;
	}
	for (int i = 0; i < 9; i++)
		free(n[i]);
	return sum != 36;
}
END
for build in "gcc -O0 -s" "clang -O2 -s" "gcc -O2 -g"; do
	$build -w -o "$TMPDIR/xored" "$TMPDIR/xored.c" || fail "cannot compile"
	same "$TMPDIR/xored"
	[ "$n" = 0 ] || fail "$build: links that are xored: $(cat "$TMPDIR/slow.found")"
done
same "$TMPDIR/xored" wrong
[ "$n" = 1 ] || fail "a wild link: $(cat "$TMPDIR/slow.found")"

# A word that holds no pointer, as often as it is asked, until a block begins at just that address.
cat >"$TMPDIR/reborn.c" <<'END'
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	static char *volatile slot[2];
	uint32_t half[2];
	uintptr_t sum = 0;
	char *block = malloc(40);
	memcpy(half, &block, sizeof(half));
	free(block);
	((volatile uint32_t *)slot)[0] = half[0];
	((volatile uint32_t *)slot)[1] = half[1];
	for (uintptr_t i = 0; i < 9; i++)
		sum += (uintptr_t)slot[0] & 1, sum += (i + (uintptr_t)slot[0]) & 8;
	block = malloc(40);
	if (argc > 2)
		*(char *)((argc == 3 ? 40 : 39) + (uintptr_t)slot[0]) = 1;
	slot[0][argc == 2 ? 40 : 39] = 1;
	free(block);
	return sum > 99;
}
END
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/reborn" "$TMPDIR/reborn.c" || fail "cannot compile"
was=$wrong quick=0
same "$TMPDIR/reborn"
same "$TMPDIR/reborn" 2 3 4
[ $quick = 2 ] || fail "only $quick of 2 were quick: $(cat "$TMPDIR/said")"
same "$TMPDIR/reborn" 2
same "$TMPDIR/reborn" 2 3
[ $((wrong - was)) = 2 ] || fail "behind what was no pointer: $((wrong - was)) of 2 are wrong"

# With debug information pointers are meant for parts of structs: what stays there is seen quickly, by indices, pointers
# that move, library functions, from what lies inside back to the struct; what leaves an array is found.
cat >"$TMPDIR/struct.c" <<'END'
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
struct link {
	struct link *next, *prev;
};
struct thing {
	char name[24];
	int n;
	struct link link;
	long v[16];
	unsigned char tail[40];
	struct { short x, y; } at[4];
};
static struct link all = { &all, &all };
__attribute__((noinline)) static struct thing *make(const char *name, int n)
{
	struct thing *t = malloc(sizeof(*t));
	memset(t, 0, sizeof(*t));
	strcpy(t->name, name);
	t->n = n;
	t->link.next = all.next;
	all.next->prev = &t->link;
	all.next = &t->link;
	t->link.prev = &all;
	return t;
}
__attribute__((noinline)) static long fill(struct thing *t, int n)
{
	long sum = 0;
	for (int i = 0; i < n; i++)
		t->v[i] = i * t->n;
	for (long *p = t->v; p < t->v + 16; p++)
		sum += *p;
	for (unsigned i = 0; i < sizeof(t->tail); i++)
		t->tail[i] ^= sum + i;
	for (int i = 0; i < 4; i++)
		sum += t->at[i].x += t->at[(i + 1) % 4].y = i;
	return sum;
}
int main(int argc, char **argv)
{
	long sum = 0;
	for (int i = 0; i < 40; i++) {
		struct thing *t = make("thing", i), *copy = malloc(sizeof(*t));
		sum += fill(t, i == 30 ? 15 + argc : 16);
		*copy = *t;
		sum += strlen(strchr(copy->name, 'i') + 1) + memcmp(copy->tail, t->tail, sizeof(t->tail));
		free(copy);
	}
	for (struct link *l = all.next, *next; l != &all; l = next) {
		struct thing *t = (struct thing *)((char *)l - offsetof(struct thing, link));
		next = l->next;
		sum += t->v[t->n % 16] + t->name[0];
		free(t);
	}
	return sum == 1;
}
END
for level in -O1 -O2; do
	gcc $level -g -w -o "$TMPDIR/struct" "$TMPDIR/struct.c" || fail "cannot compile"
	quick=0
	same "$TMPDIR/struct"
	[ $quick = 1 ] || fail "structs, $level: $(cat "$TMPDIR/said")"
	same "$TMPDIR/struct" 1
	[ "$n" = 1 ] || fail "structs, $level: $(cat "$TMPDIR/slow.found")"
done

# What a library's function reads goes on into the next part where a text has no end.
cat >"$TMPDIR/text.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct thing {
	int n;
	char name[16], more[16];
	long k;
};
int main(int argc, char **argv)
{
	struct thing *t = calloc(1, sizeof(*t));
	memset(t->name, 'x', argc > 1 ? 15 : 16);
	memset(t->more, 'y', 3);
	t->n = strlen(t->name);
	free(t);
	return 0;
}
END
gcc -O1 -g -fno-builtin -w -o "$TMPDIR/text" "$TMPDIR/text.c" || fail "cannot compile"
same "$TMPDIR/text"
[ "$n" = 1 ] || fail "text: $(cat "$TMPDIR/slow.found")"
quick=0
same "$TMPDIR/text" 1
[ $quick = 1 ] || fail "text: $(cat "$TMPDIR/said")"

# What a block is for is known by who called the function that got it, whatever struct has its size by chance. A step to an
# element of an array may lead to others; what several bytes are stored to at once need not be one element.
cat >"$TMPDIR/wrapped.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct thing {
	char name[24];
	int n;
	long v[16];
	char tail[32];
};
struct shelf {
	int n;
	struct {
		long id;
		char label[24];
		int v[8];
	} slot[6];
};
__attribute__((noinline)) static void *grow(void *old, size_t n)
{
	return realloc(old, n);
}
__attribute__((noinline)) static void *get(size_t n)
{
	void *block = grow(NULL, n);
	if (!block)
		abort();
	return block;
}
__attribute__((noinline)) static struct thing *make(void)
{
	return malloc(sizeof(struct thing));
}
__attribute__((noinline)) static void fill(void *block, int n)
{
	struct thing *t = block;
	for (int i = 0; i < n; i++)
		t->v[i] = i;
}
__attribute__((noinline)) static void label(struct shelf *s, int at, int i, int n)
{
	memset(s->slot[at].label, 'a' + i, n);
	memcpy(&s->slot[at].v[i & 6], &s->slot[at].id, 8);
}
int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	char *text = get(sizeof(struct thing));
	struct thing *t = get(sizeof(*t));
	struct shelf *s = get(sizeof(*s));
	void *made = make();
	memset(s, 0, sizeof(*s));
	for (unsigned i = 0; i < sizeof(*t); i++)
		text[i] = 'x';
	for (unsigned i = 20; i < sizeof(*t) - 1; i++)
		text[i] += text[i + 1];
	memset(text + 24, 0, 100);
	fill(t, 16 + (wrong == 1));
	for (int at = 3; at >= 0; at--)
		for (int i = 0; i < 8; i++)
			label(s, at, i, wrong == 2 && at == 1 && i == 7 ? 40 : 24);
	free(text);
	free(t);
	free(s);
	fill(made, 16 + (wrong == 3));
	free(made);
	return 0;
}
END
for build in "gcc -O0" "clang -O1" "gcc -O2"; do
	$build -g -fno-builtin -w -o "$TMPDIR/wrapped" "$TMPDIR/wrapped.c" || fail "cannot compile"
	quick=0
	same "$TMPDIR/wrapped"
	[ $quick = 1 ] || fail "wrapped, $build: $(cat "$TMPDIR/said")"
done
for i in 1 2 3; do
	same "$TMPDIR/wrapped" $i
	[ "$n" = 1 ] || fail "wrapped $i: $(cat "$TMPDIR/slow.found")"
done

# What is allocated and released by operator new and delete, too; by each other's is a mistake.
g++ -O1 -s -w -pthread -o "$TMPDIR/families" tests/check/programs/families.cc || fail "cannot compile"
numbered families 13

# What reallocarray() gives is a block, also where it calls no realloc().
cat >"$TMPDIR/arrays.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#ifdef OWN
#define OF_ITS_OWN __attribute__((noipa))
static char pool[1 << 16], *next = pool;

static void *get(size_t n)
{
	char *p = next;

	*(size_t *)p = n;
	next += (n + 31) & ~15ul;
	return p + 16;
}

static void *resize(void *p, size_t n)
{
	size_t *now = get(n), before = p ? ((size_t *)p)[-2] : 0;

	return p ? memcpy(now, p, before < n ? before : n) : now;
}

OF_ITS_OWN void *malloc(size_t n) { return get(n); }
OF_ITS_OWN void free(void *p) { (void)p; }
OF_ITS_OWN void *calloc(size_t n, size_t of) { return memset(get(n * of), 0, n * of); }
OF_ITS_OWN void *realloc(void *p, size_t n) { return resize(p, n); }
OF_ITS_OWN void *reallocarray(void *p, size_t n, size_t of)
{
	size_t bytes;

	return __builtin_mul_overflow(n, of, &bytes) ? NULL : resize(p, bytes);
}
#endif
int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	volatile size_t huge = 1ul << 40;
	int *volatile p = reallocarray(NULL, 5, sizeof(int)), *volatile q;

	memset(p, 0, 20);
	p = reallocarray(p, 9, sizeof(int));
	p[8] = 1;
	if (reallocarray(p, huge, huge))
		return 2;
	if (wrong == 1)
		p[9] = 1;
	q = reallocarray(p, 20, sizeof(int));
	free(wrong == 2 ? p : q);
	if (wrong == 2)
		free(q);
	return wrong == 3 && p[0] == 77;
}
END
for how in "" -DOWN; do
	gcc -O1 -s -fno-builtin -w $how -o "$TMPDIR/arrays" "$TMPDIR/arrays.c" || fail "cannot compile"
	numbered arrays 3
done

# Handlers of signals have pointers in registers that the program has others in.
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/interrupted" tests/check/programs/interrupted.c || fail "cannot compile"
numbered interrupted 5

# Pointers in memory that something is added to, and such below 4 GiB.
cat >"$TMPDIR/sums.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	long n = argc > 1 ? 8 : 9;
	char *block = malloc(80), *p;

	for (int round = 0; round < 300; round++) {
		p = block;
		for (int k = 0; k < 9; k++) {
			p += n;
			*p = k;
		}
	}
	free(block);
	return 0;
}
END
for build in -O0 "-O0 -no-pie" "-O2 -no-pie"; do
	followed sums $build
done

# What vector registers hold while the allocator is called is what they hold behind it.
gcc -O1 -s -fno-builtin -w -mno-red-zone -fno-omit-frame-pointer -o "$TMPDIR/kept" \
	tests/check/programs/kept.c || fail "cannot compile"
numbered kept 0

# Copies of structs with gaps, whose gaps are copied, too.
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/gaps" tests/check/programs/gaps.c || fail "cannot compile"
numbered gaps 12

# What vfork children allocate and release in their parent's memory is not judged, and what the parent does wrong is.
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/lent" tests/check/programs/lent.c || fail "cannot compile"
for i in 0 1 2; do
	same "$TMPDIR/lent" $i
	[ "$n" = $((i > 0)) ] || fail "lent $i: $(cat "$TMPDIR/slow.found")"
	grep -q 'of what a vfork child may have allocated' "$TMPDIR/quick" || fail "lent $i: $(cat "$TMPDIR/quick")"
done

# What is lost is told by a replay that looks at calls alone: by whom it was allocated, and whether main() returned.
cat >"$TMPDIR/lost.c" <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static __attribute__((noinline)) void *make(int n)
{
	return malloc(n);
}
static __attribute__((noinline)) void lose(int n)
{
	*(volatile char *)make(n) = 1;
}
static void *end(void *keep)
{
	exit(keep == NULL);
}
int main(int argc, char **argv)
{
	int wrong = argc > 1 ? atoi(argv[1]) : 0;
	char *volatile kept = make(100), **block = make(10 * sizeof(*block)), *scratch[64];
	void *aligned = NULL;
	pthread_t t;
	memset(scratch, 0, sizeof(scratch));
	for (int i = 0; i < 10; i++)
		block[i] = make(20 + i);
	if (posix_memalign(&aligned, 64, 640))
		return 2;
	if (wrong == 1)
		aligned = NULL;
	if (wrong == 2)
		lose(50), lose(51);
	*(volatile char *)kept = argc;
	if (wrong == 3)
		return 0;
	if (wrong == 4 && !pthread_create(&t, NULL, end, kept))
		pthread_join(t, NULL);
	exit(!aligned && !block);
}
END
gcc -O0 -fno-builtin -w -pthread -o "$TMPDIR/lost" "$TMPDIR/lost.c" || fail "cannot compile"
for i in 0 1 2 3 4; do
	same "$TMPDIR/lost" $i
	losses=(0 1 2 4 0)
	[ "$n" = ${losses[i]} ] || fail "lost $i: $(cat "$TMPDIR/slow.found")"
done

# The sum of two pointers is neither's: less one of them it is the other.
cat >"$TMPDIR/sum.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *to = malloc(64), *from = malloc(64);
	for (int i = 0; i < 64; i++)
		asm volatile("xor %%eax, %%eax\n sub %0, %%rax\n mov %1, %%rdx\n add %0, %%rdx\n movb $1, (%%rax,%%rdx)"
			     : : "r"(from), "r"(to + i) : "rax", "rdx", "memory");
	from[argc == 1 ? 64 : 63] = 1;
	free(from);
	free(to);
	return 0;
}
END
followed sum
