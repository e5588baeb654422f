// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a mailbox of one slot, right for one producer, is used by two: both find it empty
 * and one message overwrites the other.
 * Races: `is_full` read by one producer in post() against `is_full = true` of the other.
 * Failure: messages are missing at the end: assertion.
 */
#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>

#define PRODUCERS 2
#define MESSAGES 30

static atomic_bool is_full, is_closed;
static int slot;
static int n_received;

static void post(int message)
{
	while (is_full)
		sched_yield();
	slot = message;
	is_full = true;
}

static void *produce(void *arg)
{
	(void)arg;
	for (int i = 1; i <= MESSAGES; i++)
		post(i);
	return NULL;
}

static void *receive(void *arg)
{
	(void)arg;
	while (!is_closed || is_full) {
		if (is_full) {
			n_received += slot > 0;
			is_full = false;
		} else {
			sched_yield();
		}
	}
	return NULL;
}

int main(void)
{
	pthread_t producer[PRODUCERS], receiver;

	pthread_create(&receiver, NULL, receive, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_create(&producer[i], NULL, produce, NULL);
	for (int i = 0; i < PRODUCERS; i++)
		pthread_join(producer[i], NULL);
	is_closed = true;
	pthread_join(receiver, NULL);
	assert(n_received == PRODUCERS * MESSAGES);
	printf("%d received\n", n_received);
	return 0;
}
