// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a consumer waits with `if` where `while` is needed: between the signal and its
 * return from the wait another consumer may take the item.
 * Races: `n_items--` after pthread_cond_wait() against `n_items--` of a consumer that did
 * not have to wait.
 * Failure: an item is taken from an empty queue: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdio.h>

#define ITEMS 40
#define CONSUMERS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t added = PTHREAD_COND_INITIALIZER;
static int items[ITEMS * CONSUMERS], n_items;

static int take(void)
{
	int item;

	pthread_mutex_lock(&lock);
	if (n_items == 0)
		pthread_cond_wait(&added, &lock);
	assert(n_items > 0);
	item = items[--n_items];
	pthread_mutex_unlock(&lock);
	return item;
}

static void add(int item)
{
	pthread_mutex_lock(&lock);
	items[n_items++] = item;
	pthread_cond_signal(&added);
	pthread_mutex_unlock(&lock);
}

static void *consume(void *arg)
{
	unsigned *sum = arg;

	for (int i = 0; i < ITEMS; i++) {
		unsigned v = take();

		for (int k = 0; k < 500; k++)
			v = v * 1664525 + 1013904223;
		*sum += v;
	}
	return NULL;
}

int main(void)
{
	pthread_t consumer[CONSUMERS];
	unsigned sum[CONSUMERS] = {};

	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consumer[i], NULL, consume, &sum[i]);
	for (int i = 0; i < ITEMS * CONSUMERS; i++)
		add(i);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consumer[i], NULL);
	printf("sum %u\n", sum[0] + sum[1]);
	return 0;
}
