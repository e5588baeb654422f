// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -pthread

/**
 * @file
 * Each way in which something from outside decides what a program does next, one at a
 * time, for what explains divergences: `inputs WAY`.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

static const char text[] = "0123456789\n";
static char buffer[64], copy[64];

/* How much is written follows from a byte that was read, by arithmetic. */
static int by_value(void)
{
	if (read(0, buffer, 8) < 1)
		return 1;
	memcpy(copy, buffer, sizeof(copy));
	return write(1, text, copy[0] - '0') < 0;
}

/* Which call is made follows from a byte that was read. */
static int by_branch(void)
{
	if (read(0, buffer, 8) < 1)
		return 1;
	if (buffer[0] == '7')
		return getuid() == (uid_t)-1;
	return getppid() == -1;
}

/* From how much was read. */
static int by_result(void)
{
	ssize_t n = read(0, buffer, 8);

	return write(1, text, n) < 0;
}

/* From the time stamp counter. */
static int by_time(void)
{
	return write(1, text, __rdtsc() % 10) < 0;
}

/* From what another process wrote into memory: more than record looks at. */
static int by_shared(void)
{
	volatile int *shared = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;

	if (shared == MAP_FAILED)
		return 1;
	child = fork();
	if (!child) {
		*shared = 5;
		_exit(0);
	}
	if (waitpid(child, NULL, 0) != child)
		return 1;
	return write(1, text, *shared) < 0;
}

static int passed;

static void *reader(void *arg)
{
	if (read(0, buffer, 8) > 0)
		passed = buffer[0] - *(const char *)arg;
	return NULL;
}

/* From what another thread read. */
static int by_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, reader, (void *)text))
		return 1;
	pthread_join(thread, NULL);
	return write(1, text, passed) < 0;
}

static void handler(int signo)
{
	passed = signo;
}

/* From a signal, which the program sends to itself. */
static int by_signal(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	return write(1, text, passed) < 0;
}

static volatile struct {
	char mark[8];
	int n;
} borrowed = { "BORROWED", 0 };

/* From what a child wrote while it had our memory. */
static int by_child(void)
{
	pid_t child = vfork();

	if (!child) {
		borrowed.n = 5;
		_exit(0);
	}
	return write(1, text, borrowed.n) < 0;
}

/* From a pointer that was read: a fault, when it is another one. */
static int by_pointer(void)
{
	volatile const char *table[10];
	int n;

	for (int i = 0; i < 10; i++)
		table[i] = i == 7 ? text : NULL;
	if (read(0, buffer, 8) < 1)
		return 1;
	n = *table[buffer[0] - '0'] - '0';
	return write(1, text, n + 1) < 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} ways[] = {
		{ "value", by_value },	 { "branch", by_branch },
		{ "result", by_result }, { "time", by_time },
		{ "shared", by_shared }, { "pointer", by_pointer },
		{ "thread", by_thread }, { "signal", by_signal },
		{ "child", by_child },
	};

	for (size_t i = 0; argc == 2 && i < sizeof(ways) / sizeof(*ways); i++) {
		if (!strcmp(argv[1], ways[i].name))
			return ways[i].run();
	}
	fprintf(stderr, "usage: inputs WAY\n");
	return 2;
}
