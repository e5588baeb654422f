// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Rules about what two threads do to each other (race/race.h).
 */
#include <string.h>

#include "faultlocate/fl_check_int.h"

/* What the rule is asked about: the later of the two accesses. */
static struct fl_error error_of(const struct fl_race *race, size_t rule)
{
	const struct fl_race_access *x = &race->later;
	struct fl_error e = { .rule = rule,
			      .time = x->time,
			      .last_time = race->last_time,
			      .rip = x->rip,
			      .pc = x->rip,
			      .value = { { x->addr, 0, 0, true } },
			      .n_values = 1,
			      .is_write = x->is_write,
			      .reg = -1,
			      .race = race,
			      .count = race->count };

	for (uint32_t i = 0; i < x->n_callers && i < HG_ACCESS_CALLERS; i++)
		e.callers.rip[e.callers.n++] = x->caller[i];
	return e;
}

static struct err *ask(struct fl_check *c, const struct fl_race *race)
{
	const struct spec_bug_world w = { .graph = c->graph,
					  .time = race->later.time,
					  .width = race->later.size,
					  .ctx = c };

	for (size_t i = 0; i < spec_bugs(c->rules); i++) {
		struct fl_error e = error_of(race, i);
		struct spec_bug_value slots[SPEC_BUG_SLOTS] = { e.value[0] };

		if (c->is_on[i] && spec_bug(c->rules, i)->point == SPEC_POINT_RACE &&
		    spec_bug_holds(c->rules, i, &w, slots))
			return vec_add(&c->errors, e);
	}
	return NULL;
}

bool fl_check_has_threads(const struct fl_check *c)
{
	return c->has_threads;
}

struct err *fl_check_races(struct fl_check *c, const struct capture *capture,
			   struct dec_symbols *symbols, const struct fl_race_options *o)
{
	bool is_asked = false;
	struct err *err = NULL;

	for (size_t i = 0; i < spec_bugs(c->rules); i++)
		is_asked |= c->is_on[i] &&
			    spec_bug(c->rules, i)->point == SPEC_POINT_RACE;
	if (is_asked)
		err = fl_races_find(capture, symbols, o, &c->races, &c->has_threads);
	for (size_t i = 0; i < c->races.size && !err; i++)
		err = ask(c, &c->races.data[i]);
	return err;
}
