// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Processes that each open a file in memory, give it its size once more, map it, count themselves there and end: some while others
 * do the same.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN 16

static char name[32];

static int *map_counter(void)
{
	int fd = shm_open(name, O_RDWR | O_CREAT, 0600);

	if (fd < 0 || ftruncate(fd, 4096))
		_exit(1);
	return mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

int main(void)
{
	int start[2], *counter;
	char byte;

	snprintf(name, sizeof(name), "/resized-%d", (int)getpid());
	if (pipe(start))
		return 1;
	counter = map_counter();
	for (int i = 0; i < CHILDREN; i++) {
		if (fork())
			continue;
		close(start[1]);
		if (read(start[0], &byte, 1)) // until all are there
			_exit(1);
		counter = map_counter();
		__sync_fetch_and_add(counter, 1);
		_exit(0);
	}
	close(start[1]);
	while (wait(NULL) > 0)
		;
	shm_unlink(name);
	printf("%d\n", *counter);
	return *counter != CHILDREN;
}
