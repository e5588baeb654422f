// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Failure predicates, as tools that triage crashes have them: at each instruction, of each value that
 * it uses or defines and of which way a branch goes, whether in a test some instance is (or all are)
 * at least a number. That number is taken which tells failing tests from others best, by Ochiai.
 */
#include <math.h>
#include <string.h>

#include "suppress-hw/rank/rank_int.h"

/** The least and largest value that an instruction had in a test. */
struct rank_range {
	uint32_t profile, run, statement;
	uint8_t role;
	bool is_failed;
	int64_t least, largest;
};

#define RUNS_MAX (1u << 24)

static struct err *note_one(struct rank_session *s, const struct rank_range *now)
{
	uint64_t key =
		((uint64_t)now->profile * RANK_ROLES + now->role) * RUNS_MAX + now->run;
	const uint64_t *known = map_get(&s->range_of, key);
	struct rank_range *r = known ? &s->ranges.data[*known] : NULL;

	if (r) {
		r->least = r->least < now->least ? r->least : now->least;
		r->largest = r->largest > now->largest ? r->largest : now->largest;
		return NULL;
	}
	r = vec_push(&s->ranges);
	if (!r || map_put(&s->range_of, key, s->ranges.size - 1))
		return &err_nomem;
	*r = *now;
	return NULL;
}

struct err *rank_ranges_note(struct rank_session *s, const struct rank_run *run,
			     uint32_t statement, const struct rank_set *set)
{
	struct rank_range now = { .profile = set->instruction,
				  .run = (uint32_t)(run - s->runs.data),
				  .statement = statement,
				  .is_failed = run->is_failed };
	struct err *err = NULL;

	for (int role = 0; role < RANK_ROLES && now.run < RUNS_MAX && !err; role++) {
		if (!(set->has & 1u << role))
			continue;
		now.role = (uint8_t)role;
		now.least = now.largest = set->value[role];
		err = note_one(s, &now);
	}
	return err;
}

/* ---- the best predicate ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	const struct rank_range *p = a, *q = b;

	if (p->profile != q->profile)
		return p->profile < q->profile ? -1 : 1;
	if (p->role != q->role)
		return p->role - q->role;
	return (p->least > q->least) - (p->least < q->least);
}

static double ochiai(uint32_t f, uint32_t p, uint32_t failed)
{
	return f ? f / sqrt((double)failed * (f + p)) : 0;
}

/* Of the ranges of one value, by `least' in order: `some instance is at least so much', and below
 * that; between any two that differ. */
static double best_of(const struct rank_range *r, size_t n, uint32_t failed)
{
	uint32_t all[2] = {}, below[2] = {};
	double best = 0;

	for (size_t i = 0; i < n; i++)
		all[r[i].is_failed]++;
	for (size_t i = 0; i < n; i++) {
		double up = ochiai(all[1] - below[1], all[0] - below[0], failed);
		double down = ochiai(below[1], below[0], failed);

		if (!i || r[i].least != r[i - 1].least) {
			best = best > up ? best : up;
			best = best > down ? best : down;
		}
		below[r[i].is_failed]++;
	}
	return best;
}

/* Both ends of the ranges count: of the other one they are turned around, and sorted again. */
static void turn(struct rank_range *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r[i].least = r[i].largest;
	qsort(r, n, sizeof(*r), by_value);
}

void rank_ranges_judge(struct rank_session *s)
{
	struct rank_range *r = s->ranges.data;
	size_t n = s->ranges.size;

	if (n)
		qsort(r, n, sizeof(*r), by_value);
	for (size_t i = 0, end; i < n; i = end) {
		struct rank_statement *st = &s->ret->statements.data[r[i].statement];
		double good;

		for (end = i; end < n && r[end].profile == r[i].profile &&
			      r[end].role == r[i].role;)
			end++;
		good = best_of(r + i, end - i, s->ret->n_failed);
		st->suspicion = st->suspicion > good ? st->suspicion : good;
		turn(r + i, end - i);
		good = best_of(r + i, end - i, s->ret->n_failed);
		st->suspicion = st->suspicion > good ? st->suspicion : good;
	}
}

void rank_ranges_deinit(struct rank_session *s)
{
	vec_deinit(&s->ranges);
	map_deinit(&s->range_of);
}
