// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after MySQL's SHOW PROCESSLIST (Lu et al. 2008, figure 1). A pointer is tested,
 * then read again to be used; its owner clears it between (atomicity violation, window
 * of two instructions in a loop).
 * Races: `if (proc_info) ... *proc_info` in show() against `proc_info = NULL` in work().
 * Failure: SIGSEGV reading address 0.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define QUERIES 100
#define LOOKS 2000

static const char *volatile proc_info;
static unsigned long n_seen;

static void *work(void *arg)
{
	int out = open("/dev/null", O_WRONLY);

	(void)arg;
	for (int i = 0; i < QUERIES; i++) {
		proc_info = "Sending data";
		if (write(out, "row", 3) != 3)
			return NULL;
		proc_info = NULL;
	}
	close(out);
	return NULL;
}

static void *show(void *arg)
{
	(void)arg;
	for (int i = 0; i < LOOKS; i++)
		if (proc_info)
			n_seen += *proc_info == 'S';
	return NULL;
}

int main(void)
{
	pthread_t worker, shower;

	pthread_create(&shower, NULL, show, NULL);
	pthread_create(&worker, NULL, work, NULL);
	pthread_join(worker, NULL);
	pthread_join(shower, NULL);
	puts("shown");
	return 0;
}
