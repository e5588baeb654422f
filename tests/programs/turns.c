// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What unit_branch alters: threads that work together, so that in any order the same comes of it,
 * and two that do not (lost()); variables that lie beside others.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#define WORKERS 3
#define ITEMS 60

extern const char turns_race[], turns_load[], turns_lea[];
int turns_array[4] = { 11, 22, 33, 44 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int queue[ITEMS], n_in, n_out;
static long sum;
static volatile int counter;

static void *work(void *arg)
{
	(void)arg;
	for (;;) {
		int item;

		pthread_mutex_lock(&mutex);
		while (n_out == n_in && n_out < ITEMS)
			pthread_cond_wait(&filled, &mutex);
		item = n_out < ITEMS ? queue[n_out++] : -1;
		pthread_mutex_unlock(&mutex);
		if (item < 0)
			return NULL;
		for (volatile int i = 0; i < 500; i++)
			;
		pthread_mutex_lock(&mutex);
		sum += item * item;
		pthread_mutex_unlock(&mutex);
	}
}

static void together(void)
{
	pthread_t t[WORKERS];

	for (int i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < ITEMS; i++) {
		pthread_mutex_lock(&mutex);
		queue[n_in++] = i;
		pthread_cond_signal(&filled);
		pthread_mutex_unlock(&mutex);
		if (i % 8 == 0)
			usleep(100);
	}
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&mutex);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
}

/* Adds 1, if nobody else does between the load and the store. */
static void *lost(void *arg)
{
	int x;

	pthread_barrier_wait(&barrier);
	x = counter;
	__asm__ volatile(".globl turns_race\nturns_race:" : "+r"(x));
	counter = x + 1;
	return arg;
}

static int load(void)
{
	int x;

	__asm__ volatile(".globl turns_load\nturns_load:\n\tmovl turns_array(%%rip), %0"
			 : "=r"(x));
	return x;
}

static int load_by_pointer(void)
{
	const int *p;

	__asm__ volatile(".globl turns_lea\nturns_lea:\n\tlea turns_array(%%rip), %0"
			 : "=r"(p));
	return *p;
}

int main(void)
{
	pthread_t a, b;

	printf("%p %p %p\n", (const void *)turns_race, (const void *)turns_load,
	       (const void *)turns_lea);
	fflush(stdout);
	together();
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&a, NULL, lost, NULL);
	pthread_create(&b, NULL, lost, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("sum %ld, counter %d, loaded %d, by pointer %d\n", sum, counter, load(),
	       load_by_pointer());
	return 0;
}
