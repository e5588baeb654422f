// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * From a value to the instance that defined it. A nullifying run knows that of what was defined
 * since it began; what is older is looked for backward in the recorded run, and another window
 * of that, without points, tells where the writer had it from.
 */
#include "suppress-hw/suppress/suppress_int.h"

#include <string.h>

// Instructions before an instance that are looked at for its callers, at first.
#define CALLERS_NEAR (UINT64_C(1) << 17)
#define CALLERS_TIMES 32
#define DEPTH_MAX 12

static struct err *see_past(struct sup_session *s)
{
	return s->past ? NULL : dec_past_create(s->ret->capture, s->end, &s->past);
}

/* Size of what the instruction at @p rip writes to memory; 0: nothing, or not known. */
static uint32_t written_bytes(struct sup_session *s, uint64_t rip)
{
	uint8_t code[15];
	struct dec_insn insn;
	size_t n = 0;

	for (; n < sizeof(code); n++) {
		struct err *err = dec_machine_read(s->machine, rip + n, &code[n], 1);

		if (err) {
			err_destroy(err);
			break;
		}
	}
	if (!dec_insn_decode(code, n, rip, &insn))
		return 0;
	for (int i = 0; i < insn.n_mem; i++)
		if (insn.mem[i].is_write)
			return insn.mem[i].size;
	return 0;
}

/* How often @p rip was reached before @p position of the run with @p ask's points from @p begin
 * on, and who called there. */
static struct err *reach(struct sup_session *s, uint64_t begin,
			 const struct dec_nullify *points, uint64_t rip,
			 uint64_t position, struct dec_nullified *told)
{
	struct dec_nullify ask = *points;
	struct dec_outcome outcome;

	memset(ask.counted, 0, sizeof(ask.counted));
	ask.counted[0] = rip;
	ask.asked = (struct dec_source){};
	return sup_count(s, begin, &ask, position - begin, &outcome, told);
}

/* Name the statement of the instance at @p position, which lies where nothing was altered. */
static struct err *place_recorded(struct sup_session *s, struct sup_point *p)
{
	uint64_t back = CALLERS_NEAR;
	struct dec_nullify ask = s->ask;
	struct dec_nullified told;
	struct err *err = NULL;
	uint64_t callers[DEC_CHAIN_MAX];

	ask.n_points = ask.n_calls = 0;
	do {
		uint64_t begin = p->position > back ? p->position - back : 0;

		err = reach(s, begin, &ask, p->at.rip, p->position, &told);
		for (uint32_t i = 0; i < told.n_frames; i++)
			callers[i] = sup_caller(s, &told.frames[i].call);
		if (!err)
			sup_place(s, p->at.rip - p->at.is_arrival, callers, told.n_frames,
				  &p->place);
		if (!begin)
			break;
		back *= CALLERS_TIMES;
	} while (!err && !p->place.is_own);
	return err;
}

struct err *sup_calls(struct sup_session *s, uint64_t begin)
{
	uint64_t back = CALLERS_NEAR;
	struct dec_nullify ask = s->ask;
	struct dec_nullified told = {};
	struct err *err = NULL;

	ask.n_points = ask.n_calls = s->ask.n_calls = 0;
	while (!err && !told.n_frames) {
		uint64_t at = begin > back ? begin - back : 0;

		err = reach(s, at, &ask, 0, begin, &told);
		if (!at)
			break;
		back *= CALLERS_TIMES;
	}
	for (uint32_t i = 0; !err && i < told.n_frames; i++)
		s->ask.calls[s->ask.n_calls++] = told.frames[i].call;
	return err;
}

struct err *sup_recount(struct sup_session *s, uint64_t begin)
{
	struct dec_nullify ask = s->ask;
	struct dec_outcome outcome;
	struct dec_nullified told;
	struct err *err;

	if (begin >= s->begin || !s->ask.n_points)
		return NULL;
	ask.n_points = ask.n_calls = 0;
	for (uint32_t i = 0; i < s->ask.n_points; i++)
		ask.counted[i] = s->ask.points[i].rip;
	err = sup_count(s, begin, &ask, s->begin - begin, &outcome, &told);
	for (uint32_t i = 0; !err && i < s->ask.n_points; i++) {
		s->ask.points[i].nth += told.counts[i];
		s->ret->points.data[i].at.nth = s->ask.points[i].nth;
	}
	return err;
}

/* @return the number of that point; SIZE_MAX: it is none yet. */
static size_t number_of(const struct sup_session *s, const struct sup_point *p)
{
	for (size_t i = 0; i < s->ret->points.size; i++) {
		const struct sup_point *q = &s->ret->points.data[i];

		if (q->at.rip == p->at.rip && q->position == p->position &&
		    q->at.is_arrival == p->at.is_arrival)
			return i;
	}
	return SIZE_MAX;
}

/* The instance that @p from names, of the run that crashed (@p is_recorded: of the recorded
 * one), is a point. */
static struct err *add_point(struct sup_session *s, const struct dec_source *from,
			     uint64_t at, bool is_recorded)
{
	struct sup_point p = { .at = { .rip = from->rip, .nth = 1 },
			       .position = from->position };
	uint64_t callers[DEC_CHAIN_MAX];
	struct dec_nullified told;
	struct err *err = NULL;
	size_t known;

	p.at.is_arrival = from->is_arrival;
	p.at.reg = CAP_RAX;
	p.at.size = at && !from->is_arrival ? written_bytes(s, from->rip) : 0;
	p.at.addr = p.at.size ? at : 0;
	known = number_of(s, &p);
	s->n_found += known != SIZE_MAX && known >= s->first;
	if (known != SIZE_MAX || s->ret->points.size >= DEC_POINTS_MAX)
		return NULL;
	if (!is_recorded && (s->ask.n_points || sup_is_ordered(s))) {
		err = reach(s, s->begin, &s->ask, p.at.rip, p.position, &told);
		p.at.nth = told.counts[0] + 1;
		for (uint32_t i = 0; !err && i < told.n_frames; i++)
			callers[i] = sup_caller(s, &told.frames[i].call);
		if (!err)
			sup_place(s, p.at.rip - p.at.is_arrival, callers, told.n_frames,
				  &p.place);
	}
	if (!err && !p.place.is_own) {
		struct sup_place before = p.place;

		err = place_recorded(s, &p);
		if (!p.place.is_own && before.rip)
			p.place = before;
	}
	// Nobody's before the program's own code runs.
	if (err || !p.place.is_own)
		return err;
	s->n_found++;
	return vec_add(&s->ret->points, p);
}

struct err *sup_trace_crash(struct sup_session *s)
{
	struct dec_source here = { .kind = DEC_ORIGIN_MADE,
				   .rip = s->told.crash,
				   .position = s->outcome.position };

	size_t n = s->ret->points.size;
	struct err *err = NULL;

	if (s->told.crash == s->outcome.rip && s->told.is_known)
		err = add_point(s, &here, 0, false);
	if (s->ret->points.size > n)
		s->ret->points.data[n].is_use = true;
	return err;
}

static struct err *trace_source(struct sup_session *s, const struct dec_source *from,
				uint64_t at, uint64_t begin, bool is_recorded, int depth);

/* What was at @p l before @p before, in the recorded run. */
static struct err *trace_past(struct sup_session *s, const struct dec_location *l,
			      uint64_t before, const struct dec_source *asked, int depth)
{
	const struct dec_past_step *step;
	struct dec_nullify ask = s->ask;
	struct dec_outcome outcome;
	struct dec_nullified told;
	uint64_t written, begin;
	bool is_far = false;
	struct err *err = see_past(s);

	if (!err)
		err = dec_past_writer(s->past, l, before, &step, &is_far);
	if (err || !step)
		return err;
	written = step->position;
	begin = written > CALLERS_NEAR ? written - CALLERS_NEAR : 0;
	ask.n_points = ask.n_calls = 0;
	ask.asked = *asked;
	err = sup_branch(s, begin, &ask, written + 1 - begin, &outcome, &told);
	for (uint32_t i = 0; !err && i < told.n_causes; i++) {
		unsigned n = s->n_found;

		err = trace_source(s, &told.causes[i].made, told.causes[i].at, begin,
				   true, depth + 1);
		if (!err && n == s->n_found)
			err = trace_source(s, &told.causes[i].address, 0, begin, true,
					   depth + 1);
	}
	return err;
}

static struct err *trace_source(struct sup_session *s, const struct dec_source *from,
				uint64_t at, uint64_t begin, bool is_recorded, int depth)
{
	struct dec_location l = {};

	if (depth > DEPTH_MAX)
		return NULL;
	switch (from->kind) {
	case DEC_ORIGIN_MADE:
		return from->is_right ? NULL : add_point(s, from, at, is_recorded);
	case DEC_ORIGIN_BEFORE:
		l.is_mem = true;
		l.addr = from->addr;
		l.size = from->size < 8 ? from->size : 8;
		return trace_past(s, &l, begin, from, depth);
	case DEC_ORIGIN_REG:
		l.reg = from->reg;
		l.size = 8;
		return trace_past(s, &l, begin, from, depth);
	default:
		return NULL;
	}
}

#define PAGE 4096u

/* A pointer that leads nowhere is to blame, before a number that leads far away, before another one,
 * before a pointer that is right. */
static int weight_of(struct sup_session *s, const struct dec_origin *o)
{
	uint8_t byte;
	struct err *err;

	if (o->bytes != 8)
		return o->value < PAGE ? 2 : 3;
	err = dec_machine_read(s->machine, o->value, &byte, 1);
	err_destroy(err);
	return err ? 4 : 1;
}

/* The allocator wrote there for itself behind what the address comes from: the program reads what
 * it has given back. */
static bool is_given_back(const struct dec_origin *o)
{
	return o->made.kind == DEC_ORIGIN_MADE && o->made.is_right && o->at &&
	       (o->address.kind != DEC_ORIGIN_MADE ||
		o->made.position > o->address.position);
}

/* The block that it was read from was given back by then, or given out behind where somebody else defined it. */
static bool is_of_another_life(const struct dec_origin *o)
{
	return o->block.kind == DEC_ORIGIN_MADE &&
	       (!o->block.is_arrival || !o->made.is_right);
}

/* What defined it; where nothing did, or the allocator, that made the memory, the last
 * assignment of it to a variable; where there is none, what defined its address, or that
 * one's. */
static struct err *trace_all(struct sup_session *s, const struct dec_origin *o,
			     enum sup_which which)
{
	unsigned n = s->n_found;
	struct err *err = NULL;

	if (which == SUP_READ && is_of_another_life(o))
		return add_point(s, &o->block, 0, false);
	if (which != SUP_ASSIGNED)
		err = which == SUP_READ && is_given_back(o) ?
			      add_point(s, &o->made, o->at, false) :
			      trace_source(s, &o->made, o->at, s->begin, false, 0);
	if (!err && n == s->n_found && o->assigned.kind == DEC_ORIGIN_MADE &&
	    sup_is_own(s, o->assigned.rip))
		err = trace_source(s, &o->assigned, 0, s->begin, false, 0);
	if (!err && n == s->n_found)
		err = trace_source(s, &o->address, 0, s->begin, false, 0);
	if (!err && n == s->n_found)
		err = trace_source(s, &o->beyond, 0, s->begin, false, 0);
	return err;
}

struct err *sup_trace(struct sup_session *s, const struct dec_origin *o,
		      enum sup_which which)
{
	size_t n = s->ret->points.size;
	struct dec_where w;
	struct err *err = trace_all(s, o, which);
	int weight;

	if (!err)
		err = dec_machine_seek(s->machine, s->end, &w);
	if (err)
		return err;
	weight = weight_of(s, o);
	for (; n < s->ret->points.size; n++)
		s->ret->points.data[n].weight = weight;
	return NULL;
}
