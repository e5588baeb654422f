// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Programs of the suite `repair' executed, and faults put into them: another variable or field in
 * a part of a statement or condition, or a statement that goes.
 */
#include <string.h>

#include "bench/bench_repair.h"

enum { MOST_STEPS = 3000, MOST_TRIES = 2000, MOST_NODES = 9 };

unsigned bench_repair_draw(struct repair_subject *s, unsigned n)
{
	s->random = s->random * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(s->random >> 33) % n;
}

/* ---- executing -------------------------------------------------------------------------------- */

struct look {
	struct repair_subject *s;
	struct rp_recorder *rec;
	bool *covered;
};

/* Somebody who asserts the state at the heads of loops, and at the end. */
static bool before(struct rp_run *r, const struct rp_statement *s)
{
	struct look *l = r->user;

	if (l->rec && l->rec->is_recording && !l->rec->nested &&
	    (s->shape == RP_LOOP || s->shape == RP_END))
		fl_rp_record_mark(l->rec, r, s, false,
				  (int)fl_rp_record_now(l->rec)->marks.size);
	return true;
}

static void entered(struct rp_run *r, int function)
{
	struct look *l = r->user;

	if (l->rec)
		fl_rp_record_call(l->rec, r, function);
}

static void event(struct rp_run *r, struct rp_event e)
{
	struct look *l = r->user;

	if (l->rec)
		fl_rp_record_event(l->rec, e);
}

static void done(struct rp_run *r, int op)
{
	struct look *l = r->user;

	if (l->covered)
		l->covered[op] = true;
}

struct digest {
	const struct rp_program *p;
	const struct rp_state *s;
	bool seen[256];
	uint64_t hash;
};

static void add(struct digest *d, int64_t value)
{
	d->hash = (d->hash ^ (uint64_t)value) * 0x100000001b3;
	d->hash ^= d->hash >> 29;
}

static void add_value(struct digest *d, int64_t value, int type)
{
	const struct rp_node *n;

	add(d, value);
	if (type < 0 || value < 1 || value > (int64_t)d->s->nodes.size || value > 255 ||
	    d->seen[value])
		return;
	d->seen[value] = true;
	n = &d->s->nodes.data[value - 1];
	add(d, n->is_freed);
	for (size_t k = 0; !n->is_freed && k < d->p->records.data[n->record].fields.size;
	     k++)
		add_value(d, n->fields[k],
			  d->p->records.data[n->record].fields.data[k].type);
}

/* Of what globals lead to, and of what was freed. */
static uint64_t digest(const struct rp_program *p, const struct rp_state *s)
{
	struct digest d = { .p = p, .s = s, .hash = 0xcbf29ce484222325 };

	for (size_t i = 0; i < p->variables.size; i++)
		if (p->variables.data[i].function == RP_NONE)
			add_value(&d, s->globals.data[i], p->variables.data[i].type);
	for (size_t i = 0; i < s->nodes.size; i++)
		add(&d, s->nodes.data[i].is_freed);
	return d.hash | 1;
}

uint64_t bench_repair_run(struct repair_subject *s, size_t i, bool *covered,
			  struct rp_recorder *rec)
{
	struct look l = { s, rec, covered };
	struct rp_run r = { .p = s->p,
			    .user = &l,
			    .inputs = s->inputs[i],
			    .n_inputs = REPAIR_INPUTS,
			    .most_steps = MOST_STEPS,
			    .watch = { .before = before,
				       .event = event,
				       .entered = entered,
				       .done = done } };
	struct err *err = fl_rp_state_init(&r.state, s->p);
	uint64_t ret = 0;

	if (!err && fl_rp_run(&r, s->test) == RP_RAN && !r.has_failed)
		ret = digest(s->p, &r.state);
	err_destroy(err);
	fl_rp_run_deinit(&r);
	return ret;
}

/* ---- the drawing ------------------------------------------------------------------------------- */

static unsigned count_covered(const struct repair_subject *s, const bool *covered)
{
	unsigned n = 0;

	for (size_t i = 0; i < s->p->ops.size; i++)
		n += covered[i] && s->p->ops.data[i].function == s->number;
	return n;
}

/* A test that executes as much of the function as any does, and is not large. */
static bool draw_states(struct repair_subject *s, struct repair_version *v)
{
	bool *covered = malloc(s->p->ops.size + 1);

	for (int k = 0; covered && k < MOST_TRIES; k++) {
		size_t i = bench_repair_draw(s, REPAIR_TESTS);
		struct rp_recorder rec = { .function = s->number };
		const struct rp_witness *w;

		memset(covered, 0, s->p->ops.size + 1);
		if (!bench_repair_run(s, i, covered, &rec) || rec.has_failed ||
		    rec.witnesses.size != 1) {
			fl_rp_recorder_deinit(&rec);
			continue;
		}
		w = &rec.witnesses.data[0];
		if (count_covered(s, covered) >= s->most_covered &&
		    (k > MOST_TRIES / 20 ||
		     w->marks.data[w->marks.size - 1].state.nodes.size <= MOST_NODES)) {
			v->rec = rec;
			free(covered);
			return true;
		}
		fl_rp_recorder_deinit(&rec);
	}
	free(covered);
	return false;
}

bool bench_repair_draw_more(struct repair_subject *s, struct repair_version *v)
{
	struct repair_version more = {};
	struct rp_op broken[REPAIR_FAULTS];
	bool is_drawn;

	for (int i = 0; i < v->n_faults; i++) {
		broken[i] = s->p->ops.data[v->ops[i]];
		s->p->ops.data[v->ops[i]] = v->was[i];
	}
	is_drawn = draw_states(s, &more) &&
		   !vec_add(&v->rec.witnesses, more.rec.witnesses.data[0]);
	if (is_drawn)
		vec_deinit(&more.rec.witnesses);
	else
		fl_rp_recorder_deinit(&more.rec);
	for (int i = 0; i < v->n_faults; i++)
		s->p->ops.data[v->ops[i]] = broken[i];
	return is_drawn;
}

/* ---- faults ------------------------------------------------------------------------------------ */

typedef VEC(struct rp_ref) refs;

/* What may stand at @p at in place of @p r: another variable or field of its type. */
static void gather(const struct repair_subject *s, const struct rp_ref *r, int type,
		   unsigned at, refs *ret)
{
	const struct rp_program *p = s->p;

	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		struct rp_ref new = { .var = (int)i, .field = RP_NONE, .at = r->at };
		bool is_base = (int)i == r->var;

		if (!fl_rp_in_scope(p, (int)i, s->number, at) && !is_base)
			continue;
		if (v->type == type && !is_base && !v->is_hidden)
			vec_add(ret, new);
		for (size_t k = 0;
		     v->type >= 0 && k < p->records.data[v->type].fields.size; k++) {
			new.field = (int)k;
			if (p->records.data[v->type].fields.data[k].type == type &&
			    (!is_base || r->field != (int)k))
				vec_add(ret, new);
		}
	}
}

static bool is_hidden(const struct repair_subject *s, const struct rp_ref *r)
{
	return r->var != RP_NONE && s->p->variables.data[r->var].is_hidden;
}

static bool can_break(const struct repair_subject *s, const struct rp_op *op)
{
	return op->function == s->number && !op->is_fixed && !op->is_removed &&
	       (op->kind == RP_ASSIGN || op->kind == RP_TEST);
}

/* Another variable or field in a part of operation @p number. */
static bool change(struct repair_subject *s, int number)
{
	struct rp_op *op = &s->p->ops.data[number];
	struct rp_ref *parts[] = { &op->dst, &op->a, &op->b };
	unsigned part = bench_repair_draw(s, 3);
	struct rp_ref *r = parts[part];
	refs to = {};
	bool is_done = false;

	// What is loaded for the statement itself has no other name; no constant is changed.
	if ((part == 0 && (op->kind == RP_TEST || is_hidden(s, r))) ||
	    (part == 2 && op->sign == RP_PLAIN) || r->var == RP_NONE)
		return false;
	gather(s, r, op->type, op->at.from, &to);
	if (to.size && !(is_hidden(s, r) && r->field == RP_NONE)) {
		*r = to.data[bench_repair_draw(s, (unsigned)to.size)];
		is_done = true;
	}
	vec_deinit(&to);
	return is_done;
}

/* A statement of one assignment, between braces. */
static bool can_go(const struct repair_subject *s, int number)
{
	const struct rp_op *op = &s->p->ops.data[number];

	if (op->kind != RP_ASSIGN || op->is_kept || is_hidden(s, &op->dst) ||
	    is_hidden(s, &op->a) || (op->sign != RP_PLAIN && is_hidden(s, &op->b)))
		return false;
	for (size_t i = 0; i < s->p->blocks.size; i++) {
		const struct rp_block *b = s->p->blocks.data[i];

		for (size_t k = 0; b->is_braced && k < b->list.size; k++)
			if (b->list.data[k]->shape == RP_OPS &&
			    b->list.data[k]->ops.size == 1 &&
			    b->list.data[k]->ops.data[0] == number)
				return true;
	}
	return false;
}

static bool is_seen(struct repair_subject *s, const struct repair_version *v)
{
	char why[200];

	return !fl_rp_check(s->p, &v->rec.witnesses.data[0], why, sizeof(why));
}

static bool is_among(const struct repair_version *v, int number)
{
	for (int i = 0; i < v->n_faults; i++)
		if (v->ops[i] == number)
			return true;
	return false;
}

/* One fault, which alone is seen. It is left out of the program again. */
static bool find_fault(struct repair_subject *s, struct repair_version *v, bool deletes,
		       struct rp_op *ret)
{
	for (int k = 0; k < MOST_TRIES; k++) {
		int number = (int)bench_repair_draw(s, (unsigned)s->p->ops.size);
		struct rp_op *op = &s->p->ops.data[number], was = *op;
		bool is_found;

		if (!can_break(s, op) || is_among(v, number) ||
		    (deletes && !can_go(s, number)))
			continue;
		if (deletes)
			op->is_removed = true;
		is_found = (deletes || change(s, number)) && is_seen(s, v);
		*ret = *op;
		*op = was;
		if (is_found) {
			v->ops[v->n_faults] = number;
			return true;
		}
	}
	return false;
}

bool bench_repair_break(struct repair_subject *s, const struct repair_class *c,
			struct repair_version *v)
{
	struct rp_op broken[REPAIR_FAULTS];

	*v = (struct repair_version){ .n_changed = c->changed };
	if (!draw_states(s, v))
		return false;
	for (; v->n_faults < c->changed + c->deleted; v->n_faults++) {
		if (!find_fault(s, v, v->n_faults >= c->changed, &broken[v->n_faults]))
			break;
		v->was[v->n_faults] = s->p->ops.data[v->ops[v->n_faults]];
	}
	for (int i = 0; i < v->n_faults; i++)
		s->p->ops.data[v->ops[i]] = broken[i];
	return v->n_faults == c->changed + c->deleted && is_seen(s, v);
}

void bench_repair_mend(struct repair_subject *s, struct repair_version *v)
{
	for (int i = 0; i < v->n_faults; i++)
		s->p->ops.data[v->ops[i]] = v->was[i];
	fl_rp_recorder_deinit(&v->rec);
}
