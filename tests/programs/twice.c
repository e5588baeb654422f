// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Memory that is mapped again and again while somebody counts in it: what is there when it is looked at is of a later
 * time than the call that mapped it.
 *
 *   twice thread   another thread counts
 *   twice child    another process does, which has the memory from before
 *   twice grown    as thread, but the mapping is a page, and grows
 *   twice growing  as child, but that has its mapping grow, and has no other
 *   twice forks    nobody counts, but another thread makes children, which have all that is mapped
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES (16 * 4096)
#define TIMES 60
#define WORDS 8

struct memory {
	char first[4096];
	_Atomic uint64_t words[WORDS], sum;
	_Atomic int is_over;
};

static struct memory *map(int fd)
{
	struct memory *m = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (m == MAP_FAILED)
		_exit(2);
	return m;
}

/* A page of it first, and then all. */
static struct memory *map_growing(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct memory *m = mremap(page, 4096, BYTES, MREMAP_MAYMOVE);

	if (m == MAP_FAILED)
		_exit(2);
	return m;
}

static void *count(void *arg)
{
	struct memory *m = arg;

	for (uint64_t i = 0; !m->is_over; i++)
		m->sum = m->sum * 31 + atomic_fetch_add(&m->words[i % WORDS], i);
	return NULL;
}

static void *make_children(void *arg)
{
	struct memory *m = arg;

	while (!m->is_over) {
		if (!fork())
			_exit(0);
		wait(NULL);
	}
	return NULL;
}

static int map_others(struct memory *m)
{
	pthread_t thread;

	pthread_create(&thread, NULL, make_children, m);
	for (int i = 0; i < TIMES; i++) {
		int fd = memfd_create("others", 0);

		if (ftruncate(fd, BYTES))
			return 2;
		map(fd)->sum = i;
		close(fd);
		usleep(1000);
	}
	m->is_over = 1;
	pthread_join(thread, NULL);
	return 0;
}

/* It has no other mapping than one that has grown. */
static int count_grown(int fd, struct memory *m)
{
	struct memory *grown;

	usleep(20000);
	grown = map_growing(fd);
	munmap(m, BYTES);
	count(grown);
	return 0;
}

int main(int argc, char **argv)
{
	const char *who = argc > 1 ? argv[1] : "";
	bool is_child = !strcmp(who, "child"), is_growing = !strcmp(who, "growing");
	bool is_grown = !strcmp(who, "grown");
	int fd = memfd_create("twice", 0);
	uint64_t h = 1;
	struct memory *m;
	pthread_t thread;

	if (fd < 0 || ftruncate(fd, BYTES))
		return 2;
	m = map(fd);
	if (!strcmp(who, "forks"))
		return map_others(m);
	if (!is_child && !is_growing)
		pthread_create(&thread, NULL, count, m);
	else if (!fork())
		return is_growing ? count_grown(fd, m) : (count(m), 0);
	for (int i = 0; i < TIMES; i++) {
		struct memory *again = is_grown ? map_growing(fd) : map(fd);

		// In the same turn as the call before, or another one's.
		atomic_fetch_add(&m->words[i % WORDS], 1);
		h = h * 31 + again->sum + again->words[i % WORDS];
		munmap(again, BYTES);
		usleep(i % 3 * 500);
	}
	m->is_over = 1;
	if (is_child || is_growing)
		wait(NULL);
	else
		pthread_join(thread, NULL);
	printf("%lx %lx\n", h, m->sum);
	return 0;
}
