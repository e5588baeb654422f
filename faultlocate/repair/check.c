// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A patched program, executed: its own conditions must decide what was witnessed, and each
 * asserted state be there. It shares nothing with the formula (walk.c).
 */
#include <string.h>

#include "faultlocate/repair/repair.h"

struct check {
	const struct rp_witness *w;
	size_t event, mark;
	int depth;
	bool is_wrong;
	char *why;
	size_t room;
};

static unsigned place_of(const struct rp_statement *s)
{
	return s->shape == RP_END ? s->at.to : s->at.from;
}

static bool before(struct rp_run *r, const struct rp_statement *s)
{
	struct check *c = r->user;

	while (c->mark < c->w->marks.size) {
		const struct rp_mark *m = &c->w->marks.data[c->mark];

		if (m->events != c->event || m->statement != s->id)
			break;
		c->mark++;
		if (m->is_change) {
			fl_rp_state_deinit(&r->state);
			if (fl_rp_state_copy(&r->state, &m->state, r->p))
				r->has_failed = true;
		} else if (!fl_rp_state_is(&r->state, &m->state, r->p, r->function,
					   place_of(s), c->why, c->room)) {
			c->is_wrong = true;
			return false;
		}
	}
	return c->w->stop_statement != s->id || c->w->stop_events != c->event;
}

static void event(struct rp_run *r, struct rp_event e)
{
	struct check *c = r->user;
	const struct rp_event *was;

	c->depth += e.kind == RP_EV_CALL;
	if (e.kind == RP_EV_RETURN && --c->depth == 0)
		return; // of the function itself
	if (e.kind == RP_EV_CALL && c->depth == 1)
		return;
	was = c->event < c->w->events.size ? &c->w->events.data[c->event] : NULL;
	c->event++;
	if (was && was->kind == e.kind && was->id == e.id && was->value == e.value)
		return;
	if (!c->is_wrong)
		snprintf(c->why, c->room, "it goes another way than was witnessed");
	c->is_wrong = true;
	r->most_steps = 1; // nothing more to see
}

bool fl_rp_check(struct rp_program *p, const struct rp_witness *w, char *why, size_t room)
{
	struct check c = { .w = w, .why = why, .room = room };
	VEC(int64_t) inputs = {};
	struct rp_run r = { .p = p,
			    .user = &c,
			    .watch = { .before = before, .event = event } };
	enum rp_end end;

	for (size_t i = 0; i < w->events.size; i++)
		if (w->events.data[i].kind == RP_EV_INPUT &&
		    vec_add(&inputs, w->events.data[i].value))
			return false;
	r.inputs = inputs.data;
	r.n_inputs = inputs.size;
	if (fl_rp_state_copy(&r.state, &w->before, p))
		return false;
	end = fl_rp_run(&r, w->function);
	if (!c.is_wrong && (end == RP_CRASHED || end == RP_ENDLESS)) {
		snprintf(why, room, "%s", r.why);
		c.is_wrong = true;
	}
	if (!c.is_wrong && (c.mark < w->marks.size || c.event < w->events.size)) {
		snprintf(why, room, "it ends before all that was witnessed");
		c.is_wrong = true;
	}
	fl_rp_run_deinit(&r);
	vec_deinit(&inputs);
	return !c.is_wrong && !r.has_failed;
}
