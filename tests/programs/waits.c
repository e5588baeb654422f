// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * waits HOW: a thread sends SIGTERM to its process and waits for it by sigtimedwait(). `open`: nobody
 * blocks it, and so it ends the process; `ignored`: it is gone; `blocked`: it is given.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void *wait_for_it(void *arg)
{
	struct timespec moment = { .tv_nsec = 100000000 };
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	kill(getpid(), SIGTERM);
	printf("given %d\n", sigtimedwait(&set, NULL, &moment));
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t t;
	sigset_t set;

	setvbuf(stdout, NULL, _IONBF, 0);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (!strcmp(how, "blocked"))
		pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (!strcmp(how, "ignored"))
		signal(SIGTERM, SIG_IGN);
	pthread_create(&t, NULL, wait_for_it, NULL);
	pthread_join(t, NULL);
	puts("joined");
	return 0;
}
