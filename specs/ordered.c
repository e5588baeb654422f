// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A list in ascending order. */
#include "specs/subject.h"

struct item {
	long value;
	struct item *next;
};

static struct item *first;

NOINLINE static void item_insert(long value)
{
	struct item **link = &first, *n = NEW(struct item);

	for (; *link && (*link)->value < value; link = &(*link)->next)
		subject_step();
	n->value = value;
	FAULT(0, n->next = *link, n->next = *link ? (*link)->next : n);
	*link = n;
}

NOINLINE static void item_remove(unsigned index)
{
	struct item **link = &first, *n;

	for (; index && (*link)->next; index--)
		link = &(*link)->next;
	n = *link;
	if (n->next)
		FAULT(2, *link = n->next, *link = n->next->next);
	else
		*link = NULL;
	free(n);
}

/* The next one's value changes a little, less than the gap. */
NOINLINE static void item_change(unsigned index)
{
	struct item *n = first;

	for (; index && n->next; index--)
		n = n->next;
	FAULT(1, n->value = n->value, n->value = -n->value - 1);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		item_insert(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	if (r % 3 == 0)
		item_insert(r % 1000000);
	else if (r % 3 == 1)
		item_change(100 + r % 700);
	else
		item_remove(r % 500);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 3, build, operate });
}
