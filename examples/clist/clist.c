// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A circular list of jobs, served in turn; the ring is known by its tail. A job that is
 * past its deadline is taken out before it is served, and there one link too many is
 * skipped: the job behind it falls out of the ring.
 *
 * Build with -DFIXED for the program without the bug.
 */
#include <stdio.h>
#include <stdlib.h>

#define JOBS 100
#define NOINLINE __attribute__((noinline))

struct cnode {
	int id;
	int left; /* turns that the job still needs */
	int deadline;
	struct cnode *next;
};

static struct cnode *tail;
static int n_served, n_expired;

NOINLINE static void ring_add(int id, int left, int deadline)
{
	struct cnode *n = malloc(sizeof(struct cnode));

	if (!n)
		exit(1);
	n->id = id;
	n->left = left;
	n->deadline = deadline;
	if (!tail) {
		n->next = n;
	} else {
		n->next = tail->next;
		tail->next = n;
	}
	tail = n;
}

/* Take the job at the head out of the ring. */
NOINLINE static void ring_remove(void)
{
	struct cnode *old = tail->next;

	if (old == tail)
		tail = NULL;
	else
		tail->next = old->next;
	free(old);
	n_served++;
}

/* Take the job at the head out of the ring: it is too late for it. */
NOINLINE static void ring_expire(void)
{
	struct cnode *old = tail->next;

	if (old == tail)
		tail = NULL;
	else
#ifdef FIXED
		tail->next = old->next;
#else
		tail->next = old->next->next; /* BUG */
#endif
	free(old);
	n_expired++;
}

static int ring_size(void)
{
	struct cnode *n = tail;
	int size = 0;

	if (!n)
		return 0;
	do {
		n = n->next;
		size++;
	} while (n != tail);
	return size;
}

static void serve(int now)
{
	struct cnode *job = tail->next;

	if (now > job->deadline)
		ring_expire();
	else if (--job->left == 0)
		ring_remove();
	else
		tail = job;
}

int main(void)
{
	unsigned int seed = 99;
	int now;

	for (now = 0; now < JOBS; now++) {
		seed = seed * 1103515245 + 12345;
		/* Job 40 is in a hurry. */
		ring_add(now, 1 + (seed >> 16) % 4, now == 40 ? 120 : 10 * JOBS);
	}
	for (; tail && now < 2 * JOBS; now++)
		serve(now);
	printf("%d served, %d expired, %d in the ring\n", n_served, n_expired,
	       ring_size());
	return 0;
}
