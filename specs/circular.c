// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A circular list: one ring, entered anywhere. */
#include "specs/subject.h"

struct ring {
	long value;
	struct ring *next;
};

static struct ring *entry;

NOINLINE static void ring_insert(long value)
{
	struct ring *n = NEW(struct ring);

	n->value = value;
	if (!entry) {
		n->next = n;
		entry = n;
		return;
	}
	FAULT(0, n->next = entry->next, n->next = entry);
	FAULT(1, entry->next = n, entry->next = entry);
}

NOINLINE static void ring_remove(void)
{
	struct ring *n = entry->next;

	if (n == entry)
		return;
	FAULT(2, entry->next = n->next, entry->next = NULL);
	free(n);
}

static void build(void)
{
	for (int i = 0; i < SUBJECT_NODES; i++)
		ring_insert(i);
}

NOINLINE static void operate(unsigned r)
{
	for (unsigned i = r % 64; i && entry->next; i--)
		entry = entry->next;
	if (r & 1024 || !entry->next)
		ring_insert(r);
	else
		ring_remove();
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 3, build, operate });
}
