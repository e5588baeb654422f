// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a home-made reader/writer lock counts its readers with a plain read and write: of
 * two that enter or leave at once, one is not counted.
 * Races: `n_readers = n_readers + 1` (or - 1) in one reader against the same in another.
 * Failure: a writer enters beside a reader (assertion), or nobody gives the lock back
 * (hang).
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>

#define READERS 2
#define READS 300
#define WRITES 20

static sem_t is_free; ///< taken by the first reader or a writer
static volatile int n_readers;
static atomic_int n_inside; ///< the truth about readers
static volatile int table[8];

static void reader_enter(void)
{
	int n = n_readers + 1;

	n_readers = n;
	if (n == 1)
		sem_wait(&is_free);
}

static void reader_leave(void)
{
	int n = n_readers - 1;

	n_readers = n;
	if (n == 0)
		sem_post(&is_free);
}

static void *read_table(void *arg)
{
	int sum = 0;

	(void)arg;
	for (int i = 0; i < READS; i++) {
		reader_enter();
		n_inside++;
		for (int k = 0; k < 8; k++)
			sum += table[k];
		n_inside--;
		reader_leave();
	}
	assert(sum >= 0);
	return NULL;
}

static void *write_table(void *arg)
{
	(void)arg;
	for (int i = 0; i < WRITES; i++) {
		sem_wait(&is_free);
		assert(!n_inside);
		for (int k = 0; k < 8; k++)
			table[k] = i;
		sem_post(&is_free);
	}
	return NULL;
}

int main(void)
{
	pthread_t reader[READERS], writer;

	sem_init(&is_free, 0, 1);
	for (int i = 0; i < READERS; i++)
		pthread_create(&reader[i], NULL, read_table, NULL);
	pthread_create(&writer, NULL, write_table, NULL);
	for (int i = 0; i < READERS; i++)
		pthread_join(reader[i], NULL);
	pthread_join(writer, NULL);
	assert(n_readers == 0);
	puts("read and written");
	return 0;
}
