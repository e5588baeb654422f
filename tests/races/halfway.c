// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: threads publish two words that belong together, without a lock; who has seen the first one's
 * sees all others' (after SCTBench's reorder programs; order violation that takes as many held threads
 * as there are).
 * Races: `ready = 1; size = SIZE` in publish() against the reads in look().
 * Failure: ready without a size: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define PUBLISHERS 30
#define SIZE 7

static volatile int ready, size;

static void *publish(void *arg)
{
	ready = 1;
	size = SIZE;
	return arg;
}

static void *look(void *arg)
{
	assert(!ready || size == SIZE);
	return arg;
}

int main(void)
{
	pthread_t publishers[PUBLISHERS], looker;

	for (int i = 0; i < PUBLISHERS; i++)
		pthread_create(&publishers[i], NULL, publish, NULL);
	pthread_create(&looker, NULL, look, NULL);
	for (int i = 0; i < PUBLISHERS; i++)
		pthread_join(publishers[i], NULL);
	pthread_join(looker, NULL);
	printf("size %d\n", size);
	return 0;
}
