// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a caller waits for a flag instead of joining; the worker touches the request once
 * more after it has set it, when the request's stack frame may be gone (missed join).
 * Races: `r->statistics->n_done++` after `r->is_done = true` in work() against the
 * return of ask() and the frame of what is called next.
 * Failure: SIGSEGV through the overwritten pointer.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define REQUESTS 8

struct statistics {
	int n_done;
};

struct request {
	int question, answer;
	atomic_bool is_done;
	struct statistics *volatile statistics;
};

static struct statistics statistics;

static void *work(void *arg)
{
	struct request *r = arg;

	r->answer = r->question * 2;
	r->is_done = true;
	r->statistics->n_done++;
	return NULL;
}

__attribute__((noinline)) static int ask(int question)
{
	struct request r = { .question = question, .statistics = &statistics };
	pthread_attr_t detached;
	pthread_t worker;

	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_create(&worker, &detached, work, &r);
	while (!r.is_done)
		usleep(100);
	return r.answer;
}

__attribute__((noinline)) static int format(int answer)
{
	char line[512];

	memset(line, '.', sizeof(line));
	snprintf(line, sizeof(line), "%d", answer);
	asm volatile("" : : "r"(line) : "memory");
	return strlen(line);
}

int main(void)
{
	int sum = 0;

	for (int i = 0; i < REQUESTS; i++)
		sum += format(ask(i));
	usleep(500); // for the last worker
	printf("%d characters\n", sum);
	return 0;
}
