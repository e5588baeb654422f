// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A timer's signals for a thread that computes, while another one has them handled and ignored in turn: what becomes of each is
 * decided as it is delivered.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

#define TURNS 400000

static volatile sig_atomic_t n_handled;
static int is_done;

static void handle(int signo)
{
	(void)signo;
	n_handled++;
}

static void *compute(void *none)
{
	while (!__atomic_load_n(&is_done, __ATOMIC_RELAXED))
		;
	return none;
}

int main(void)
{
	struct itimerval often = { { 0, 10 }, { 0, 10 } }, never = { 0 };
	struct sigaction act = { .sa_handler = SIG_IGN };
	pthread_t other;

	if (sigaction(SIGPROF, &act, NULL) || setitimer(ITIMER_PROF, &often, NULL) ||
	    pthread_create(&other, NULL, compute, NULL))
		return 1;
	for (int i = 0; i < TURNS; i++) {
		act.sa_handler = i % 2 ? SIG_IGN : handle;
		if (sigaction(SIGPROF, &act, NULL))
			return 1;
	}
	setitimer(ITIMER_PROF, &never, NULL);
	__atomic_store_n(&is_done, 1, __ATOMIC_RELAXED);
	pthread_join(other, NULL);
	printf("%s\n", n_handled ? "handled" : "none came");
	return 0;
}
