// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <assert.h>
#include <string.h>

#include "faultlocate/repair/values.h"

/* ---- truths ------------------------------------------------------------------------------- */

struct rp_sb fl_rp_truth(bool is)
{
	return (struct rp_sb){ is, NULL };
}

static struct rp_sb term(smt_term t)
{
	return (struct rp_sb){ -1, t };
}

struct rp_sb fl_rp_not(struct rp_walk *w, struct rp_sb a)
{
	return a.known >= 0 ? fl_rp_truth(!a.known) : term(smt_not(w->s, a.t));
}

struct rp_sb fl_rp_and(struct rp_walk *w, struct rp_sb a, struct rp_sb b)
{
	if (!a.known || !b.known)
		return fl_rp_truth(false);
	if (a.known == 1)
		return b;
	return b.known == 1 ? a : term(smt_and(w->s, a.t, b.t));
}

struct rp_sb fl_rp_or(struct rp_walk *w, struct rp_sb a, struct rp_sb b)
{
	if (a.known == 1 || b.known == 1)
		return fl_rp_truth(true);
	if (!a.known)
		return b;
	return !b.known ? a : term(smt_or(w->s, a.t, b.t));
}

bool fl_rp_same(struct rp_sb a, struct rp_sb b)
{
	return a.known == b.known && a.t == b.t;
}

void fl_rp_require(struct rp_walk *w, struct rp_sb a, const char *why, int line)
{
	if (a.known < 0) {
		smt_assert(w->s, a.t);
	} else if (!a.known && !w->is_contradictory) {
		w->is_contradictory = true;
		snprintf(w->why, sizeof(w->why), line ? "%s (line %d)" : "%s", why, line);
	}
}

static void require_if(struct rp_walk *w, struct rp_sb path, struct rp_sb a,
		       const char *why, int line)
{
	fl_rp_require(w, fl_rp_or(w, fl_rp_not(w, path), a), why, line);
	if (!w->s && w->steps.size && path.known == 1 && !a.known)
		w->steps.data[w->steps.size - 1].has_crashed = true;
}

/* ---- values ------------------------------------------------------------------------------- */

struct rp_sv fl_rp_known(int64_t value)
{
	return (struct rp_sv){ false, value, NULL };
}

/* The unknown is the least number: no program that fits has it. */
smt_term fl_rp_term(struct rp_walk *w, struct rp_sv v)
{
	if (v.is_term)
		return v.t;
	return smt_number(w->s, v.c == RP_UNKNOWN ? -(1l << (w->bits - 1)) : v.c);
}

static struct rp_sb equal(struct rp_walk *w, struct rp_sv a, struct rp_sv b)
{
	if (!a.is_term && !b.is_term)
		return fl_rp_truth(a.c == b.c);
	if (a.is_term && b.is_term && a.t == b.t)
		return fl_rp_truth(true);
	return term(smt_eq(w->s, fl_rp_term(w, a), fl_rp_term(w, b)));
}

static struct rp_sv choose(struct rp_walk *w, struct rp_sb is, struct rp_sv then,
			   struct rp_sv otherwise)
{
	if (is.known >= 0)
		return is.known ? then : otherwise;
	if (!then.is_term && !otherwise.is_term && then.c == otherwise.c)
		return then;
	if (then.is_term && otherwise.is_term && then.t == otherwise.t)
		return then;
	return (struct rp_sv){
		true, 0, smt_if(w->s, is.t, fl_rp_term(w, then), fl_rp_term(w, otherwise))
	};
}

static struct rp_sb is_assigned(struct rp_walk *w, struct rp_sv v)
{
	return fl_rp_not(w, equal(w, v, fl_rp_known(RP_UNKNOWN)));
}

static struct rp_sv *variable(struct rp_walk *w, int var)
{
	return w->p->variables.data[var].function == RP_NONE ? &w->globals[var] :
							       &w->frame[var];
}

/* Is @p base a node of @p record with fields? */
static struct rp_sb is_node(struct rp_walk *w, struct rp_sv base, int record)
{
	struct rp_sb any = fl_rp_truth(false);

	for (size_t i = 0; i < w->nodes.size; i++) {
		struct rp_snode *n = &w->nodes.data[i];

		if (n->record == record)
			any = fl_rp_or(
				w, any,
				fl_rp_and(w, equal(w, base, fl_rp_known((int64_t)i + 1)),
					  equal(w, n->freed, fl_rp_known(0))));
	}
	return any;
}

static struct rp_sv load_field(struct rp_walk *w, struct rp_sv base, int record,
			       int field)
{
	struct rp_sv v = fl_rp_known(RP_UNKNOWN);

	for (size_t i = 0; i < w->nodes.size; i++)
		if (w->nodes.data[i].record == record)
			v = choose(w, equal(w, base, fl_rp_known((int64_t)i + 1)),
				   w->nodes.data[i].fields[field], v);
	return v;
}

/* What @p r has, and whether it has anything. */
static struct rp_sv look(struct rp_walk *w, const struct rp_ref *r,
			 struct rp_sb *is_there)
{
	struct rp_sv v;
	int record;

	*is_there = fl_rp_truth(true);
	if (r->var == RP_NONE)
		return fl_rp_known(r->value);
	v = *variable(w, r->var);
	if (r->field == RP_NONE)
		return v;
	record = w->p->variables.data[r->var].type;
	*is_there = is_node(w, v, record);
	return load_field(w, v, record, r->field);
}

struct rp_sv fl_rp_load(struct rp_walk *w, const struct rp_ref *r, struct rp_sb path,
			const struct rp_op *op)
{
	struct rp_sb is_there;
	struct rp_sv v = look(w, r, &is_there);

	require_if(w, path, is_there, "a field of what is no node", op->line);
	return v;
}

static void store_if(struct rp_walk *w, struct rp_sv *to, struct rp_sb is, struct rp_sv v)
{
	*to = choose(w, is, v, *to);
}

/* ---- what the localisation reads ------------------------------------------------------------- */

uint64_t fl_rp_place_of_variable(const struct rp_walk *w, int var)
{
	bool is_global = w->p->variables.data[var].function == RP_NONE;

	return (uint64_t)(is_global ? 0 : w->frame_number + 1) << 32 | (unsigned)var;
}

uint64_t fl_rp_place_of_field(int64_t node, int field)
{
	return 1ul << 63 | (uint64_t)node << 32 | (unsigned)field;
}

/* Where @p r is kept. @return whether it is anywhere. */
static bool place_of(const struct rp_walk *w, const struct rp_ref *r, uint64_t *ret)
{
	struct rp_sv base;

	*ret = fl_rp_place_of_variable(w, r->var);
	if (r->field == RP_NONE)
		return true;
	base = *variable((struct rp_walk *)w, r->var);
	*ret = fl_rp_place_of_field(base.c, r->field);
	return base.c >= 1 && base.c <= (int64_t)w->nodes.size;
}

static void note_read(const struct rp_walk *w, struct rp_step *step,
		      const struct rp_ref *r, bool is_base)
{
	struct rp_ref base = *r;

	if (r->var == RP_NONE)
		return;
	base.field = RP_NONE;
	if (!is_base || r->field != RP_NONE)
		step->n_reads += place_of(w, &base, &step->reads[step->n_reads]);
	if (!is_base && r->field != RP_NONE)
		step->n_reads += place_of(w, r, &step->reads[step->n_reads]);
}

void fl_rp_step_begin(struct rp_walk *w, int number, struct rp_sb path)
{
	const struct rp_op *op = &w->p->ops.data[number];
	struct rp_step step = { .op = number, .type = op->type };

	if (w->s || !path.known)
		return;
	if (op->kind == RP_ASSIGN || op->kind == RP_TEST || op->kind == RP_FREE)
		note_read(w, &step, &op->a, false);
	if (op->sign != RP_PLAIN)
		note_read(w, &step, &op->b, false);
	if (op->kind != RP_TEST && op->kind != RP_FREE)
		note_read(w, &step, &op->dst, true);
	if (vec_add(&w->steps, step))
		w->has_failed = true;
}

static void note_store(struct rp_walk *w, const struct rp_ref *r, struct rp_sv v,
		       struct rp_sb path)
{
	struct rp_step *step = w->steps.size ? &w->steps.data[w->steps.size - 1] : NULL;
	const struct rp_sv *now;

	if (w->s || !step || !path.known)
		return;
	step->has_place = place_of(w, r, &step->place);
	step->after = v;
	if (!step->has_place)
		return;
	now = r->field == RP_NONE ?
		      variable(w, r->var) :
		      &w->nodes.data[variable(w, r->var)->c - 1].fields[r->field];
	step->before = *now;
}

/* ---- operations as they are ------------------------------------------------------------------ */

void fl_rp_store(struct rp_walk *w, const struct rp_ref *r, struct rp_sv v,
		 struct rp_sb path, const struct rp_op *op)
{
	struct rp_sv base;
	int record;

	note_store(w, r, v, path);
	if (r->field == RP_NONE) {
		store_if(w, variable(w, r->var), path, v);
		return;
	}
	base = *variable(w, r->var);
	record = w->p->variables.data[r->var].type;
	require_if(w, path, is_node(w, base, record), "a field of what is no node",
		   op->line);
	for (size_t i = 0; i < w->nodes.size; i++)
		if (w->nodes.data[i].record == record)
			store_if(w, &w->nodes.data[i].fields[r->field],
				 fl_rp_and(w, path,
					   equal(w, base, fl_rp_known((int64_t)i + 1))),
				 v);
}

void fl_rp_free(struct rp_walk *w, struct rp_sv node, struct rp_sb path,
		const struct rp_op *op)
{
	struct rp_sb fits = equal(w, node, fl_rp_known(0));

	for (size_t i = 0; i < w->nodes.size; i++) {
		struct rp_sb is = equal(w, node, fl_rp_known((int64_t)i + 1));

		fits = fl_rp_or(
			w, fits,
			fl_rp_and(w, is,
				  equal(w, w->nodes.data[i].freed, fl_rp_known(0))));
		store_if(w, &w->nodes.data[i].freed, fl_rp_and(w, path, is),
			 fl_rp_known(1));
	}
	require_if(w, path, fits, "freed twice, or no node", op->line);
}

static int64_t compute(enum rp_sign sign, int64_t a, int64_t b)
{
	switch (sign) {
	case RP_ADD:
		return (int32_t)(a + b);
	case RP_SUB:
		return (int32_t)(a - b);
	case RP_MUL:
		return (int32_t)(a * b);
	case RP_DIV:
		return b ? a / b : RP_UNKNOWN;
	case RP_MOD:
		return b ? a % b : RP_UNKNOWN;
	default:
		return a;
	}
}

static struct rp_sv sum(struct rp_walk *w, enum rp_sign sign, struct rp_sv a,
			struct rp_sv b)
{
	static smt_term (*const make[])(struct smt *, smt_term, smt_term) = {
		[RP_ADD] = smt_add, [RP_SUB] = smt_sub, [RP_MUL] = smt_mul,
		[RP_DIV] = smt_div, [RP_MOD] = smt_mod,
	};

	if (sign == RP_PLAIN)
		return a;
	if ((!a.is_term && a.c == RP_UNKNOWN) || (!b.is_term && b.c == RP_UNKNOWN))
		return fl_rp_known(RP_UNKNOWN);
	if (!a.is_term && !b.is_term)
		return fl_rp_known(compute(sign, a.c, b.c));
	return (struct rp_sv){ true, 0,
			       make[sign](w->s, fl_rp_term(w, a), fl_rp_term(w, b)) };
}

static struct rp_sb less(struct rp_walk *w, struct rp_sv a, struct rp_sv b, bool or_equal)
{
	if (!a.is_term && !b.is_term)
		return fl_rp_truth(or_equal ? a.c <= b.c : a.c < b.c);
	return term(
		(or_equal ? smt_le : smt_lt)(w->s, fl_rp_term(w, a), fl_rp_term(w, b)));
}

static struct rp_sb compare(struct rp_walk *w, enum rp_sign sign, struct rp_sv a,
			    struct rp_sv b)
{
	switch (sign) {
	case RP_EQ:
		return equal(w, a, b);
	case RP_NE:
		return fl_rp_not(w, equal(w, a, b));
	case RP_LT:
	case RP_LE:
		return less(w, a, b, sign == RP_LE);
	default:
		return less(w, b, a, sign == RP_GE);
	}
}

/* ---- choices ---------------------------------------------------------------------------------- */

/* What the chosen of @p part has, of options of @p type; its conditions are required. */
static struct rp_sv load_choice(struct rp_walk *w, const struct rp_choice *c,
				enum rp_part part, int type, struct rp_sb path)
{
	struct rp_sv v = fl_rp_known(RP_UNKNOWN);

	for (size_t i = 0; i < c->parts[part].size; i++) {
		const struct rp_option *o = &c->parts[part].data[i];
		struct rp_sb is = term(o->chosen), is_there;
		struct rp_sv has;

		if (o->type != type)
			continue;
		has = look(w, &o->ref, &is_there);
		require_if(w, fl_rp_and(w, path, is),
			   fl_rp_and(w, is_there, is_assigned(w, has)), "", c->line);
		v = choose(w, is, has, v);
	}
	return v;
}

/* An operand: as it is, or what is chosen. */
static struct rp_sv load_part(struct rp_walk *w, const struct rp_choice *c,
			      enum rp_part part, const struct rp_op *op,
			      struct rp_sb path)
{
	const struct rp_ref *r = part == RP_PART_A ? &op->a : &op->b;
	struct rp_sv v;

	if (c && c->parts[part].size)
		return load_choice(w, c, part, op->type, path);
	v = fl_rp_load(w, r, path, op);
	require_if(w, path, is_assigned(w, v), "a value that was never assigned",
		   op->line);
	return v;
}

/* To the chosen destination of @p type. */
static void store_choice(struct rp_walk *w, const struct rp_choice *c, int type,
			 struct rp_sv v, struct rp_sb path)
{
	for (size_t i = 0; i < c->parts[RP_PART_DST].size; i++) {
		const struct rp_option *o = &c->parts[RP_PART_DST].data[i];
		struct rp_sb is = fl_rp_and(w, path, term(o->chosen));
		struct rp_sv base;
		int record;

		if (o->type != type)
			continue;
		if (o->ref.field == RP_NONE) {
			store_if(w, variable(w, o->ref.var), is, v);
			continue;
		}
		// A pointer that is assigned here keeps what it had for the other options.
		base = *variable(w, o->ref.var);
		record = w->p->variables.data[o->ref.var].type;
		require_if(w, is, is_node(w, base, record), "", c->line);
		for (size_t n = 0; n < w->nodes.size; n++)
			if (w->nodes.data[n].record == record)
				store_if(w, &w->nodes.data[n].fields[o->ref.field],
					 fl_rp_and(w, is,
						   equal(w, base,
							 fl_rp_known((int64_t)n + 1))),
					 v);
	}
}

void fl_rp_assign(struct rp_walk *w, int number, struct rp_sb path)
{
	const struct rp_op *op = &w->p->ops.data[number];
	const struct rp_choice *c = w->of_op ? w->of_op[number] : NULL;
	struct rp_sv a, b = fl_rp_known(0), v;

	if (c && c->removed)
		path = fl_rp_and(w, path, fl_rp_not(w, term(c->removed)));
	a = load_part(w, c, RP_PART_A, op, path);
	if (op->sign != RP_PLAIN)
		b = load_part(w, c, RP_PART_B, op, path);
	v = sum(w, op->sign, a, b);
	if (c && c->parts[RP_PART_DST].size)
		store_choice(w, c, op->type, v, path);
	else
		fl_rp_store(w, &op->dst, v, path, op);
}

struct rp_sb fl_rp_test(struct rp_walk *w, int number, struct rp_sb path)
{
	const struct rp_op *op = &w->p->ops.data[number];
	const struct rp_choice *c = w->of_op ? w->of_op[number] : NULL;
	struct rp_sv a = load_part(w, c, RP_PART_A, op, path);
	struct rp_sv b = load_part(w, c, RP_PART_B, op, path);
	struct rp_sb is = fl_rp_truth(false);

	if (!c)
		return compare(w, op->sign, a, b);
	for (size_t i = 0; i < c->parts[RP_PART_SIGN].size; i++) {
		const struct rp_option *o = &c->parts[RP_PART_SIGN].data[i];

		is = fl_rp_or(w, is,
			      fl_rp_and(w, term(o->chosen), compare(w, o->sign, a, b)));
	}
	return is;
}

/* `d = a`, or of numbers `d = a + b`: in each type that there is. */
void fl_rp_insert(struct rp_walk *w, struct rp_choice *c, struct rp_sb path)
{
	struct rp_sv a, b, v;

	path = fl_rp_and(w, path, term(c->active));
	for (int type = RP_INT; type < (int)w->p->records.size; type++) {
		bool is_there = false;

		for (size_t i = 0; i < c->parts[RP_PART_DST].size; i++)
			is_there = is_there || c->parts[RP_PART_DST].data[i].type == type;
		if (!is_there)
			continue;
		a = load_choice(w, c, RP_PART_A, type, path);
		v = a;
		if (type == RP_INT && c->parts[RP_PART_SIGN].size) {
			b = load_choice(w, c, RP_PART_B, type, path);
			for (size_t i = 0; i < c->parts[RP_PART_SIGN].size; i++) {
				const struct rp_option *o =
					&c->parts[RP_PART_SIGN].data[i];

				v = choose(w, term(o->chosen), sum(w, o->sign, a, b), v);
			}
		}
		store_choice(w, c, type, v, path);
	}
}

/* ---- states ------------------------------------------------------------------------------------- */

static bool take_state(struct rp_walk *w, const struct rp_state *s)
{
	for (size_t i = 0; i < w->p->variables.size; i++) {
		w->globals[i] = fl_rp_known(s->globals.data[i]);
		w->frame[i] = fl_rp_known(s->frame.data[i]);
	}
	for (size_t i = 0; i < s->nodes.size; i++) {
		const struct rp_node *from = &s->nodes.data[i];
		size_t n = w->p->records.data[from->record].fields.size;
		struct rp_snode node = { from->record, fl_rp_known(from->is_freed),
					 arena_alloc(&w->arena,
						     (n + 1) * sizeof(struct rp_sv)) };

		for (size_t k = 0; node.fields && k < n; k++)
			node.fields[k] = fl_rp_known(from->fields[k]);
		if (!node.fields || vec_add(&w->nodes, node))
			return false;
	}
	return true;
}

bool fl_rp_walk_begin(struct rp_walk *w)
{
	size_t bytes = (w->p->variables.size + 1) * sizeof(struct rp_sv);

	w->globals = arena_alloc(&w->arena, bytes);
	w->frame = arena_alloc(&w->arena, bytes);
	if (!w->globals || !w->frame || !take_state(w, &w->w->before))
		w->has_failed = true;
	return !w->has_failed;
}

/* Entity @p is has to be @p asked, and is from now on, unless that is unknown. */
static void meet(struct rp_walk *w, const struct rp_mark *m, struct rp_sv *is,
		 int64_t asked, const char *what)
{
	char why[128];

	if (asked == RP_UNKNOWN)
		return;
	snprintf(why, sizeof(why), "'spec' %d has another %s", m->number, what);
	if (!m->is_change)
		fl_rp_require(w, equal(w, *is, fl_rp_known(asked)), why, 0);
	*is = fl_rp_known(asked);
}

static void meet_state(struct rp_walk *w, const struct rp_mark *m, unsigned at)
{
	const struct rp_state *s = &m->state;

	for (size_t i = 0; i < w->p->variables.size; i++) {
		const struct rp_variable *v = &w->p->variables.data[i];
		bool is_result = w->p->functions.data[w->function].result == (int)i;

		if (is_result || fl_rp_in_scope(w->p, (int)i, w->function, at))
			meet(w, m, variable(w, (int)i),
			     v->function == RP_NONE ? s->globals.data[i] :
						      s->frame.data[i],
			     v->name);
	}
	for (size_t i = 0; i < s->nodes.size && i < w->nodes.size; i++) {
		const struct rp_node *n = &s->nodes.data[i];
		const struct rp_record *r = &w->p->records.data[n->record];

		meet(w, m, &w->nodes.data[i].freed, n->is_freed, "set of freed nodes");
		for (size_t k = 0; k < r->fields.size && !n->is_freed; k++)
			meet(w, m, &w->nodes.data[i].fields[k], n->fields[k],
			     r->fields.data[k].name);
	}
}

void fl_rp_pass_mark(struct rp_walk *w, const struct rp_statement *s, struct rp_sb path)
{
	while (w->mark < w->w->marks.size) {
		const struct rp_mark *m = &w->w->marks.data[w->mark];

		if (m->events != w->event || m->statement != s->id)
			break;
		fl_rp_require(w, path, "this place was not come by", s->line);
		if (!w->s && w->at_mark)
			w->at_mark(w, m);
		meet_state(w, m, s->shape == RP_END ? s->at.to : s->at.from);
		w->steps.size = w->gaps.size = 0;
		w->mark++;
	}
	if (w->w->stop_statement == s->id && w->w->stop_events == w->event)
		w->is_done = true;
}
