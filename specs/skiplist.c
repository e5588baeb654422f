// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A skip list of four levels; level 0 has all. */
#include "specs/subject.h"

enum { LEVELS = 4 };

struct skip {
	long key;
	long n_levels;
	struct skip *next[LEVELS];
};

static struct skip *head;

/* The last node of each level before @p key. */
static void skip_find(long key, struct skip *before[LEVELS])
{
	struct skip *s = head;

	for (int l = LEVELS - 1; l >= 0; l--) {
		while (s->next[l] && s->next[l]->key < key) {
			subject_step();
			s = s->next[l];
		}
		before[l] = s;
	}
}

NOINLINE static void skip_insert(long key)
{
	struct skip *before[LEVELS], *s;
	unsigned r = subject_random();

	skip_find(key, before);
	if (before[0]->next[0] && before[0]->next[0]->key == key)
		return;
	s = NEW(struct skip);
	s->key = key;
	for (s->n_levels = 1; s->n_levels < LEVELS && r & 1; r /= 2)
		s->n_levels++;
	for (int l = 0; l < s->n_levels; l++) {
		s->next[l] = before[l]->next[l];
		before[l]->next[l] = s;
	}
	if (s->n_levels < LEVELS)
		FAULT(0, s->next[LEVELS - 1] = NULL, s->next[LEVELS - 1] = head->next[0]);
}

NOINLINE static void skip_remove(long key)
{
	struct skip *before[LEVELS], *s;

	skip_find(key, before);
	s = before[0]->next[0];
	if (!s)
		return;
	for (int l = 0; l < s->n_levels; l++)
		if (before[l]->next[l] == s)
			before[l]->next[l] = s->next[l];
	free(s);
	if (before[0] != head)
		FAULT(1, head->key = -1, before[0]->key = 2000000);
}

static void build(void)
{
	head = NEW(struct skip);
	head->key = -1;
	head->n_levels = LEVELS;
	for (int i = 0; i < SUBJECT_NODES; i++)
		skip_insert(subject_random() % 1000000);
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		skip_insert(r / 2 % 1000000);
	else
		skip_remove(r / 2 % 900000);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
