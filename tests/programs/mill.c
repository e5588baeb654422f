// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Threads that compute where each pass has the registers of the one before: what tells them apart is in memory, on the
 * stack as without -O, or where a register points to.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 3, PASSES = 12000000 };

static double sums[THREADS];

/* On its stack. */
__attribute__((optimize("O0"))) static void *near(void *arg)
{
	double x, sum = 0;
	long i;

	for (i = 0; i < PASSES; i++) {
		x = ((double)i + 0.5) / PASSES;
		sum = sum + 1.0 / (x * x + 1.0);
	}
	*(double *)arg = sum;
	return NULL;
}

/* .. in a block that it has a pointer to. */
__attribute__((optimize("O0"))) static void *far(void *arg)
{
	static struct {
		long i;
		double sum;
		char rest[48];
	} own[THREADS] __attribute__((aligned(64)));
	long n = (double *)arg - sums;

	for (own[n].i = 0; own[n].i < PASSES; own[n].i++)
		own[n].sum = own[n].sum + 1.0 / ((double)own[n].i + 1);
	sums[n] = own[n].sum;
	return NULL;
}

int main(int argc, char **argv)
{
	void *(*does)(void *) = argc > 1 && !strcmp(argv[1], "far") ? far : near;
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, does, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		printf("%a\n", sums[i]);
	}
	return 0;
}
