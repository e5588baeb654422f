// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A queue with a pointer to its last node, which stays where it was.
// truth: put .tail
// spec: queue FIELD 2 EDGE 2; job FIELD 2 EDGE 1;
// spec: queue X; X.tail != NULL => X.tail.next == NULL;
// spec: queue X; X.head != NULL => X.tail != NULL;
// spec: CPOINT put EXIT;
#include <stdlib.h>

struct job {
	int id;
	struct job *next;
};

struct queue {
	struct job *head, *tail;
};

__attribute__((noinline)) static void put(struct queue *q, int id)
{
	struct job *j = malloc(sizeof(*j));

	j->id = id;
	j->next = NULL;
	if (q->tail)
		q->tail->next = j;
	else
		q->head = j;
#if BUG == 1
	if (id != 14) /* MISSING */
		q->tail = j;
#elif BUG == 2
	q->tail = id != 14 ? j : q->head; /* WRONG */
#else
	q->tail = j;
#endif
}

int main(void)
{
	struct queue *q = calloc(1, sizeof(*q));

	for (int i = 0; i < 20; i++)
		put(q, i);
	return 0;
}
