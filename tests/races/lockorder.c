// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a transfer locks the account it takes from, then the one it gives to; transfers in
 * opposite directions lock in opposite orders.
 * Races: the two pthread_mutex_lock() in transfer(a, b) against those in transfer(b, a).
 * Failure: deadlock; both threads wait for a mutex, main waits for them.
 */
#include <pthread.h>
#include <stdio.h>

#define TRANSFERS 100

struct account {
	pthread_mutex_t lock;
	long balance;
};

static struct account savings = { PTHREAD_MUTEX_INITIALIZER, 1000 };
static struct account current = { PTHREAD_MUTEX_INITIALIZER, 1000 };

static void transfer(struct account *from, struct account *to, long amount)
{
	pthread_mutex_lock(&from->lock);
	pthread_mutex_lock(&to->lock);
	from->balance -= amount;
	to->balance += amount;
	pthread_mutex_unlock(&to->lock);
	pthread_mutex_unlock(&from->lock);
}

static void *save(void *arg)
{
	(void)arg;
	for (int i = 0; i < TRANSFERS; i++)
		transfer(&current, &savings, i);
	return NULL;
}

static void *spend(void *arg)
{
	(void)arg;
	for (int i = 0; i < TRANSFERS; i++)
		transfer(&savings, &current, i);
	return NULL;
}

int main(void)
{
	pthread_t saver, spender;

	pthread_create(&saver, NULL, save, NULL);
	pthread_create(&spender, NULL, spend, NULL);
	pthread_join(saver, NULL);
	pthread_join(spender, NULL);
	printf("%ld %ld\n", savings.balance, current.balance);
	return 0;
}
