// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A queue of jobs, linked by what is in them; the queue's own link closes the ring. */
#include <stddef.h>

#include "specs/subject.h"

struct link {
	struct link *next;
	struct link *prev;
};

struct job {
	long id;
	struct link wait;
	char name[32];
};

struct queue {
	long n;
	struct link jobs;
};

static struct queue *queue;
static long last_id;

NOINLINE static void link_insert(struct link *l, struct link *prev)
{
	l->prev = prev;
	l->next = prev->next;
	// The job itself instead of the link in it: the same node.
	if (prev != &queue->jobs)
		FAULT(0, prev->next->prev = l, prev->next->prev = l - 1);
	else
		prev->next->prev = l;
	prev->next = l;
}

NOINLINE static void job_add(struct link *prev)
{
	struct job *j = NEW(struct job);

	j->id = ++last_id;
	snprintf(j->name, sizeof(j->name), "job %ld", j->id);
	FAULT(1, j->name[0] = 'j', j->name[0] = 0);
	link_insert(&j->wait, prev);
	queue->n++;
}

NOINLINE static void job_take(struct link *l)
{
	l->prev->next = l->next;
	FAULT(2, l->next->prev = l->prev, l->next->prev = l->next);
	free((char *)l - offsetof(struct job, wait));
	queue->n--;
}

static struct link *any_link(unsigned r)
{
	struct link *l = queue->jobs.next;

	for (r %= 20; r && l->next != &queue->jobs; r--) {
		subject_step();
		l = l->next;
	}
	return l;
}

static void build(void)
{
	queue = NEW(struct queue);
	queue->jobs.next = queue->jobs.prev = &queue->jobs;
	while (queue->n < SUBJECT_NODES)
		job_add(queue->jobs.prev);
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		job_add(any_link(r / 2));
	else
		job_take(any_link(r / 2));
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 3, build, operate });
}
