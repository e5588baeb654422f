// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -lpthread

/**
 * @file
 * Threads that make code on pages where they also keep data: each writes a function, lets it
 * count into the same page, overwrites its constant, and moves on to another page, all the
 * while it is preempted: mostly right behind a breakpoint of its own, which is padding.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define THREADS 3
#define RUN_NS 300000000

struct page {
	unsigned char code[64];
	volatile uint64_t rounds, sum;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static struct page *move(struct page *old)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return NULL;
	if (old) {
		memcpy(page, old, sizeof(*old));
		munmap(old, 4096);
	}
	return page;
}

static void *work(void *arg)
{
	// mov eax, N; mov ecx, 200000; jmp 1f; int3; 1: dec ecx; jnz 1b;
	// add [rsi], rax; inc [rdi]; ret
	const unsigned char code[] = { 0xb8, 0,	   0,	 0,    0,    0xb9, 0x40, 0x0d,
				       0x03, 0x00, 0xeb, 0x01, 0xcc, 0xff, 0xc9, 0x75,
				       0xfc, 0x48, 0x01, 0x06, 0x48, 0xff, 0x07, 0xc3 };
	struct page *page = move(NULL);
	void (*function)(volatile uint64_t *, volatile uint64_t *);
	uint64_t end = now_ns() + RUN_NS;

	(void)arg;
	if (!page)
		return NULL;
	memcpy(page->code, code, sizeof(code));
	for (uint32_t n = 0; n % 8 || now_ns() < end; n++) {
		memcpy(page->code + 1, &n, sizeof(n));
		function = (void (*)(volatile uint64_t *, volatile uint64_t *))(
				   uintptr_t)page->code;
		for (int i = 0; i < 3; i++)
			function(&page->rounds, &page->sum);
		page = move(page);
		if (!page)
			return NULL;
	}
	return page;
}

int main(void)
{
	pthread_t thread[THREADS];
	int is_right = 1;

	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, NULL))
			return 2;
	for (int i = 0; i < THREADS; i++) {
		struct page *page;
		uint64_t n;

		pthread_join(thread[i], (void **)&page);
		if (!page)
			return 2;
		n = page->rounds / 3;
		is_right &= page->rounds % 3 == 0 && page->sum == n * (n - 1) / 2 * 3;
		printf("thread %d: %lu rounds, sum %lu\n", i, page->rounds, page->sum);
	}
	puts(is_right ? "right" : "wrong");
	return !is_right;
}
