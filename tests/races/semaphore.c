// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a counting semaphore taken for a mutex. It lets two threads look for a free
 * connection at once; both may find the same.
 * Races: `if (!pool[i].is_taken)` against `pool[i].is_taken = true` of the other thread
 * in pool_get().
 * Failure: two threads own one connection: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdio.h>

#define CONNECTIONS 2
#define CLIENTS 3
#define REQUESTS 150

struct connection {
	volatile bool is_taken;
	volatile int owner;
	char request[32];
};

static sem_t n_free;
static struct connection pool[CONNECTIONS];

static struct connection *pool_get(void)
{
	sem_wait(&n_free);
	for (int i = 0; i < CONNECTIONS; i++) {
		if (!pool[i].is_taken) {
			pool[i].is_taken = true;
			return &pool[i];
		}
	}
	assert(!"a free connection");
	return NULL;
}

static void pool_put(struct connection *c)
{
	c->is_taken = false;
	sem_post(&n_free);
}

static void *run(void *arg)
{
	int me = *(int *)arg;

	for (int i = 0; i < REQUESTS; i++) {
		struct connection *c = pool_get();

		c->owner = me;
		snprintf(c->request, sizeof(c->request), "GET /%d", i);
		assert(c->owner == me);
		pool_put(c);
	}
	return NULL;
}

int main(void)
{
	pthread_t client[CLIENTS];
	int ids[CLIENTS];

	sem_init(&n_free, 0, CONNECTIONS);
	for (int i = 0; i < CLIENTS; i++) {
		ids[i] = i;
		pthread_create(&client[i], NULL, run, &ids[i]);
	}
	for (int i = 0; i < CLIENTS; i++)
		pthread_join(client[i], NULL);
	puts("served");
	return 0;
}
