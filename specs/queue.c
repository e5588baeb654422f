// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A queue: what comes first leaves first. */
#include "specs/subject.h"

struct job {
	long number;
	struct job *next;
};

static struct {
	struct job *first, *last;
	long length;
} queue;

NOINLINE static void job_append(long number)
{
	struct job *n = NEW(struct job);

	n->number = number;
	n->next = NULL;
	if (queue.last)
		queue.last->next = n;
	else
		queue.first = n;
	FAULT(0, queue.last = n, queue.last = queue.first);
	queue.length++;
}

NOINLINE static void job_take(void)
{
	struct job *n = queue.first;

	FAULT(1, queue.first = n->next, queue.first = n->next->next);
	free(n);
	queue.length--;
}

NOINLINE static void job_cancel(unsigned index)
{
	struct job *at = queue.first, *n;

	for (; index && at->next->next; index--) {
		subject_step();
		at = at->next;
	}
	n = at->next;
	FAULT(2, at->next = n->next, at->next = at);
	if (queue.last == n)
		queue.last = at;
	free(n);
	queue.length--;
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		job_append(i);
}

NOINLINE static void operate(unsigned r)
{
	if (r % 3 == 0)
		job_append(r % 1000000);
	else if (r % 3 == 1)
		job_take();
	else
		job_cancel(r % 400);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 3, build, operate });
}
