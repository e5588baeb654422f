// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: an object is made at its first use, without a lock: two threads make it twice and
 * what was put into the first is lost.
 * Races: `if (!registry)` against `registry = registry_create()` of the other thread.
 * Failure: entries are missing at the end: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#define PLUGINS 3

struct registry {
	atomic_int n_entries;
	const char *entries[PLUGINS];
};

static struct registry *volatile registry;

static struct registry *registry_create(void)
{
	return calloc(1, sizeof(struct registry));
}

static void plug_in(const char *name)
{
	if (!registry)
		registry = registry_create();
	registry->entries[registry->n_entries++] = name;
}

static void *load(void *name)
{
	plug_in(name);
	return NULL;
}

int main(void)
{
	static char *names[PLUGINS] = { "zip", "http", "sql" };
	pthread_t loader[PLUGINS];

	for (int i = 0; i < PLUGINS; i++)
		pthread_create(&loader[i], NULL, load, names[i]);
	for (int i = 0; i < PLUGINS; i++)
		pthread_join(loader[i], NULL);
	assert(registry->n_entries == PLUGINS);
	puts("all registered");
	return 0;
}
