// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A hash table with chaining. */
#include "specs/subject.h"

enum { BUCKETS = 64 };

struct entry {
	long key;
	long bucket;
	struct entry *next;
};

struct table {
	long n_entries;
	struct entry *bucket[BUCKETS];
};

static struct table *table;

NOINLINE static void table_put(long key)
{
	struct entry *e = NEW(struct entry);

	e->key = key;
	e->bucket = (key * 2654435761u >> 7) % BUCKETS;
	e->next = table->bucket[e->bucket];
	table->bucket[e->bucket] = e;
	FAULT(0, table->n_entries++, e->bucket = (e->bucket + 1) % BUCKETS);
}

NOINLINE static void table_drop(long bucket)
{
	struct entry *e = table->bucket[bucket];

	if (!e || !e->next)
		return;
	table->bucket[bucket] = e->next;
	free(e);
	table->n_entries--;
	FAULT(1, table->n_entries += 0,
	      table->bucket[bucket]->next = table->bucket[(bucket + 1) % BUCKETS]);
}

static void build(void)
{
	table = NEW(struct table);
	for (int i = 0; i < SUBJECT_NODES; i++)
		table_put(subject_random());
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		table_put(r / 2);
	else
		table_drop(r / 2 % BUCKETS);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
