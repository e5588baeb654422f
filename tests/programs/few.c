// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * few: a few bytes are read into memory of each kind, at all places of a page's end, zeros among them. For each kind it
 * says how many came as they were written, "n/n KIND", or "no KIND" where there is none.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define HUGE (2ul << 20)
#define MOST 40

static int pipes[2];
static unsigned long state = 88172645463325252ul;

static unsigned char next_byte(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

/** Every fourth read is of zeros. */
static int comes_right(unsigned char *to, size_t n, int round)
{
	unsigned char sent[MOST], before = to[-1];

	for (size_t i = 0; i < n; i++)
		sent[i] = round % 4 ? next_byte() : 0;
	return write(pipes[1], sent, n) == (ssize_t)n &&
	       read(pipes[0], to, n) == (ssize_t)n && !memcmp(to, sent, n) &&
	       to[-1] == before;
}

static void fill(const char *kind, unsigned char *at)
{
	int right = 0, all = 0;

	if (at == MAP_FAILED) {
		printf("no %s\n", kind);
		return;
	}
	// The end of the first of two pages.
	for (size_t n = 1; n <= MOST; n++) {
		for (size_t offset = PAGE - MOST; offset < PAGE + 8; offset += 3, all++)
			right += comes_right(at + offset, n, all);
	}
	printf("%d/%d %s\n", right, all, kind);
}

static unsigned char *map(size_t size, int flags, int fd)
{
	return mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);
}

/** Memory of a file without a name, of @p size bytes. */
static unsigned char *map_file(int fd, size_t size, int flags)
{
	unsigned char *at = fd < 0 || ftruncate(fd, size) ? MAP_FAILED :
							    map(size, flags, fd);

	if (fd >= 0)
		close(fd);
	return at;
}

static unsigned char *map_huge(void)
{
	unsigned char *at = map(2 * HUGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	at += -(unsigned long)at % HUGE;
	if (madvise(at, HUGE, MADV_HUGEPAGE))
		return MAP_FAILED;
	at[0] = 1;
	return at;
}

/** What a child shares until one of both writes it. */
static unsigned char *map_forked(void)
{
	unsigned char *at = map(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	memset(at, 1, 2 * PAGE);
	if (!fork())
		_exit(0);
	return at;
}

int main(void)
{
	static unsigned char own[3 * PAGE];
	unsigned char local[3 * PAGE];

	if (pipe(pipes))
		return 1;
	fill("static", own + PAGE - (unsigned long)own % PAGE);
	fill("stack", local + PAGE - (unsigned long)local % PAGE);
	fill("fresh", map(2 * PAGE, MAP_PRIVATE | MAP_ANONYMOUS, -1));
	fill("forked", map_forked());
	fill("huge", map_huge());
	fill("shared",
	     map_file(syscall(SYS_memfd_create, "few", 0), 2 * PAGE, MAP_SHARED));
	fill("copied",
	     map_file(syscall(SYS_memfd_create, "few", 0), 2 * PAGE, MAP_PRIVATE));
	fill("secret", map_file(syscall(SYS_memfd_secret, 0), 2 * PAGE, MAP_SHARED));
	return 0;
}
