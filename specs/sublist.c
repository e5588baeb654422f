// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* A list with express lanes, in no order of keys: who is on a lane is on all lanes below it, in
 * the same order. */
#include "specs/subject.h"

enum { LANES = 4 };

struct stop {
	long n_lanes; ///< the first: one more than there are
	struct stop *next[LANES];
};

static struct stop *first;
static long n_stops;

/* The last stop on each lane up to some place. */
static void find_place(unsigned r, struct stop *before[LANES])
{
	struct stop *s = first, *limit = NULL;

	for (int l = LANES - 1; l >= 0; l--, r /= 8) {
		for (unsigned n = r % 8; n && s->next[l] != limit; n--) {
			subject_step();
			s = s->next[l];
		}
		before[l] = s;
		limit = s->next[l];
	}
}

NOINLINE static void stop_add(unsigned r)
{
	struct stop *before[LANES], *s = NEW(struct stop);
	unsigned height = subject_random();

	find_place(r, before);
	for (s->n_lanes = 1; s->n_lanes < LANES && height & 1; height /= 2)
		s->n_lanes++;
	s->next[0] = before[0]->next[0];
	before[0]->next[0] = s;
	for (int l = 1; l < s->n_lanes; l++) {
		FAULT(0, s->next[l] = before[l]->next[l], s->next[l] = first->next[0]);
		before[l]->next[l] = s;
	}
	n_stops++;
}

NOINLINE static void stop_remove(unsigned r)
{
	struct stop *before[LANES], *s;

	find_place(r, before);
	s = before[0]->next[0];
	if (!s)
		return;
	for (int l = LANES - 1; l > 0; l--)
		if (before[l]->next[l] == s)
			before[l]->next[l] = s->next[l];
	if (s->next[0])
		FAULT(1, before[0]->next[0] = s->next[0], before[0]->next[0] = before[0]);
	else
		before[0]->next[0] = NULL;
	free(s);
	n_stops--;
}

static void build(void)
{
	first = NEW(struct stop);
	first->n_lanes = LANES + 1;
	while (n_stops < SUBJECT_NODES)
		stop_add(subject_random());
}

NOINLINE static void operate(unsigned r)
{
	if (r & 1)
		stop_add(r / 2);
	else
		stop_remove(r / 2);
}

int main(int argc, char **argv)
{
	return subject_main(argc, argv, &(struct subject){ 2, build, operate });
}
