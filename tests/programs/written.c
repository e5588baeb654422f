// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0

/**
 * @file
 * written: a variable is written to by a loop, by the kernel, and by a thread, and the program
 * crashes. Each line that writes says so.
 */
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

long total;
char line[8];

static void add(long n)
{
	total += n; // ADD
}

static void *work(void *arg)
{
	total = 7; // THREAD
	return arg;
}

int main(void)
{
	pthread_t thread;

	for (int i = 0; i < 3; i++)
		add(10 * i + 1);
	if (read(0, line, sizeof(line)) < 0)
		return 1;
	if (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL))
		return 1;
	*(volatile int *)NULL = 0; // CRASH
}
