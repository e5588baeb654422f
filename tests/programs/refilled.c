// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A process counts in a shared file as fast as it can, each time after which another has opened the file,
 * emptied part of it or written into it by calls. Prints what it came to.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 60
#define BYTES 8192
#define BEHIND 6000 ///< what is emptied begins at 4100

static char name[32];

static void open_again(int fd)
{
	(void)fd;
	close(shm_open(name, O_RDWR, 0600));
}

static void shorten(int fd)
{
	if (ftruncate(fd, 4100) || ftruncate(fd, BYTES))
		_exit(1);
}

static void punch(int fd)
{
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 4096, 4096))
		_exit(1);
}

static void write_zeros(int fd)
{
	static const char zeros[64];

	if (pwrite(fd, zeros, sizeof(zeros), 0) != sizeof(zeros))
		_exit(1);
}

static void try(const char *what, void (*change)(int fd))
{
	int fd = shm_open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	volatile int *counts, *is_over;

	if (fd < 0 || ftruncate(fd, BYTES))
		_exit(1);
	counts = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	is_over = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	if (!fork()) {
		for (int i = 0; !*is_over; i++) {
			counts[2]++;
			counts[BEHIND / sizeof(int)]++;
			if (i % 1000 == 0)
				sched_yield();
		}
		_exit(0);
	}
	while (!counts[2])
		sched_yield();
	for (int i = 0; i < ROUNDS; i++)
		change(fd);
	*is_over = 1;
	wait(NULL);
	printf("%s: %d %d\n", what, counts[2], counts[BEHIND / sizeof(int)]);
	munmap((void *)counts, BYTES);
	close(fd);
	shm_unlink(name);
}

int main(void)
{
	snprintf(name, sizeof(name), "/refilled-%d", (int)getpid());
	try("opened", open_again);
	try("shortened", shorten);
	try("punched", punch);
	try("written", write_zeros);
	return 0;
}
