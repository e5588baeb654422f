// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/repair/record.h"

struct rp_witness *fl_rp_record_now(struct rp_recorder *rec)
{
	return rec->is_recording ? &rec->witnesses.data[rec->witnesses.size - 1] : NULL;
}

static void take_state(struct rp_recorder *rec, struct rp_state *to,
		       const struct rp_run *r)
{
	struct err *err = fl_rp_state_copy(to, &r->state, r->p);

	rec->has_failed |= err != NULL;
	err_destroy(err);
}

void fl_rp_record_call(struct rp_recorder *rec, struct rp_run *r, int function)
{
	struct rp_witness *w;

	if (rec->is_recording || function != rec->function)
		return;
	w = vec_push(&rec->witnesses);
	if (!w) {
		rec->has_failed = true;
		return;
	}
	w->function = function;
	w->stop_statement = RP_NONE;
	take_state(rec, &w->before, r);
	rec->is_recording = true;
	rec->nested = 0;
}

void fl_rp_record_event(struct rp_recorder *rec, struct rp_event e)
{
	if (!rec->is_recording)
		return;
	rec->nested += e.kind == RP_EV_CALL;
	if (e.kind == RP_EV_RETURN && rec->nested-- == 0)
		rec->is_recording = false;
	else if (vec_add(&fl_rp_record_now(rec)->events, e))
		rec->has_failed = true;
}

void fl_rp_record_mark(struct rp_recorder *rec, const struct rp_run *r,
		       const struct rp_statement *s, bool is_change, int number)
{
	struct rp_witness *w = fl_rp_record_now(rec);
	struct rp_mark m = { .events = w->events.size,
			     .statement = s->id,
			     .is_change = is_change,
			     .number = number };

	take_state(rec, &m.state, r);
	if (vec_add(&w->marks, m))
		rec->has_failed = true;
}

static bool at_end(struct rp_run *r, const struct rp_statement *s)
{
	struct rp_recorder *rec = r->user;

	if (s->shape == RP_END && rec->is_recording && !rec->nested)
		fl_rp_record_mark(rec, r, s, false, -1);
	return true;
}

static void on_event(struct rp_run *r, struct rp_event e)
{
	fl_rp_record_event(r->user, e);
}

static void on_call(struct rp_run *r, int function)
{
	fl_rp_record_call(r->user, r, function);
}

struct err *fl_rp_record_run(struct rp_recorder *rec, struct rp_program *p,
			     const struct rp_state *first)
{
	struct rp_run r = {
		.p = p,
		.user = rec,
		.watch = { .before = at_end, .event = on_event, .entered = on_call }
	};
	struct err *err = fl_rp_state_copy(&r.state, first, p);

	if (!err && fl_rp_run(&r, rec->function) != RP_RAN)
		err = err_new(ERR_FORMAT, "%s", r.why);
	if (!err && rec->has_failed)
		err = &err_nomem;
	fl_rp_run_deinit(&r);
	return err;
}

void fl_rp_recorder_deinit(struct rp_recorder *rec)
{
	for (size_t i = 0; i < rec->witnesses.size; i++)
		fl_rp_witness_deinit(&rec->witnesses.data[i]);
	vec_deinit(&rec->witnesses);
}
