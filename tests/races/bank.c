// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: check and act are two critical sections (atomicity violation, one variable). A
 * withdrawal is allowed in one and done in the next; another teller's comes between.
 * Races: `is_covered = balance >= amount` against `balance -= amount` of the other.
 * Failure: the assertion that the balance is never negative.
 */
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#define TELLERS 2
#define CUSTOMERS 200
#define AMOUNT 10

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = AMOUNT;

static bool is_covered(int amount)
{
	bool yes;

	pthread_mutex_lock(&lock);
	yes = balance >= amount;
	pthread_mutex_unlock(&lock);
	return yes;
}

static void add(int amount)
{
	pthread_mutex_lock(&lock);
	balance += amount;
	assert(balance >= 0);
	pthread_mutex_unlock(&lock);
}

static void *serve(void *receipts)
{
	for (int i = 0; i < CUSTOMERS; i++) {
		if (!is_covered(AMOUNT))
			continue;
		add(-AMOUNT);
		snprintf(receipts, 64, "customer %d: paid out %d", i, AMOUNT);
		add(AMOUNT);
	}
	return NULL;
}

int main(void)
{
	pthread_t teller[TELLERS];
	char receipts[TELLERS][64];

	for (int i = 0; i < TELLERS; i++)
		pthread_create(&teller[i], NULL, serve, receipts[i]);
	for (int i = 0; i < TELLERS; i++)
		pthread_join(teller[i], NULL);
	printf("balance %d\n", balance);
	return 0;
}
