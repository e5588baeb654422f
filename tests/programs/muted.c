// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * `muted ROUNDS`: long loops that store into large blocks, statics and locals, of which nobody asks,
 * and everything that makes it matter what they stored: their memory is released and becomes
 * nodes' (48 bytes, not written to), in one thread or another, by way of realloc, after read(),
 * a signal handler, copies, and stores across pages, of which the next one was not stored to, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE (60 << 10)
#define NODE 48
#define NODES 64

struct node {
	struct node *next;
	uint64_t found[5]; ///< as it was found
};

static uint32_t table[16 << 10], seed = 1;
static void *aligned;
static unsigned char *handled;
static struct node *head;

static uint32_t next(void)
{
	return seed = seed * 1664525 + 1013904223;
}

static void fill(unsigned char *p, size_t size)
{
	for (size_t i = 0; i < size; i++)
		p[i] = table[next() >> 18] += i;
	for (size_t i = 4090; i + 8 < size; i += 4096) { // across pages
		uint64_t v = next();

		memcpy(p + i, &v, 8);
	}
}

static void on_signal(int signo)
{
	fill(handled, LARGE / 2);
	(void)signo;
}

/* What was released is found in nodes. */
static void find(void)
{
	for (int i = 0; i < NODES; i++) {
		void *by_address = NULL;
		struct node *n;

		// The second one's address is stored, not returned.
		if (i % 2 && posix_memalign(&by_address, 16, NODE))
			abort();
		n = i % 2 ? by_address : malloc(NODE);
		if (!n)
			abort();
		n->next = head;
		head = n;
	}
	for (int i = 0; i < NODES / 2; i++) {
		struct node *n = head;

		head = n->next;
		free(n);
	}
}

static unsigned char *large(void)
{
	unsigned char *p = malloc(LARGE);

	if (!p)
		abort();
	fill(p, LARGE);
	return p;
}

static void *thread(void *arg)
{
	fill(arg, LARGE);
	free(arg);
	find();
	return NULL;
}

/* One page alone is stored to, until a store begins there and ends in the next. */
static void edge(void)
{
	unsigned char *p = malloc(LARGE), *page;
	uint64_t v;

	if (!p)
		abort();
	page = (unsigned char *)(((uintptr_t)p + 4095) & ~4095ul);
	for (int i = 0; i < 20000; i++)
		page[i % 4000] = next() >> 24;
	v = (uint64_t)next() << 32 | next();
	for (int i = 0; i < 9; i++) {
		v *= 3;
		memcpy(page + 4092, &v, 8);
		__asm__ volatile("" ::: "memory"); // by itself
	}
	free(p);
	for (int i = 0; i < 4; i++)
		find();
}

static void round_of(int round)
{
	unsigned char *a = large(), *b = large(), *c;
	void *local = NULL;
	pthread_t t;
	int fd[2];

	find(); // behind them: they stay where they are
	memcpy(b + 100, a, LARGE / 2);
	memset(a + 5000, round, 9000);
	if (pipe(fd) || write(fd[1], b, 20000) != 20000 ||
	    read(fd[0], a + 3000, 20000) < 0)
		abort();
	close(fd[0]);
	close(fd[1]);
	handled = b;
	raise(SIGUSR1);
	if (posix_memalign(&aligned, 4096, LARGE) || posix_memalign(&local, 64, LARGE))
		abort();
	fill(aligned, LARGE);
	fill(local, LARGE);
	free(a);
	find();
	c = realloc(b, 40);
	if (!c)
		abort();
	find();
	free(aligned);
	find();
	if (pthread_create(&t, NULL, thread, local) || pthread_join(t, NULL))
		abort();
	free(c);
	if (mprotect((void *)(((uintptr_t)table + 8191) & ~4095ul), 4096, PROT_READ) ||
	    mprotect((void *)(((uintptr_t)table + 8191) & ~4095ul), 4096,
		     PROT_READ | PROT_WRITE))
		abort();
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;

	edge();
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < rounds; i++)
		round_of(i);
	return 0;
}
