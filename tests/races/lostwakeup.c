// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: the flag is tested outside the lock that guards the wait: set and signalled
 * between test and wait, the wakeup is lost.
 * Races: `!is_ready` and pthread_cond_wait() in take() against `is_ready = true` and
 * pthread_cond_signal() in give().
 * Failure: hang; the taker waits for a signal that came already.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define ROUNDS 10

struct box {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	atomic_bool is_ready;
	int value;
};

#define BOX                                                                   \
	{                                                                     \
		PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, 0 \
	}
static struct box request = BOX, answer = BOX;

static void give(struct box *b, int value)
{
	b->value = value;
	b->is_ready = true;
	pthread_cond_signal(&b->changed);
}

static int take(struct box *b)
{
	while (!b->is_ready) {
		pthread_mutex_lock(&b->lock);
		pthread_cond_wait(&b->changed, &b->lock);
		pthread_mutex_unlock(&b->lock);
	}
	b->is_ready = false;
	return b->value;
}

static void *serve(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		give(&answer, take(&request) * 2);
	return NULL;
}

int main(void)
{
	pthread_t server;
	int sum = 0;

	pthread_create(&server, NULL, serve, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		give(&request, i);
		sum += take(&answer);
	}
	pthread_join(server, NULL);
	printf("sum %d\n", sum);
	return 0;
}
