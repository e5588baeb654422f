// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -pthread

/**
 * @file
 * A mutex with priority inheritance, whose word the kernel changes while threads wait for it,
 * and where they have given up.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#define THREADS 4
#define ROUNDS 200

static pthread_mutex_t mutex;
static unsigned n_waited_for, sum;

/** Bit 31 of the word: somebody waits (FUTEX_WAITERS). */
static int is_waited_for(void)
{
	return __atomic_load_n(&mutex.__data.__lock, __ATOMIC_SEQ_CST) < 0;
}

static void *work(void *arg)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&mutex);
		sched_yield();
		sum = sum * 31 + i + *(const unsigned *)arg;
		n_waited_for += is_waited_for();
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

static void *give_up(void *arg)
{
	struct timespec at;

	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += 2000000;
	at.tv_sec += at.tv_nsec / 1000000000;
	at.tv_nsec %= 1000000000;
	*(int *)arg = pthread_mutex_timedlock(&mutex, &at);
	return NULL;
}

int main(void)
{
	static const unsigned numbers[THREADS] = { 1, 2, 3, 4 };
	pthread_t threads[THREADS], late;
	pthread_mutexattr_t attr;
	int result = 0;

	pthread_mutexattr_init(&attr);
	if (pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT) ||
	    pthread_mutex_init(&mutex, &attr))
		return 2;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, (void *)&numbers[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	pthread_mutex_lock(&mutex);
	pthread_create(&late, NULL, give_up, &result);
	while (!is_waited_for())
		sched_yield();
	pthread_join(late, NULL);
	printf("%u: %u times waited for, %s\n", sum, n_waited_for,
	       result == ETIMEDOUT ? "given up" : "not given up");
	return n_waited_for == 0 || result != ETIMEDOUT;
}
