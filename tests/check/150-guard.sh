#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 The Faultline authors
#
# The quick way of a check, which makes no log, lets nothing pass that the slow way finds: programs without debug
# information, right ones and wrong ones, looked at in both ways (rules that are given as files are asked the
# slow way). Right ones end without a doubt: then it was quick, and nothing else looked.
# time limit: 300
. tests/lib.sh
. tests/check/guard.sh
need gojq gcc g++ clang gzip
need_bpf

gcc -O1 -s -fno-builtin -w -o "$TMPDIR/overflow" tests/programs/overflow.c ||
	fail "cannot compile"
gcc -O2 -s -fno-builtin -w -o "$TMPDIR/fatal" tests/programs/fatal.c || fail "cannot compile"
for kind in return base2 heap bss jump1 inside1 inside2; do
	same "$TMPDIR/overflow" "$kind"
done
for i in 3 15; do
	same "$TMPDIR/fatal" "$i"
done
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/cursors" tests/programs/cursors.c || fail "cannot compile"
for i in 4 8; do
	same "$TMPDIR/cursors" "$i"
done
[ $wrong -ge 7 ] || fail "only $wrong programs are wrong"

cat >"$TMPDIR/negative.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *volatile block = argc < 3 ? malloc(argc - 2l) : calloc(2, argc - 5l);
	free(block);
	return 0;
}
END
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/negative" "$TMPDIR/negative.c" || fail "cannot compile"
was=$wrong
same "$TMPDIR/negative"
same "$TMPDIR/negative" 2 3
[ $((wrong - was)) = 2 ] || fail "negative sizes: $((wrong - was)) of 2 are wrong"

# What realloc hands to malloc: pointers in registers are to the same blocks behind it.
cat >"$TMPDIR/handed.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *first = malloc(36), *second = realloc(NULL, 24);
	first[argc == 1 ? 36 : 35] = 1;
	second[0] = 1;
	free(first);
	free(second);
	return 0;
}
END
followed handed

# A word that points to itself is what was stored there, not what led there.
cat >"$TMPDIR/itself.c" <<'END'
#include <stdlib.h>
__attribute__((noipa)) void begin(char *block, char **at)
{
	*at = block + 32;
}
__attribute__((noipa)) int get(char **at, int back)
{
	return (*at)[-back];
}
int main(int argc, char **argv)
{
	char *first = calloc(1, 24), *second = calloc(1, 24);
	int ret;
	begin(first, (char **)second);
	ret = get((char **)second, argc == 1 ? 1 : 20);
	free(first);
	free(second);
	return ret & 0;
}
END
followed itself

# What realloc moved to where a block was is not that block, whoever called it each time.
cat >"$TMPDIR/moved.c" <<'END'
#include <stdlib.h>
__attribute__((noinline)) static char *grow(char *block, size_t n)
{
	char *now = realloc(block, n);
	now[0] = 1;
	return now;
}
int main(int argc, char **argv)
{
	char *first = malloc(1500), *second = malloc(1500), *volatile was = first, *third;
	first = grow(first, 3000);
	third = malloc(4000);
	free(second);
	first = grow(first, 3024);
	if (first != was)
		return 2;
	(argc == 1 ? was : first)[1] = 1;
	free(first);
	free(third);
	return 0;
}
END
followed moved

# What was no pointer in a block is one behind an instruction that is done elsewhere.
cat >"$TMPDIR/loaded.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *block = malloc(36), *volatile there = block, *got;
	char *volatile *at = &there;
	__asm__ volatile("xor %%eax, %%eax\n lodsq\n movb $1, (%%rax, %2)"
			 : "+S"(at), "=&a"(got)
			 : "r"(argc == 1 ? 36l : 35l)
			 : "memory");
	free(got);
	return 0;
}
END
followed loaded

# Large blocks, of which little is touched; what was given back to the kernel, and got again, has values.
cat >"$TMPDIR/large.c" <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { MB = 1 << 20 };
static volatile int sum;
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 0;
	char *volatile p = malloc(80 * MB), *volatile q;
	memset(p + 3 * MB + 5, 1, 9 * MB);
	for (long i = 3 * MB + 5; i < 12 * MB + 5; i += 4096)
		sum += p[i] == 1;
	if (n == 1 && p[12 * MB + 5] == 3)
		sum++;
	free(p);
	q = mmap(NULL, 90 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (long i = 0; i < 90 * MB; i += 65536)
		sum += q[i] == 1;
	munmap(q, 90 * MB);
	p = malloc(20 * MB);
	if (n == 2 && p[7 * MB] == 3)
		sum++;
	memset(p, 1, 20 * MB);
	p = realloc(p, 40 * MB);
	for (long i = 0; i < 20 * MB; i += 4096)
		sum += p[i] == 1;
	if (n == 3 && p[33 * MB] == 3)
		sum++;
	free(p);
	p = calloc(1, 40 * MB);
	for (long i = 0; i < 40 * MB; i += 65536)
		sum += p[i] == 1;
	free(p);
	return 0;
}
END
gcc -O1 -s -fno-builtin -w -o "$TMPDIR/large" "$TMPDIR/large.c" || fail "cannot compile"
numbered large 3

# A text that does not end in its block, or two that are the same up to the end of one.
cat >"$TMPDIR/texts.c" <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *a = malloc(24), *b = malloc(40), *from = KIND == 3 && argc == 1 ? a + 24 : a;
	int n;
	memset(a, 'a', 24);
	memset(b, 'a', 40);
	b[39] = 0;
	if (argc > 1 || KIND == 3)
		a[23] = 0;
	n = KIND == 1 ? strcmp(a, b) : KIND == 2 ? strcmp(b, a) : (int)strlen(from);
	free(a);
	free(b);
	return n == 0;
}
END
for kind in 0 1 2 3; do
	followed texts -DKIND=$kind
done

# A call of memcpy that is done elsewhere, as something in front of it in its block has no value.
cat >"$TMPDIR/copied.c" <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	long *block = malloc(64), *other = malloc(64), none = ((volatile long *)other)[7];
	memset(block, 1, 64);
	if (argc > 9)
		abort();
	other[0] = none;
	memcpy((char *)block + 8, (char *)block + (argc == 1 ? 12 : 40), 8);
	free(block);
	free(other);
	return 0;
}
END
followed copied -fno-plt

# Text that is copied over itself, or just behind; to where it does not reach.
cat >"$TMPDIR/over.c" <<'END'
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *p = calloc(1, 64), *volatile end;
	memcpy(p, "abcdefgh", 8);
	memcpy(p + 40, "ij", 2);
	int less = argc == 1, n = 8 + less;
	if (KIND == 0)
		strcpy(p, p + 9 - less * 8);
	if (KIND == 1)
		end = stpcpy(p + 9 - less, p);
	if (KIND == 2)
		strncpy(p, p + 8, n);
	if (KIND == 3)
		strncpy(p + 8, p, n);
	if (KIND == 4)
		strcat(p, p + 9 - less);
	if (KIND == 5)
		strncat(p, p + 40 - less * 35, 1);
	if (KIND == 6)
		end = mempcpy(p + 8, p, n);
	free(p);
	return 0;
}
END
for kind in 0 1 2 3 4 5 6; do
	followed over -DKIND=$kind
done

# rep stos, which compilers clear structs by: in elements of three sizes, none at all, to what is gone, and too little of it.
cat >"$TMPDIR/fill.c" <<'END'
#include <stdlib.h>
#define FILL(what) __asm__ volatile(what : "+D"(p), "+c"(n) : "a"(0l) : "memory")
__attribute__((noinline)) static void fill(void *p, long n)
{
	if (KIND == 1)
		FILL("add %1, %1; rep stosl");
	else if (KIND == 2)
		FILL("shl $3, %1; rep stosb");
	else
		FILL("rep stosq");
}
int main(int argc, char **argv)
{
	long *p = malloc(160), *q = malloc(160), bad = argc == 1;
	fill(q, 0);
	fill(q, 20);
	for (int i = 0; i < 3; i++)
		fill(p, KIND == 4 ? 20 - bad : 20 + (KIND < 3 && bad && i == 2));
	if (KIND == 4 && p[19] == 5)
		return 2;
	free(p);
	if (KIND == 3 && bad)
		fill(p, 20);
	free(q);
	return 0;
}
END
for kind in 0 1 2 3; do
	followed fill -DKIND=$kind
done
gcc -O1 -w -DKIND=4 -o "$TMPDIR/fill" "$TMPDIR/fill.c" || fail "cannot compile"
same "$TMPDIR/fill"
grep -q 'UNINIT-USE' "$TMPDIR/slow.found" || fail "what was not filled: $(cat "$TMPDIR/slow.found")"

# Where no distance fits the shadow of values, from the beginning or from some time on, both are tried thrice, and
# pointers alone then.
cat >"$TMPDIR/room.c" <<'END'
#include <stdlib.h>
#include <sys/mman.h>
#define BYTES (8ul << 30)
#ifdef BEGINNING
volatile char there[BYTES];
#endif
int main(void)
{
#ifdef BEGINNING
	volatile char *all = there;
#else
	volatile char *all = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
#endif
	char *block = malloc(36);
	if (all == MAP_FAILED)
		return 2;
	all[0] = 1;
	block[35] = 1;
	free(block);
	return 0;
}
END
for build in "" "-DBEGINNING -mcmodel=medium"; do
	gcc -O1 -s -w $build -o "$TMPDIR/room" "$TMPDIR/room.c" || fail "cannot compile"
	rm -rf "$TMPDIR/c"
	"${RECORD[@]}" -o "$TMPDIR/c" -- "$TMPDIR/room" >/dev/null 2>&1
	[ "$(id -u)" = 0 ] || sudo -n chown -R "$(id -u)" "$TMPDIR/c"
	FAULTLINE_LOG=faultlocate:2 "$FAULTLINE" check --only HEAP-OVERFLOW,UNINIT-USE \
		"$TMPDIR/c" >"$TMPDIR/quick" 2>"$TMPDIR/said" || fail "room: $(cat "$TMPDIR/said")"
	[ "$(grep -c 'the guard of both ran up to\|no guard: ' "$TMPDIR/said")" = 3 ] &&
		[ "$(grep -c 'the guard ran up to' "$TMPDIR/said")" = 1 ] &&
		[ "$(grep -c 'the guard of values' "$TMPDIR/said")" = 0 ] ||
		fail "room $build: $(cat "$TMPDIR/said")"
done

# Pointers that are moved as lanes of a vector.
cat >"$TMPDIR/lanes.c" <<'END'
#include <emmintrin.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
	char *block = malloc(36);
	__m128i at = _mm_set1_epi64x((long)block);
	at = _mm_add_epi64(at, _mm_set1_epi64x(argc == 1 ? 36 : 35));
	*(char *)_mm_cvtsi128_si64(at) = 1;
	free(block);
	return 0;
}
END
followed lanes

# What realloc left where it was may be released, or resized, by an older pointer; what it moved may not.
cat >"$TMPDIR/stayed.c" <<'END'
#include <stdlib.h>
#include <string.h>
static char *volatile kept[2], *volatile other;
int main(int argc, char **argv)
{
	kept[0] = malloc(100);
	kept[1] = realloc(kept[0], 90);
	kept[1] = realloc(kept[0], 80);
	if (kept[0] != kept[1])
		return 2;
	if (argc == 1)
		kept[1] = realloc(kept[1], 100000);
	other = malloc(100);
	memset((char *)other, 1, 100);
	free(kept[0]); // moved: it is what other lies in
	free(argc == 1 ? kept[1] : other);
	return 0;
}
END
followed stayed

# Who asked how much of a block is usable may use that, and not more, and realloc takes it along.
cat >"$TMPDIR/usable.c" <<'END'
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv)
{
	char *block = malloc(20), *other = malloc(30);
	size_t n = malloc_usable_size(block) + malloc_usable_size(NULL);
	memset(block, 1, n);
	block = realloc(block, 500);
	block[n - 1] += block[n - 2];
	n = malloc_usable_size(block);
	for (size_t i = 0; i < n; i++)
		block[i] = i;
	other[argc == 1 ? 30 : 29] = block[n - 1] > 3; // of this nobody asked
	free(block);
	free(other);
	return 0;
}
END
followed usable

# .. pairs of pointers that are put together there, as C++ fills its structs: which of them is used, and what the other one is.
cat >"$TMPDIR/pairs.c" <<'END'
#include <stdlib.h>
#include <string.h>
struct pair {
	char *a, *b;
} __attribute__((aligned(16)));
static struct pair pairs[64], other[64];
int main(int argc, char **argv)
{
	char *blocks[2] = { malloc(40), malloc(72) }, *p = blocks[0] + 8, *q = blocks[1] + 8;
	long last = argc > 1 ? 31 : 32;
	memset(blocks[0], 1, 40);
	memset(blocks[1], 1, 72);
	for (int i = 0; i < 4000; i++) {
		struct pair *at = &pairs[i % 64], *to = &other[i % 64];
		char *used;
#if KIND == 1 /* the second */
		__asm__ volatile("movq %1, %%xmm0\nmovq %2, %%xmm1\npunpcklqdq %%xmm1, %%xmm0\nmovaps %%xmm0, %0\n"
				 : "=m"(*at) : "r"(q), "r"(p) : "xmm0", "xmm1");
		used = at->b;
#elif KIND == 2 /* the first; the second is a number */
		__asm__ volatile("movq %1, %%xmm0\nmovq %2, %%xmm1\npunpcklqdq %%xmm1, %%xmm0\nmovaps %%xmm0, %0\n"
				 : "=m"(*at) : "r"(p), "r"((long)i) : "xmm0", "xmm1");
		used = at->a;
#elif KIND == 3 /* .. which the first is */
		__asm__ volatile("movq %1, %%xmm0\nmovq %2, %%xmm1\npunpcklqdq %%xmm1, %%xmm0\nmovaps %%xmm0, %0\n"
				 : "=m"(*at) : "r"((long)i), "r"(p) : "xmm0", "xmm1");
		used = at->b;
#elif KIND == 4 /* both are one */
		__asm__ volatile("movq %1, %%xmm2\npunpcklqdq %%xmm2, %%xmm2\nmovaps %%xmm2, %0\nmovaps %0, %%xmm3\n"
				 "movaps %%xmm3, %2\n"
				 : "+m"(*at), "+r"(p), "=m"(*to) : : "xmm2", "xmm3");
		used = i % 2 ? to->a : to->b;
#elif KIND == 5 /* a register that had other pointers */
		__asm__ volatile("movq %1, %%xmm0\nmovq %2, %%xmm1\npunpcklqdq %%xmm1, %%xmm0\npxor %%xmm0, %%xmm0\n"
				 "movq %2, %%xmm0\nmovq %1, %%xmm4\npunpcklqdq %%xmm4, %%xmm0\nmovaps %%xmm0, %0\n"
				 : "=m"(*at) : "r"(q), "r"(p) : "xmm0", "xmm1", "xmm4");
		used = at->a;
#else /* what was a pointer is none any more, and one again */
		__asm__ volatile("movq %1, %%xmm0\nmovq %2, %%xmm0\nmovq %1, %%xmm1\npunpcklqdq %%xmm1, %%xmm0\nmovaps %%xmm0, %0\n"
				 : "=m"(*at) : "r"(p), "r"((long)i) : "xmm0", "xmm1");
		used = at->b;
#endif
		if (used[i == 3999 ? last : i % 32] != 1 && argc > 1)
			return 2;
	}
	free(blocks[0]);
	free(blocks[1]);
	return 0;
}
END
for kind in 1 2 3 4 5 6; do
	followed pairs -DKIND=$kind
done

# Threads have pointers and values of their own; at its end each releases what the allocator's cache holds of its blocks,
# which were released before, and that is no mistake. One that the C library releases for the user is.
cat >"$TMPDIR/threads.c" <<'END'
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *shared[64];
static int n_shared;

static void *work(void *stale)
{
	char *line = NULL;
	size_t n = 0;
	FILE *f;

	for (int i = 0; i < 200; i++) {
		char *p = malloc(20 + i % 50);

		memset(p, i, 20);
		if (i % 7 == 0)
			sched_yield();
		pthread_mutex_lock(&lock);
		free(shared[n_shared % 64]);
		shared[n_shared++ % 64] = p;
		if (i % 3 == 0)
			p[i % 20] ^= 1;
		pthread_mutex_unlock(&lock);
	}
	f = fopen("/etc/passwd", "r");
	if (stale) {
		line = stale;
		n = 30;
	}
	getline(&line, &n, f);
	fclose(f);
	free(line);
	return NULL;
}

int main(int argc, char **argv)
{
	char *stale = malloc(30);
	pthread_t thread[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, work, NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	if (argc == 1)
		free(stale);
	pthread_create(&thread[0], NULL, work, stale);
	pthread_join(thread[0], NULL);
	for (int i = 0; i < 64; i++)
		free(shared[i]);
	return 0;
}
END
followed threads -pthread

# Right ones: pointers in registers, vectors, memory, over realloc and the stack. Nothing that has no value is used.
cp tests/programs/memory.c "$TMPDIR/text"
used=0
right() {
	same "$@"
	[ "$values" = 0 ] || used=$((used + 1))
}
right "$TMPDIR/cursors"
right gzip -9 -c "$TMPDIR/text"
right sed 's/\([a-z]*\) \([a-z]*\)/\2 \1/' "$TMPDIR/text"
right ls -l tests/programs
right sort "$TMPDIR/text" # which loses a block, as its author chose
[ $used -le 1 ] || fail "of values there was a doubt in $used of 5: $(cat "$TMPDIR/said")"
[ $quick -ge 4 ] || fail "only $quick of 4 were quick: $(cat "$TMPDIR/said")"
