// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after pbzip2. When all blocks are written, main deletes the queue; it never waits
 * for the consumers to be done with it (order violation, use by a late thread).
 * Races: `fifo->lock` in consume() against `fifo->lock = NULL` in queue_delete().
 * Failure: SIGSEGV in pthread_mutex_lock or pthread_mutex_unlock.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CONSUMERS 2
#define BLOCKS 20

struct queue {
	pthread_mutex_t *volatile lock;
	pthread_cond_t filled;
	int next; ///< block to compress
	int size; ///< blocks read so far
};

static volatile int is_all_read;
static volatile int compressed[BLOCKS];

static struct queue *queue_create(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	q->lock = malloc(sizeof(*q->lock));
	pthread_mutex_init(q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	return q;
}

static void queue_delete(struct queue *q)
{
	pthread_mutex_t *lock = q->lock;

	q->lock = NULL;
	pthread_mutex_destroy(lock);
	free(lock);
}

static int compress(int block)
{
	unsigned sum = block;

	for (int i = 0; i < 2000; i++)
		sum = sum * 1664525 + 1013904223;
	return sum | 1;
}

static void *consume(void *arg)
{
	struct queue *fifo = arg;

	for (;;) {
		int block;

		pthread_mutex_lock(fifo->lock);
		while (fifo->next == fifo->size && !is_all_read)
			pthread_cond_wait(&fifo->filled, fifo->lock);
		block = fifo->next < fifo->size ? fifo->next++ : -1;
		pthread_mutex_unlock(fifo->lock);
		if (block < 0)
			return NULL;
		compressed[block] = compress(block);
	}
}

static void read_blocks(struct queue *fifo)
{
	for (int i = 0; i < BLOCKS; i++) {
		pthread_mutex_lock(fifo->lock);
		fifo->size++;
		pthread_cond_signal(&fifo->filled);
		pthread_mutex_unlock(fifo->lock);
	}
	pthread_mutex_lock(fifo->lock);
	is_all_read = 1;
	pthread_cond_broadcast(&fifo->filled);
	pthread_mutex_unlock(fifo->lock);
}

int main(void)
{
	struct queue *fifo = queue_create();
	pthread_t consumer[CONSUMERS];

	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&consumer[i], NULL, consume, fifo);
	read_blocks(fifo);
	for (int i = 0; i < BLOCKS; i++) // the writer
		while (!compressed[i])
			usleep(500);
	queue_delete(fifo);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_join(consumer[i], NULL);
	puts("compressed");
	return 0;
}
