// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O0 -lpthread

/**
 * @file
 * For a debugger: a list whose link is overwritten by a fill that goes too far, threads with names
 * and variables of their own, a signal with a handler; `debugged crash` then follows the link.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

struct node {
	char label[8];
	struct node *next;
	long value;
};

static struct node *head;
static int handled, total;
static _Thread_local int mine;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct node *add(long value)
{
	struct node *n = calloc(1, sizeof(*n));

	if (!n)
		exit(2);
	n->value = value;
	n->next = head;
	head = n;
	return n;
}

static void fill(struct node *n, int size)
{
	for (int i = 0; i < size; i++)
		n->label[i] = 'A' + i; /* FILL */
}

static long sum(void)
{
	long s = 0;

	for (struct node *n = head; n; n = n->next)
		s += n->value; /* SUM */
	return s;
}

static void on_signal(int signo)
{
	handled = signo; /* HANDLER */
}

static void *work(void *arg)
{
	char name[16];

	snprintf(name, sizeof(name), "worker-%ld", (long)arg);
	prctl(PR_SET_NAME, name);
	for (int i = 0; i < 3; i++) {
		pthread_mutex_lock(&lock);
		total += (long)arg;
		mine += (long)arg; /* WORK */
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	signal(SIGUSR1, on_signal);
	for (long i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, work, (void *)(i + 1));
	for (long i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	raise(SIGUSR1);
	for (long i = 1; i <= 4; i++)
		add(i);
	printf("sum %ld\n", sum()); /* FIRST */
	fflush(stdout);
	fill(head->next, argc > 1 && !strcmp(argv[1], "crash") ? 14 : 8);
	printf("sum %ld, total %d, handled %d\n", sum(), total, handled); /* SECOND */
	return 0;
}
