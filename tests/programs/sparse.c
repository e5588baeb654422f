// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A mapping of as many addresses as chance lays libraries out in, with a byte here and there; a
 * child begins with it. 77: this host gives none.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (1ull << 40)
#define STEP (SIZE / 64)

static unsigned sum(const unsigned char *p)
{
	unsigned s = 0;

	for (unsigned long long i = 0; i < SIZE; i += STEP)
		s += p[i];
	return s;
}

int main(void)
{
	unsigned char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return 77;
	for (unsigned long long i = 0; i < SIZE; i += STEP)
		p[i] = getpid() & 7;
	if (!fork()) {
		p[STEP]++;
		_exit(sum(p) & 127);
	}
	wait(NULL);
	printf("%u\n", sum(p));
	return 0;
}
