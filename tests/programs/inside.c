// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Threads in a name space of processes: they call themselves other numbers than everybody else
 * does. Each ends with a robust mutex held, which has the number of its owner in it. Some begin
 * when the call that made them is over (root's). 77: this host makes no name spaces.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t mutex;
static pthread_barrier_t barrier;
static pthread_t spinner;
static volatile bool is_over;
static long sum;

static void *work(void *arg)
{
	pthread_mutex_lock(&mutex);
	sum += (long)arg + gettid();
	return NULL; // the mutex' owner is gone
}

static void be_urgent(int priority)
{
	// Whom this one makes is not.
	sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK,
			   &(struct sched_param){ .sched_priority = priority });
}

static void *spin(void *arg)
{
	(void)arg;
	be_urgent(1);
	pthread_barrier_wait(&barrier);
	while (!is_over)
		;
	return NULL;
}

/* Of threads that have one CPU, as recorded ones, none that is not urgent begins until `is_over`. */
static void begin_spinning(void)
{
	is_over = false;
	pthread_barrier_init(&barrier, NULL, 2);
	be_urgent(2);
	pthread_create(&spinner, NULL, spin, NULL);
	pthread_barrier_wait(&barrier);
}

static int first(int n)
{
	int n_inherited = 0;
	pthread_mutexattr_t attr;
	pthread_t t;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&mutex, &attr);
	for (int i = 0; i < n; i++) {
		if (i < 3)
			begin_spinning();
		if (pthread_create(&t, NULL, work, (void *)(long)i))
			return 1;
		is_over = true;
		pthread_join(t, NULL);
		if (i < 3)
			pthread_join(spinner, NULL);
		if (pthread_mutex_lock(&mutex) == EOWNERDEAD) {
			n_inherited++;
			pthread_mutex_consistent(&mutex);
		}
		pthread_mutex_unlock(&mutex);
	}
	printf("%d of %d inherited, %ld\n", n_inherited, n, sum);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 300, status = 0;
	pid_t child;

	if (unshare(CLONE_NEWPID))
		return 77;
	child = fork();
	if (!child)
		_exit(first(n));
	waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}
