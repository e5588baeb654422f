// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// What replay/ and flight/ here are of: ./README.
#include <immintrin.h>
#include <stddef.h>
#include <sys/syscall.h>

struct node {
	struct node *next;
	long key;
};

static char heap[1 << 16] __attribute__((aligned(16)));
static size_t used;
static struct node *head;
static long sums[8];

static long call3(long nr, long a, long b, long c)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "0"(nr), "D"(a), "S"(b), "d"(c) : "rcx", "r11", "memory");
	return ret;
}

__attribute__((noinline)) void *malloc(size_t n)
{
	void *at = &heap[used];

	used += (n + 15) & ~15ul;
	return at;
}

__attribute__((noinline)) void free(void *p)
{
	__asm__ volatile("" : : "r"(p) : "memory");
}

__attribute__((noinline)) void node_add(long key)
{
	struct node *n = malloc(sizeof(*n));

	n->key = key;
	n->next = head;
	head = n;
}

__attribute__((noinline)) long node_sum(void)
{
	long sum = 0;

	for (struct node *n = head; n; n = n->next)
		sum += n->key;
	return sum;
}

__attribute__((target("avx2"), noinline)) static void gather(void)
{
	__m256i at = _mm256_set_epi64x(0, 1, 2, 3);

	_mm256_maskstore_epi64((long long *)sums, _mm256_set_epi64x(-1, 0, -1, -1),
			       _mm256_i64gather_epi64((const long long *)heap, at, 8));
}

__attribute__((noinline)) static void copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
}

__attribute__((used)) void start(void)
{
	static char text[16];
	long now[2];

	for (long i = 0; i < 5; i++)
		node_add(i);
	gather();
	copy(&heap[32768], heap, 256);
	call3(SYS_clock_gettime, 1, (long)now, 0);
	sums[0] += node_sum() + now[0] + __builtin_ia32_rdtsc();
	call3(SYS_read, 0, (long)text, sizeof(text));
	free(head);
	head = head->next->next;
	call3(SYS_write, 1, (long)"done\n", 5);
	*(volatile long *)(text[0] == 'h' ? 0 : text) = 1; // no page is there
}

__attribute__((naked)) void _start(void)
{
	__asm__("xor %ebp, %ebp\n\tand $-16, %rsp\n\tcall start");
}
