// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Two threads write to a word again and again, and count how often the other one did in between: on one
 * CPU nearly never.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>

#define ROUNDS 50

static atomic_intptr_t last;
static atomic_int changes;

static void *take(void *id)
{
	for (int i = 0; i < ROUNDS; i++)
		if (atomic_exchange(&last, (intptr_t)id) != (intptr_t)id)
			changes++;
	return NULL;
}

int main(void)
{
	pthread_t threads[2];

	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take, (void *)(i + 1));
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("changes %d\n", changes);
	return 0;
}
