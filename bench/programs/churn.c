// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * As many changes of the heap as are asked for: a hash table of doubly linked entries, in
 * which entries are added, moved to the front, changed, and removed at random. It counts
 * what it does to the heap: nodes made, nodes freed, words stored in them; and at each such
 * change the entries that there are, which is what a snapshot of its heap would hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BUCKETS 1024
#define ENTRIES 16384 /* how many there are, about */

struct entry {
	struct entry *next, *prev;
	unsigned long key, n_uses;
};

static struct entry *buckets[BUCKETS];
static unsigned long n_changes, n_entries, n_in_snapshots, state = 1;

static unsigned long any(unsigned long below)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (state >> 33) % below;
}

static void changed(void)
{
	n_changes++;
	n_in_snapshots += n_entries;
}

static void set(struct entry **field, struct entry *to)
{
	*field = to;
	changed();
}

static struct entry *find(unsigned long key)
{
	struct entry *e = buckets[key % BUCKETS];

	while (e && e->key != key)
		e = e->next;
	return e;
}

static void link_first(struct entry *e)
{
	struct entry **head = &buckets[e->key % BUCKETS];

	set(&e->next, *head);
	set(&e->prev, NULL);
	if (*head)
		set(&(*head)->prev, e);
	*head = e;
}

static void unlink_entry(struct entry *e)
{
	if (e->prev)
		set(&e->prev->next, e->next);
	else
		buckets[e->key % BUCKETS] = e->next;
	if (e->next)
		set(&e->next->prev, e->prev);
}

static void add(unsigned long key)
{
	struct entry *e = malloc(sizeof(*e));

	if (!e)
		exit(1);
	n_entries++;
	changed();
	e->key = key;
	changed();
	e->n_uses = 0;
	changed();
	link_first(e);
}

static void use(struct entry *e)
{
	e->n_uses++;
	changed();
	if (e->prev) {
		unlink_entry(e);
		link_first(e);
	}
}

static void drop(struct entry *e)
{
	unlink_entry(e);
	free(e);
	n_entries--;
	changed();
}

int main(int argc, char **argv)
{
	char said[128];
	int n;
	unsigned long wanted = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;

	while (n_changes < wanted) {
		unsigned long key = any(2 * ENTRIES);
		struct entry *e = find(key);

		if (!e)
			add(key);
		else if (any(4))
			use(e);
		else
			drop(e);
	}
	/* Not printf, which has a buffer in the heap. */
	n = snprintf(said, sizeof(said), "%lu changes, %lu entries, %lu in snapshots\n",
		     n_changes, n_entries, n_in_snapshots);
	return write(1, said, n) != n;
}
