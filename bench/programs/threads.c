// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// FLAGS: -lpthread

/**
 * @file
 * Multithreaded: four threads; each step computes a little and adds to one of eight sums
 * under a mutex of its own.
 */
#include <pthread.h>

#include "bench/programs/program.h"

#define THREADS 4
#define SUMS 8
#define COMPUTE 100

static struct {
	pthread_mutex_t mutex;
	uint64_t value;
} sums[SUMS];

static uint64_t n_steps; ///< of each thread

static void *thread_main(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < n_steps; i++) {
		uint32_t x = 0, at;

		for (int j = 0; j < COMPUTE; j++)
			x ^= random_next(&random);
		at = x % SUMS;
		pthread_mutex_lock(&sums[at].mutex);
		sums[at].value += x;
		pthread_mutex_unlock(&sums[at].mutex);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t sum = 0;
	pthread_t threads[THREADS];

	n_steps = count_of(argc, argv) / THREADS;
	for (int i = 0; i < SUMS; i++)
		pthread_mutex_init(&sums[i].mutex, NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, thread_main, (void *)(i + 1)))
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < SUMS; i++)
		sum = sum * 31 + sums[i].value;
	printf("threads: sum %llx\n", (unsigned long long)sum);
	return 0;
}
