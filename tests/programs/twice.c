// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Memory that is mapped again and again while somebody counts in it: what is there when it is looked at is of a later
 * time than the call that mapped it.
 *
 *   twice thread   another thread counts
 *   twice child    another process does, which has the memory from before
 *   twice forks    nobody counts, but another thread makes children, which have all that is mapped
 */
#include <pthread.h>
#include <stdatomic.h>
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

int main(int argc, char **argv)
{
	int fd = memfd_create("twice", 0);
	uint64_t h = argc;
	struct memory *m;
	pthread_t thread;

	if (argc < 2 || fd < 0 || ftruncate(fd, BYTES))
		return 2;
	m = map(fd);
	if (!strcmp(argv[1], "forks"))
		return map_others(m);
	if (!strcmp(argv[1], "thread"))
		pthread_create(&thread, NULL, count, m);
	else if (!fork())
		return count(m), 0;
	for (int i = 0; i < TIMES; i++) {
		struct memory *again = map(fd);

		// In the same turn as the call before, or another one's.
		atomic_fetch_add(&m->words[i % WORDS], 1);
		h = h * 31 + again->sum + again->words[i % WORDS];
		munmap(again, BYTES);
		usleep(i % 3 * 500);
	}
	m->is_over = 1;
	if (!strcmp(argv[1], "thread"))
		pthread_join(thread, NULL);
	else
		wait(NULL);
	printf("%lx %lx\n", h, m->sum);
	return 0;
}
