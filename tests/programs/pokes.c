// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A child writes into its parent's memory: by process_vm_writev, through /proc/PID/mem, through
 * such a file that it has inherited, into a parent with threads. The parent waits for it in a
 * call, or (argv[1] "computes") looks for it in a loop.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char place[3][16]; ///< one behind the other
static int inherited = -1;

static void by_call(pid_t parent)
{
	char bytes[] = "by call";
	struct iovec from = { bytes, sizeof(bytes) };
	struct iovec to[] = { { (void *)place[0], 3 }, { (void *)place[1], 16 } };

	if (process_vm_writev(parent, &from, 1, to, 2, 0) != sizeof(bytes))
		_exit(1);
}

static void by_file(pid_t parent)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", parent);
	fd = open(path, O_RDWR);
	if (pwrite(fd, "by file", 8, (off_t)(unsigned long)place[0]) != 8)
		_exit(1);
}

static void by_inherited(pid_t parent)
{
	(void)parent;
	if (lseek(inherited, (off_t)(unsigned long)place[0], SEEK_SET) < 0 ||
	    write(inherited, "inherited", 10) != 10)
		_exit(1);
}

static void try(const char *name, void (*poke)(pid_t), int computes)
{
	pid_t parent = getpid(), child;
	int status;

	memset((void *)place, 0, sizeof(place));
	child = fork();
	if (!child) {
		usleep(20000);
		poke(parent);
		_exit(0);
	}
	while (computes && !place[0][0])
		;
	waitpid(child, &status, 0);
	printf("%s: '%s' '%s', status %d\n", name, place[0], place[1], status);
}

static void *wait_long(void *fds)
{
	char byte;

	return read(*(int *)fds, &byte, 1) == 1 ? (void *)place[0] : NULL;
}

int main(int argc, char **argv)
{
	int fds[2];
	pthread_t thread;
	void *seen;

	(void)argv;
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1) {
		try("computes", by_call, 1);
		return 0;
	}
	try("call", by_call, 0);
	try("file", by_file, 0);
	inherited = open("/proc/self/mem", O_RDWR);
	try("inherited", by_inherited, 0);
	if (pipe(fds) || pthread_create(&thread, NULL, wait_long, fds))
		return 1;
	try("threads", by_call, 0);
	if (write(fds[1], "x", 1) != 1 || pthread_join(thread, &seen))
		return 1;
	printf("thread: '%s'\n", (char *)seen);
	return 0;
}
