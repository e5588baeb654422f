// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after Apache bug 21287 (mod_mem_cache). The count is decremented atomically, but
 * tested by a second read: two threads may both see zero.
 * Races: `if (!o->n_refs)` in put() against `o->n_refs--` in the other thread's put().
 * Failure: an object is cleaned up twice: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define OBJECTS 300
#define USERS 2

struct object {
	atomic_int n_refs;
	int is_cleaned;
	char *body;
};

static struct object cache[OBJECTS];

static void clean_up(struct object *o)
{
	assert(!o->is_cleaned);
	o->is_cleaned = 1;
	free(o->body);
}

static void put(struct object *o)
{
	o->n_refs--;
	if (!o->n_refs)
		clean_up(o);
}

static void *use(void *arg)
{
	(void)arg;
	for (int i = 0; i < OBJECTS; i++) {
		cache[i].body[0]++;
		put(&cache[i]);
	}
	return NULL;
}

int main(void)
{
	pthread_t user[USERS];

	for (int i = 0; i < OBJECTS; i++) {
		cache[i].n_refs = USERS;
		cache[i].body = calloc(1, 40);
	}
	for (int i = 0; i < USERS; i++)
		pthread_create(&user[i], NULL, use, NULL);
	for (int i = 0; i < USERS; i++)
		pthread_join(user[i], NULL);
	for (int i = 0; i < OBJECTS; i++)
		assert(cache[i].is_cleaned);
	puts("all cleaned up");
	return 0;
}
