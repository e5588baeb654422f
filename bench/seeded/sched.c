// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A scheduler of jobs with three priorities, after Siemens' schedule. Reads commands, a line each:
 * `new PRIORITY TICKS', `run N', `block', `wake', `raise ID', `quit ID', `list'.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS 4
#define JOBS 32
#define SLICE 3

struct job {
	int id, priority, left, waited;
	struct job *next;
};

static struct job jobs[JOBS];
static struct job *queue[LEVELS], *blocked;
static int n_jobs, n_done, clock_ticks;

static void append(struct job **to, struct job *j)
{
	j->next = NULL;
	while (*to)
		to = &(*to)->next;
	*to = j;
}

static struct job *take_first(struct job **from)
{
	struct job *j = *from;

	if (j)
		*from = j->next;
	return j;
}

static struct job *find(struct job **in, int id)
{
	while (*in) {
		struct job *j = *in;

		if (j->id == id) {
			*in = j->next;
			return j;
		}
		in = &j->next;
	}
	return NULL;
}

static int add_job(int priority, int ticks)
{
	struct job *j;

	if (priority < 1 || priority > 3)
		return -1;
	if (ticks <= 0 || n_jobs >= JOBS)
		return -2;
	j = &jobs[n_jobs];
	n_jobs++;
	j->id = n_jobs;
	j->priority = priority;
	j->left = ticks;
	j->waited = 0;
	append(&queue[priority], j);
	return j->id;
}

static struct job *next_job(void)
{
	for (int level = LEVELS - 1; level > 0; level--) {
		struct job *j = take_first(&queue[level]);

		if (j)
			return j;
	}
	return NULL;
}

static void finish(struct job *j)
{
	n_done++;
	printf("job %d ends at %d\n", j->id, clock_ticks);
}

/* Who waits for long comes up. */
static void age(void)
{
	for (int level = 1; level < LEVELS - 1; level++)
		for (struct job *j = queue[level]; j; j = j->next) {
			j->waited++;
			if (j->waited >= 4) {
				j = find(&queue[level], j->id);
				j->waited = 0;
				j->priority = level + 1;
				append(&queue[level + 1], j);
				break;
			}
		}
}

static void run_one(void)
{
	struct job *j = next_job();
	int ticks;

	if (!j) {
		printf("idle\n");
		clock_ticks++;
		return;
	}
	ticks = j->left < SLICE ? j->left : SLICE;
	clock_ticks += ticks;
	j->left -= ticks;
	if (j->left == 0) {
		finish(j);
	} else {
		if (j->priority > 1)
			j->priority--;
		append(&queue[j->priority], j);
	}
	age();
}

static void block(void)
{
	struct job *j = next_job();

	if (!j) {
		printf("nothing to block\n");
		return;
	}
	printf("job %d waits\n", j->id);
	append(&blocked, j);
}

static void wake(void)
{
	struct job *j = take_first(&blocked);

	if (!j) {
		printf("nobody waits\n");
		return;
	}
	j->waited = 0;
	append(&queue[j->priority], j);
}

static void raise_job(int id)
{
	for (int level = 1; level < LEVELS; level++) {
		struct job *j = find(&queue[level], id);

		if (!j)
			continue;
		if (j->priority < 3)
			j->priority++;
		append(&queue[j->priority], j);
		return;
	}
	printf("no job %d\n", id);
}

static void quit_job(int id)
{
	struct job *j = NULL;

	for (int level = 1; level < LEVELS && !j; level++)
		j = find(&queue[level], id);
	if (!j)
		j = find(&blocked, id);
	if (j)
		printf("job %d is gone, %d left\n", id, j->left);
	else
		printf("no job %d\n", id);
}

static void list(void)
{
	for (int level = LEVELS - 1; level > 0; level--) {
		printf("%d:", level);
		for (struct job *j = queue[level]; j; j = j->next)
			printf(" %d(%d)", j->id, j->left);
		printf("\n");
	}
}

int main(void)
{
	char command[16];
	int a, b;

	while (scanf("%15s", command) == 1) {
		if (!strcmp(command, "new") && scanf("%d %d", &a, &b) == 2)
			printf("new: %d\n", add_job(a, b));
		else if (!strcmp(command, "run") && scanf("%d", &a) == 1)
			for (int i = 0; i < a; i++)
				run_one();
		else if (!strcmp(command, "block"))
			block();
		else if (!strcmp(command, "wake"))
			wake();
		else if (!strcmp(command, "raise") && scanf("%d", &a) == 1)
			raise_job(a);
		else if (!strcmp(command, "quit") && scanf("%d", &a) == 1)
			quit_job(a);
		else if (!strcmp(command, "list"))
			list();
		else
			printf("what is %s?\n", command);
	}
	printf("%d of %d done at %d\n", n_done, n_jobs, clock_ticks);
	return 0;
}
