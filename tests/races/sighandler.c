// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug: a signal handler takes a lock that the thread it interrupts may hold.
 * Races: pthread_mutex_lock() in log_line(), called by on_reload(), against log_line() of
 * the same thread's normal work, with the signal sent by another thread.
 * Failure: the thread waits for itself: hang.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define LINES 300
#define RELOADS 3

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char log_text[4096];
static size_t log_used;

static void log_line(const char *line)
{
	size_t n = strlen(line);

	pthread_mutex_lock(&lock);
	if (log_used + n > sizeof(log_text))
		log_used = 0;
	memcpy(log_text + log_used, line, n);
	log_used += n;
	pthread_mutex_unlock(&lock);
}

static void on_reload(int signo)
{
	(void)signo;
	log_line("reload\n");
}

static void *work(void *arg)
{
	unsigned state = 1;

	(void)arg;
	for (int i = 0; i < LINES; i++) {
		for (int k = 0; k < 500; k++)
			state = state * 1664525 + 1013904223;
		log_line(state & 1 ? "odd\n" : "even\n");
	}
	return NULL;
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_reload };
	pthread_t worker;

	sigaction(SIGHUP, &a, NULL);
	pthread_create(&worker, NULL, work, NULL);
	for (int i = 0; i < RELOADS; i++)
		pthread_kill(worker, SIGHUP);
	pthread_join(worker, NULL);
	puts("logged");
	return 0;
}
