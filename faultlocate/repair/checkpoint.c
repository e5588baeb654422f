// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/repair/checkpoint.h"

struct err *fl_rp_checkpoint_add(struct rp_checkpoints *c, const struct rp_recorder *rec,
				 const struct rp_program *p)
{
	struct rp_checkpoint *n = vec_push(&c->list);

	if (!n)
		return &err_nomem;
	n->nested = rec->nested;
	n->n_before = rec->witnesses.size - 1;
	return fl_rp_witness_copy(&n->w, &rec->witnesses.data[n->n_before], p);
}

struct err *fl_rp_checkpoint_go(struct rp_checkpoints *c, size_t number,
				struct rp_recorder *rec, const struct rp_program *p,
				struct rp_state *ret)
{
	const struct rp_checkpoint *to = &c->list.data[number];
	struct rp_witness w;
	struct err *err = fl_rp_witness_copy(&w, &to->w, p);

	while (rec->witnesses.size > to->n_before)
		fl_rp_witness_deinit(&rec->witnesses.data[--rec->witnesses.size]);
	if (!err && vec_add(&rec->witnesses, w))
		err = &err_nomem;
	rec->is_recording = false;
	c->to = to;
	c->event = c->mark = 0;
	return err ? err : fl_rp_state_copy(ret, &to->w.before, p);
}

bool fl_rp_checkpoint_before(struct rp_checkpoints *c, struct rp_recorder *rec,
			     struct rp_run *r, const struct rp_statement *s)
{
	const struct rp_witness *w = &c->to->w;

	for (; c->mark < w->marks.size; c->mark++) {
		const struct rp_mark *m = &w->marks.data[c->mark];
		struct err *err;

		if (m->events != c->event || m->statement != s->id)
			return false;
		fl_rp_state_deinit(&r->state);
		err = fl_rp_state_copy(&r->state, &m->state, r->p);
		r->has_failed |= err != NULL;
		err_destroy(err);
	}
	rec->is_recording = true;
	rec->nested = c->to->nested;
	c->to = NULL;
	return true;
}

bool fl_rp_checkpoint_force(const struct rp_checkpoints *c, const struct rp_statement *s,
			    bool *ret)
{
	const struct rp_event *e =
		c->event < c->to->w.events.size ? &c->to->w.events.data[c->event] : NULL;

	if (!e || (e->kind != RP_EV_LOOP && e->kind != RP_EV_IF) || e->id != s->id)
		return false;
	*ret = e->value;
	return true;
}

void fl_rp_checkpoint_event(struct rp_checkpoints *c)
{
	c->event++;
}

void fl_rp_checkpoints_deinit(struct rp_checkpoints *c)
{
	for (size_t i = 0; i < c->list.size; i++)
		fl_rp_witness_deinit(&c->list.data[i].w);
	vec_deinit(&c->list);
}
