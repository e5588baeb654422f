// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: double-checked locking that publishes the object before it is filled in (order
 * violation, window with calls of malloc).
 * Races: `config = c` before `c->names = ...` in get_config() against `c->names[i]` of a
 * thread whose first, unlocked test finds the pointer.
 * Failure: SIGSEGV reading through the null `names`.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define USERS 3
#define NAMES 20

struct config {
	char **names;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct config *volatile config;

static char **read_names(void)
{
	char **names = calloc(NAMES, sizeof(*names));

	for (int i = 0; i < NAMES; i++) {
		char name[32];

		snprintf(name, sizeof(name), "name%d", i);
		names[i] = strdup(name);
	}
	return names;
}

static struct config *get_config(void)
{
	if (!config) {
		pthread_mutex_lock(&lock);
		if (!config) {
			config = calloc(1, sizeof(*config));
			config->names = read_names();
		}
		pthread_mutex_unlock(&lock);
	}
	return config;
}

static void *use(void *arg)
{
	size_t *bytes = arg;

	for (int i = 0; i < NAMES; i++)
		*bytes += strlen(get_config()->names[i]);
	return NULL;
}

int main(void)
{
	pthread_t user[USERS];
	size_t bytes[USERS] = {};

	for (int i = 0; i < USERS; i++)
		pthread_create(&user[i], NULL, use, &bytes[i]);
	for (int i = 0; i < USERS; i++)
		pthread_join(user[i], NULL);
	printf("%zu bytes\n", bytes[0]);
	return 0;
}
