// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a walk over a list locks each step, not the whole: the node it stands on may be
 * removed and freed between two steps.
 * Races: `s = s->next` in count_idle() against `free(s)` in expire().
 * Failure: SIGSEGV following the pointer of a freed node (freed memory is overwritten,
 * as debugging allocators do).
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS 100
#define WALKS 10

struct session {
	struct session *next;
	int is_idle;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions;

static void add(int is_idle)
{
	struct session *s = malloc(sizeof(*s));

	s->is_idle = is_idle;
	pthread_mutex_lock(&lock);
	s->next = sessions;
	sessions = s;
	pthread_mutex_unlock(&lock);
}

static void *count_idle(void *arg)
{
	int *n = arg;

	for (int i = 0; i < WALKS; i++) {
		struct session *s;

		pthread_mutex_lock(&lock);
		s = sessions;
		pthread_mutex_unlock(&lock);
		while (s) {
			*n += s->is_idle;
			pthread_mutex_lock(&lock);
			s = s->next;
			pthread_mutex_unlock(&lock);
		}
	}
	return NULL;
}

static void *expire(void *arg)
{
	(void)arg;
	for (int i = 0; i < SESSIONS; i++) {
		struct session *s;

		pthread_mutex_lock(&lock);
		s = sessions;
		sessions = s->next;
		pthread_mutex_unlock(&lock);
		memset(s, 0xdd, sizeof(*s));
		free(s);
	}
	return NULL;
}

int main(void)
{
	pthread_t counter, expirer;
	int n = 0;

	for (int i = 0; i < SESSIONS; i++)
		add(i % 3 == 0);
	pthread_create(&counter, NULL, count_idle, &n);
	pthread_create(&expirer, NULL, expire, NULL);
	pthread_join(counter, NULL);
	pthread_join(expirer, NULL);
	printf("%d idle\n", n);
	return 0;
}
