// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A doubly linked list with a head that points to both ends. */
#include "specs/subject.h"

struct link {
	long value;
	struct link *next;
	struct link *prev;
};

static struct link *first;

NOINLINE static void link_insert(struct link *before, long value)
{
	struct link *n = NEW(struct link);

	n->value = value;
	if (!before) {
		n->next = first;
		if (first)
			FAULT(0, first->prev = n, first->prev = first);
		first = n;
		return;
	}
	n->next = before->next;
	before->next = n;
	FAULT(1, n->prev = before, n->prev = n);
	if (n->next)
		FAULT(2, n->next->prev = n, n->next->prev = before->prev);
}

NOINLINE static void link_remove(struct link *n)
{
	if (n->prev && n->prev->next == n)
		n->prev->next = n->next;
	else if (first == n)
		first = n->next;
	else
		return;
	if (n->next)
		FAULT(3, n->next->prev = n->prev, n->next->prev = n->next);
	free(n);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		link_insert(NULL, i);
}

NOINLINE static void operate(unsigned r)
{
	struct link *n = first;

	for (unsigned i = 2 + r % 600; i && n->next; i--)
		n = n->next;
	if (r & 1024)
		link_insert(r & 2048 ? n : NULL, r);
	else
		link_remove(n);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 4, build, operate });
}
