// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: after MySQL bug 791. Rotating the binary log closes it and opens it again; a
 * statement that commits between finds no log and is not logged (atomicity violation
 * around system calls).
 * Races: `log_file = -1` ... `log_file = open()` in rotate() against the test in
 * log_statement().
 * Failure: fewer statements in the log than were committed: assertion.
 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

#define STATEMENTS 200
#define ROTATIONS 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_int log_file;
static int n_logged;

static int log_open(void)
{
	return open("/dev/null", O_WRONLY | O_APPEND);
}

static void rotate(void)
{
	pthread_mutex_lock(&lock);
	close(log_file);
	log_file = -1;
	pthread_mutex_unlock(&lock);
	log_file = log_open();
}

static void log_statement(const char *statement, int size)
{
	if (log_file < 0)
		return; // logging is off
	pthread_mutex_lock(&lock);
	if (log_file >= 0 && write(log_file, statement, size) == size)
		n_logged++;
	pthread_mutex_unlock(&lock);
}

static void *serve(void *arg)
{
	(void)arg;
	for (int i = 0; i < STATEMENTS; i++) {
		char statement[64];
		int n = snprintf(statement, sizeof(statement), "INSERT INTO t (%d)", i);

		log_statement(statement, n);
	}
	return NULL;
}

static void *flush_logs(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROTATIONS; i++)
		rotate();
	return NULL;
}

int main(void)
{
	pthread_t client, admin;

	log_file = log_open();
	pthread_create(&client, NULL, serve, NULL);
	pthread_create(&admin, NULL, flush_logs, NULL);
	pthread_join(client, NULL);
	pthread_join(admin, NULL);
	assert(n_logged == STATEMENTS);
	printf("%d logged\n", n_logged);
	return 0;
}
