// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Facts about all states that can be reached.
 */
#include <string.h>

#include "base/err.h"
#include "faultlocate/linear/facts.h"

enum {
	MOST_WRITES = 256,	///< to one memory, in two sub-operations or Initialize()
	MOST_STEPS = 2000000,	///< of Z3, for a question
	NEW_AT_FIRST = 1 << 30, ///< things that Initialize() makes, by variable
};

void *fl_lin_facts_need(struct facts *f, size_t bytes)
{
	void *at = arena_alloc(&f->arena, bytes ? bytes : 1);

	f->is_out_of_memory |= !at;
	return at;
}

/* ---- expressions and steps as terms ---------------------------------------------------------- */

static smt_term both(struct facts *f, smt_term a, smt_term b)
{
	return !a ? b : smt_and(f->smt, a, b);
}

smt_term fl_lin_facts_memory_at(struct facts *f, const struct memory *m, smt_term at)
{
	smt_term has = smt_select(f->smt, m->before, at);
	const struct written *all[MOST_WRITES];
	size_t n = 0;

	for (const struct written *w = m->last; w; w = w->earlier)
		all[n++] = w;
	while (n--)
		has = smt_if(f->smt, smt_eq(f->smt, at, all[n]->at), all[n]->value, has);
	return has;
}

void fl_lin_facts_memory_write(struct facts *f, struct memory *m, smt_term at,
			       smt_term value)
{
	struct written *w = fl_lin_facts_need(f, sizeof(*w));
	size_t n = 1;

	for (const struct written *e = m->last; e; e = e->earlier)
		n++;
	f->is_too_large |= n > MOST_WRITES;
	if (!w || n > MOST_WRITES)
		return;
	*w = (struct written){ at, value, m->last };
	m->last = w;
}

static smt_term compare(struct facts *f, enum spec_compare how, smt_term a, smt_term b)
{
	switch (how) {
	case STEP_EQ:
		return smt_eq(f->smt, a, b);
	case STEP_NE:
		return smt_not(f->smt, smt_eq(f->smt, a, b));
	case STEP_LT:
		return smt_lt(f->smt, a, b);
	case STEP_LE:
		return smt_le(f->smt, a, b);
	case STEP_GT:
		return smt_lt(f->smt, b, a);
	default:
		return smt_le(f->smt, b, a);
	}
}

static smt_term value_of(struct facts *f, const struct spec_step_expr *e,
			 const struct instance *i, const struct state *s,
			 smt_term *valid);

/* What is a pointer is a name, unless a pointer and a number meet somewhere. */
static enum smt_sort sort_of(const struct facts *f, int type)
{
	return type >= 0 && !f->is_mixed ? SMT_NAME : SMT_INT;
}

static smt_term number(struct facts *f, int64_t value, int type)
{
	return sort_of(f, type) == SMT_NAME ? smt_name(f->smt, value) :
					      smt_number(f->smt, value);
}

smt_term fl_lin_facts_var(struct facts *f, int type, const char *name)
{
	return smt_var(f->smt, sort_of(f, type), name);
}

/* @p e, or a number of the type of @p other. */
static smt_term value_beside(struct facts *f, const struct spec_step_expr *e,
			     const struct spec_step_expr *other, const struct instance *i,
			     const struct state *s, smt_term *valid)
{
	return e->op == STEP_NUMBER ?
		       number(f, e->value, fl_lin_facts_type(f, other, i->of)) :
		       value_of(f, e, i, s, valid);
}

/* STEP_COMPARE, STEP_BOTH, STEP_ANY: of any thing is of those that the question is about, among them one
 * that may be any. */
static smt_term is_so(struct facts *f, const struct spec_step_expr *e,
		      const struct instance *i, const struct state *s)
{
	struct instance with;
	smt_term any;

	if (e->op == STEP_COMPARE)
		return compare(f, (enum spec_compare)e->value,
			       value_beside(f, e->a, e->b, i, s, NULL),
			       value_beside(f, e->b, e->a, i, s, NULL));
	if (e->op == STEP_BOTH)
		return smt_and(f->smt, is_so(f, e->a, i, s), is_so(f, e->b, i, s));
	with = fl_lin_facts_instance_copy(f, i);
	any = smt_truth(f->smt, false);
	for (size_t k = 0; f->asked && k < f->asked->things.size && with.local; k++) {
		smt_term is = f->asked->things.data[k].is, there;

		with.local[e->value] = is;
		there = smt_not(f->smt,
				smt_eq(f->smt, is,
				       number(f, 0, i->of->locals[e->value].type)));
		any = smt_or(f->smt, any,
			     smt_and(f->smt, there, is_so(f, e->a, &with, s)));
	}
	return f->asked ? any : smt_var(f->smt, SMT_BOOL, "any");
}

/* @p valid gets what must hold for it to be asked for: nothing is behind NULL. */
static smt_term value_of(struct facts *f, const struct spec_step_expr *e,
			 const struct instance *i, const struct state *s, smt_term *valid)
{
	smt_term a;

	switch (e->op) {
	case STEP_NUMBER:
		return smt_number(f->smt, e->value);
	case STEP_ID:
		return i->id;
	case STEP_GLOBAL:
		return s->global[e->value];
	case STEP_LOCAL:
		return i->local[e->value];
	case STEP_MEMORY:
		a = value_of(f, e->a, i, s, valid);
		if (valid && f->s->memories[e->value].of != SPEC_TYPE_INT)
			*valid = both(
				f, *valid,
				smt_not(f->smt,
					smt_eq(f->smt, a,
					       number(f, 0,
						      f->s->memories[e->value].of))));
		return fl_lin_facts_memory_at(f, &s->memory[e->value], a);
	case STEP_COMPARE:
	case STEP_BOTH:
	case STEP_ANY:
		return smt_if(f->smt, is_so(f, e, i, s), smt_number(f->smt, 1),
			      smt_number(f->smt, 0));
	case STEP_ADD:
		a = value_of(f, e->a, i, s, valid);
		return smt_add(f->smt, a, value_of(f, e->b, i, s, valid));
	default:
		a = value_of(f, e->a, i, s, valid);
		return smt_sub(f->smt, a, value_of(f, e->b, i, s, valid));
	}
}

static void assign(struct facts *f, const struct spec_step_expr *to, smt_term value,
		   struct instance *i, struct state *s, smt_term *valid)
{
	if (to->op == STEP_LOCAL) {
		i->local[to->value] = value;
	} else if (to->op == STEP_GLOBAL) {
		s->global[to->value] = value;
	} else {
		smt_term at = value_of(f, to->a, i, s, valid);

		if (f->s->memories[to->value].of != SPEC_TYPE_INT)
			*valid = both(
				f, *valid,
				smt_not(f->smt,
					smt_eq(f->smt, at,
					       number(f, 0,
						      f->s->memories[to->value].of))));
		fl_lin_facts_memory_write(f, &s->memory[to->value], at, value);
	}
}

static void watch(struct facts *f, const struct spec_step *of, size_t index,
		  smt_term holds)
{
	struct facts_condition c = { of, index, holds };

	if (f->watched && vec_add(f->watched, c))
		f->is_out_of_memory = true;
}

static smt_term do_steps(struct facts *f, const struct spec_step *steps, size_t n,
			 struct instance *i, struct state *s, fl_lin_facts_seen *seen)
{
	smt_term valid = smt_truth(f->smt, true);

	for (size_t k = 0; k < n; k++) {
		for (size_t c = 0; c < steps[k].n_conditions; c++) {
			const struct spec_step_condition *it = &steps[k].conditions[c];
			smt_term a = value_beside(f, it->a, it->b, i, s, &valid);
			smt_term b = value_beside(f, it->b, it->a, i, s, &valid);

			a = compare(f, it->compare, a, b);
			valid = both(f, valid, a);
			watch(f, &steps[k], c, a);
		}
		for (size_t c = 0; c < steps[k].n_statements; c++) {
			const struct spec_step_statement *it = &steps[k].statements[c];
			smt_term a;

			if (it->is == STEP_MALLOC) {
				i->local[it->target->value] = i->fresh[it->target->value];
			} else if (it->is == STEP_ASSIGN) {
				a = value_beside(f, it->value, it->target, i, s, &valid);
				assign(f, it->target, a, i, s, &valid);
			} else if (it->is == STEP_READ) {
				a = value_of(f, it->target, i, s, &valid);
				if (seen && vec_add(seen, a))
					f->is_out_of_memory = true;
			}
		}
	}
	return valid;
}

smt_term fl_lin_facts_do(struct facts *f, size_t step, struct instance *i,
			 struct state *s, fl_lin_facts_seen *seen)
{
	const struct fl_lin_step *it = &f->steps->data[step];

	return do_steps(f, fl_lin_steps_operation(f->steps, step)->steps + it->first,
			it->end - it->first, i, s, seen);
}

struct state fl_lin_facts_state_copy(struct facts *f, const struct state *s)
{
	size_t g = f->s->n_globals * sizeof(smt_term),
	       m = f->s->n_memories * sizeof(struct memory);
	struct state copy = { fl_lin_facts_need(f, g), fl_lin_facts_need(f, m) };

	if (copy.global && s)
		memcpy(copy.global, s->global, g);
	if (copy.memory && s)
		memcpy(copy.memory, s->memory, m);
	return copy;
}

struct instance fl_lin_facts_instance_copy(struct facts *f, const struct instance *i)
{
	struct instance copy = *i;

	copy.local = fl_lin_facts_need(f, 64 * sizeof(smt_term));
	if (copy.local)
		memcpy(copy.local, i->local, 64 * sizeof(smt_term));
	return copy;
}

smt_term fl_lin_facts_value(struct facts *f, const struct spec_step_expr *e,
			    const struct spec_step_expr *beside, const struct instance *i,
			    const struct state *s)
{
	return value_beside(f, e, beside, i, s, NULL);
}

smt_term fl_lin_facts_condition(struct facts *f, const struct spec_step_condition *c,
				const struct instance *i, const struct state *s)
{
	return compare(f, c->compare, value_beside(f, c->a, c->b, i, s, NULL),
		       value_beside(f, c->b, c->a, i, s, NULL));
}

/* ---- facts as terms ------------------------------------------------------------------------------ */

static smt_term fact_term(struct facts *f, const struct fact *it,
			  const struct instance *u, const struct instance *v,
			  const struct state *s, smt_term p, smt_term q)
{
	const struct instance *w = it->v == FACT_ALWAYS ? u : v;
	bool is_field = it->is >= FACT_NO_OTHER; // a number beside one is NULL
	smt_term a =
		!it->a ?
			NULL :
		it->a->op == STEP_NUMBER ?
			number(f, it->a->value,
			       is_field ? f->s->memories[it->memory].type :
					  fl_lin_facts_type(f, it->b, w ? w->of : NULL)) :
			value_of(f, it->a, u, s, NULL);
	smt_term b = !it->b ? NULL :
		     it->b->op == STEP_NUMBER && !is_field ?
			      number(f, it->b->value,
				     fl_lin_facts_type(f, it->a, u ? u->of : NULL)) :
			      value_of(f, it->b, w, s, NULL);
	smt_term has;

	if (it->is < FACT_NO_OTHER)
		return compare(f, (enum spec_compare)it->is, a, b);
	has = fl_lin_facts_memory_at(f, &s->memory[it->memory], p);
	if (it->is == FACT_ONE_EACH) {
		a = smt_eq(f->smt, has,
			   fl_lin_facts_memory_at(f, &s->memory[it->memory], q));
		has = smt_eq(f->smt, has, number(f, 0, f->s->memories[it->memory].type));
		return smt_or(f->smt, smt_not(f->smt, a),
			      smt_or(f->smt, has, smt_eq(f->smt, p, q)));
	}
	a = smt_not(f->smt, smt_eq(f->smt, has, a));
	return b ? smt_or(f->smt, a, smt_eq(f->smt, p, b)) : a;
}

/* Does @p it speak of an operation before @p u and one before @p v? */
static bool is_of(const struct fact *it, size_t u, size_t v)
{
	return !it->is_off && it->u == u && it->v == v;
}

/* Has @p t a place in memory @p m? */
static bool can_be_of(const struct facts *f, const struct question_thing *t, size_t m)
{
	return t->type == THING_ANY || t->type == f->s->memories[m].of;
}

/* Comparisons of the same two are proposed in the order EQ, NE, LT, LT of b and a, LE, LE of b and a; one
 * that holds says what the others would. */
static bool is_implied(const struct facts *f, size_t fact)
{
	const struct fact *it = &f->all.data[fact],
			  *first = it - it->place; // where there is one

	switch (it->place) {
	case 1:
		return it->has_order && (!first[2].is_off || !first[3].is_off);
	case 4:
	case 5:
		return !first[0].is_off || !it[-2].is_off;
	default:
		return false;
	}
}

/* @p role: of @p u, 0 or 1; terms are made once. */
static void take(struct facts *f, size_t fact, int role, const struct instance *u,
		 const struct instance *v, const struct question *q)
{
	const struct fact *it = &f->all.data[fact];
	smt_term *term = &f->terms[2 * fact + role];

	if (it->is < FACT_NO_OTHER) {
		if (is_implied(f, fact))
			return;
		if (!*term)
			*term = fact_term(f, it, u, v, &q->now, NULL, NULL);
		smt_assert(f->smt, *term);
		return;
	}
	for (size_t i = 0; i < q->things.size; i++)
		for (size_t k = 0; k < (it->is == FACT_ONE_EACH ? i : 1); k++)
			if (can_be_of(f, &q->things.data[i], it->memory) &&
			    can_be_of(f, &q->things.data[k], it->memory))
				smt_assert(f->smt, fact_term(f, it, u, v, &q->now,
							     q->things.data[i].is,
							     q->things.data[k].is));
}

/* Facts of which there are more the more things there are, or those that there are none of? */
enum taken { COMPARISONS = 1, GENERAL = 2 };

static void take_about(struct facts *f, size_t u, size_t v, int role, int taken,
		       const struct instance *i, const struct instance *k,
		       const struct question *q)
{
	size_t end, fact = fl_lin_facts_about(f, u, v, &end);

	for (; fact < end; fact++) {
		const struct fact *it = &f->all.data[fact];

		if (!it->is_off &&
		    (taken & (it->is < FACT_NO_OTHER ? COMPARISONS : GENERAL)))
			take(f, fact, role, i, k, q);
	}
}

/* All but what is shared. */
static void take_all(struct facts *f, const struct question *q)
{
	size_t u = q->u.before, v = q->v.before;

	take_about(f, FACT_ALWAYS, FACT_ALWAYS, 1, GENERAL, &q->v, NULL, q);
	take_about(f, v, FACT_ALWAYS, 1, GENERAL, &q->v, NULL, q);
	if (!q->has_u)
		return;
	take_about(f, u, FACT_ALWAYS, 0, COMPARISONS | GENERAL, &q->u, NULL, q);
	take_about(f, u, v, 0, COMPARISONS | GENERAL, &q->u, &q->v, q);
	take_about(f, v, u, 1, COMPARISONS | GENERAL, &q->v, &q->u, q);
}

/* Comparisons that hold always, and while @p q's second operation stands where it does: asserted once for
 * all questions about it, until one is dropped. */
static void share(struct facts *f, const struct question *q)
{
	size_t n = f->steps->size, v = q->v.before;
	uint64_t always = f->dropped[n * n + n], of_v = f->dropped[n * n + v];

	if (f->shared_of == v && f->shared_at > always && f->shared_at > of_v)
		return;
	if (f->shared_at)
		smt_pop(f->smt);
	f->shared_of = v;
	f->shared_at = ++f->clock;
	smt_push(f->smt);
	take_about(f, FACT_ALWAYS, FACT_ALWAYS, 1, COMPARISONS, &q->v, NULL, q);
	take_about(f, v, FACT_ALWAYS, 1, COMPARISONS, &q->v, NULL, q);
}

void fl_lin_facts_assert_of(struct facts *f, size_t step, const struct instance *i,
			    const struct state *s)
{
	const size_t of[] = { FACT_ALWAYS, step };

	for (int n = 0; n < 2; n++) {
		size_t end, k = fl_lin_facts_about(f, of[n], FACT_ALWAYS, &end);

		for (; k < end && !f->is_out_of_memory; k++) {
			const struct fact *it = &f->all.data[k];

			if (!it->is_off && it->is < FACT_NO_OTHER && !is_implied(f, k))
				smt_assert(f->smt,
					   fact_term(f, it, i, NULL, s, NULL, NULL));
		}
	}
}

/* ---- a state ---------------------------------------------------------------------------------------- */

static void thing(struct facts *f, struct question *q, smt_term is, int type)
{
	if (vec_add(&q->things, ((struct question_thing){ is, type })))
		f->is_out_of_memory = true;
}

/* An operation before @p before, as the first or second of a question: its terms are always the same. */
static struct instance instance_of(struct facts *f, int role, size_t before)
{
	const struct spec_structure_operation *o = fl_lin_facts_operation(f, before);
	struct instance i = { .before = before, .of = o, .id = f->id[role] };
	const struct fl_lin_step *step = &f->steps->data[before];

	i.local = f->local[role] + step->operation * 64;
	for (size_t k = step->first; k < step->end; k++)
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];

			if (t->is != STEP_MALLOC)
				continue;
			i.fresh[t->target->value] =
				f->fresh[role][step->operation * 64 + t->target->value];
			i.has_fresh |= 1ull << t->target->value;
		}
	return i;
}

/* Does @p i go further than to what its locals lead to? */
static bool is_deep(const struct facts *f, const struct instance *i)
{
	const struct spec_structure_operation *o = fl_lin_facts_operation(f, i->before);
	const struct fl_lin_step *step = &f->steps->data[i->before];

	for (size_t k = step->first; k < step->end; k++) {
		for (size_t c = 0; c < o->steps[k].n_conditions; c++) {
			const struct spec_step_condition *it = &o->steps[k].conditions[c];

			if ((it->a->a && it->a->a->op == STEP_MEMORY) ||
			    (it->b->a && it->b->a->op == STEP_MEMORY))
				return true;
		}
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];

			if (t->is != STEP_ASSIGN)
				continue;
			if ((t->value->op == STEP_MEMORY &&
			     (t->target->op == STEP_LOCAL ||
			      t->value->a->op == STEP_MEMORY)) ||
			    (t->target->a && t->target->a->op == STEP_MEMORY))
				return true;
		}
	}
	return false;
}

/* Pointers of @p i are things, and what their fields hold if it goes there. */
static void things_of(struct facts *f, struct question *q, const struct instance *i)
{
	const struct spec_structure_operation *o = fl_lin_facts_operation(f, i->before);
	uint64_t used = f->steps->data[i->before].bound |
			fl_lin_steps_used(f->steps, i->before);
	bool deep = is_deep(f, i);

	for (size_t k = 0; k < o->n_locals; k++) {
		if (o->locals[k].type < 0 || !(used >> k & 1))
			continue;
		thing(f, q, i->local[k], o->locals[k].type);
		for (size_t m = 0; m < f->s->n_memories && deep; m++)
			if (f->s->memories[m].of == o->locals[k].type &&
			    f->s->memories[m].type >= 0)
				thing(f, q,
				      fl_lin_facts_memory_at(f, &q->now.memory[m],
							     i->local[k]),
				      f->s->memories[m].type);
	}
	for (int k = 0; k < 64; k++)
		if (i->has_fresh >> k & 1)
			thing(f, q, i->fresh[k], o->locals[k].type);
}

static void differs(struct facts *f, smt_term a, smt_term b)
{
	smt_assert(f->smt, smt_not(f->smt, smt_eq(f->smt, a, b)));
}

/* Nothing that there is leads to @p x, which is empty. */
static void is_new(struct facts *f, const struct question *q, smt_term x, int type)
{
	const struct instance *all[] = { &q->v, q->has_u ? &q->u : NULL };

	differs(f, x, number(f, 0, type));
	for (size_t g = 0; g < f->s->n_globals; g++)
		if (f->s->globals[g].type == type)
			differs(f, x, q->now.global[g]);
	for (int n = 0; n < 2 && all[n]; n++) {
		const struct spec_structure_operation *o =
			fl_lin_facts_operation(f, all[n]->before);

		for (size_t k = 0; k < o->n_locals; k++)
			if (f->steps->data[all[n]->before].bound >> k & 1 &&
			    o->locals[k].type == type)
				differs(f, x, all[n]->local[k]);
	}
	for (size_t m = 0; m < f->s->n_memories; m++) {
		const struct spec_structure_var *it = &f->s->memories[m];

		if (it->of == type)
			smt_assert(f->smt,
				   smt_eq(f->smt,
					  fl_lin_facts_memory_at(f, &q->now.memory[m], x),
					  number(f, it->initial, it->type)));
		for (size_t t = 0; it->type == type && t < q->things.size; t++)
			if (can_be_of(f, &q->things.data[t], m))
				differs(f, x,
					fl_lin_facts_memory_at(f, &q->now.memory[m],
							       q->things.data[t].is));
	}
}

static void are_new(struct facts *f, const struct question *q, const struct instance *i)
{
	for (int k = 0; k < 64; k++) {
		if (!(i->has_fresh >> k & 1))
			continue;
		is_new(f, q, i->fresh[k],
		       fl_lin_facts_operation(f, i->before)->locals[k].type);
		for (int other = 0; other < k; other++)
			if (i->has_fresh >> other & 1)
				differs(f, i->fresh[k], i->fresh[other]);
		for (int other = 0; i == &q->u && other < 64; other++)
			if (q->v.has_fresh >> other & 1)
				differs(f, i->fresh[k], q->v.fresh[other]);
	}
}

static void state_new(struct facts *f, struct state *s)
{
	*s = fl_lin_facts_state_copy(f, NULL);
	for (size_t k = 0; s->global && k < f->s->n_globals; k++)
		s->global[k] =
			fl_lin_facts_var(f, f->s->globals[k].type, f->s->globals[k].name);
	for (size_t k = 0; s->memory && k < f->s->n_memories; k++)
		s->memory[k] =
			(struct memory){ smt_map(f->smt, sort_of(f, f->s->memories[k].of),
						 sort_of(f, f->s->memories[k].type),
						 f->s->memories[k].name),
					 NULL };
}

static void ask(struct facts *f, size_t u, size_t v, bool about_all, struct question *q)
{
	*q = (struct question){
		.has_u = u != FACT_ALWAYS, .now = f->now, .p = f->p, .q = f->q
	};
	f->n_questions++;
	q->v = instance_of(f, 1, v);
	if (q->has_u)
		q->u = instance_of(f, 0, u);
	f->asked = q;
	share(f, q);
	smt_push(f->smt);
	if (f->is_out_of_memory)
		return;
	if (f->has_any)
		thing(f, q, f->any, THING_ANY);
	if (about_all) {
		thing(f, q, q->p, THING_ANY);
		thing(f, q, q->q, THING_ANY);
	}
	things_of(f, q, &q->v);
	if (q->has_u)
		things_of(f, q, &q->u);
	for (size_t g = 0; g < f->s->n_globals; g++)
		if (f->s->globals[g].type >= 0 && !f->s->globals[g].is_embedded)
			thing(f, q, q->now.global[g], f->s->globals[g].type);
	are_new(f, q, &q->v);
	if (q->has_u)
		are_new(f, q, &q->u);
	take_all(f, q);
}

void fl_lin_facts_ask(struct facts *f, size_t u, size_t v, struct question *ret)
{
	ask(f, u, v, false, ret);
}

void fl_lin_facts_question_deinit(struct facts *f, struct question *q)
{
	smt_pop(f->smt);
	vec_deinit(&q->things);
}

/* Where facts about @p u and @p v are counted. */
size_t fl_lin_facts_place(const struct facts *f, size_t u, size_t v)
{
	size_t n = f->steps->size;

	return v != FACT_ALWAYS ? u * n + v : n * n + (u == FACT_ALWAYS ? n : u);
}

size_t fl_lin_facts_about(const struct facts *f, size_t u, size_t v, size_t *end)
{
	size_t at = fl_lin_facts_place(f, u, v);

	*end = f->first[at] + f->count[at];
	return f->first[at];
}

/* ---- what is ------------------------------------------------------------------------------------------ */

/* One fact that must hold in a state, and its term there. */
struct claim {
	size_t fact;
	smt_term term;
};

typedef VEC(struct claim) claims;

static void claim(struct facts *f, claims *all, size_t fact, const struct instance *u,
		  const struct instance *v, const struct state *s,
		  const struct question *q)
{
	struct claim c = { fact, fact_term(f, &f->all.data[fact], u, v, s, q->p, q->q) };

	if (vec_add(all, c))
		f->is_out_of_memory = true;
}

static bool drop(struct facts *f, size_t fact)
{
	struct fact *it = &f->all.data[fact];

	it->is_off = true;
	f->dropped[fl_lin_facts_place(f, it->u, it->v)] = ++f->clock;
	return true;
}

/* Drop what does not hold wherever the question's assertions do. @return whether any was: nothing more
 * can be asked then. */
static bool drop_false(struct facts *f, claims *all)
{
	bool has_dropped = false;

	while (all->size && !f->is_out_of_memory) {
		smt_term wrong = NULL;
		enum smt_answer answer;
		size_t kept = 0;

		for (size_t k = 0; k < all->size; k++) {
			smt_term no = smt_not(f->smt, all->data[k].term);

			wrong = wrong ? smt_or(f->smt, wrong, no) : no;
		}
		smt_assert(f->smt, wrong); // so is what was asserted before

		answer = smt_check(f->smt);
		f->n_unknown += answer == SMT_UNKNOWN;
		for (size_t k = 0; k < all->size && answer != SMT_UNSAT; k++) {
			// Of a state that Z3 did not find, no fact is known to hold; one alone
			// is what was asked about.
			if (answer == SMT_SAT && all->size > 1 &&
			    smt_is_true(f->smt, all->data[k].term))
				all->data[kept++] = all->data[k];
			else
				has_dropped = drop(f, all->data[k].fact);
		}
		if (answer == SMT_UNSAT)
			break;
		if (kept == all->size) { // an evaluation that gave nothing
			for (size_t k = 0; k < kept; k++)
				drop(f, all->data[k].fact);
			return true;
		}
		all->size = kept;
	}
	return has_dropped;
}

/* Facts that hold always must hold at first: in any state, where nothing says what is there then. */
static void begin(struct facts *f)
{
	struct question q = { .p = f->p, .q = f->q };
	struct instance first = { .of = f->s->initialize,
				  .id = smt_number(f->smt, 0),
				  .local = fl_lin_facts_need(f, 64 * sizeof(smt_term)) };
	const struct spec_structure_operation *o = f->s->initialize;
	claims all = {};
	struct state s;

	smt_push(f->smt);
	state_new(f, &s);
	if (f->is_out_of_memory)
		return;
	for (size_t k = 0; o && k < f->s->n_globals; k++)
		s.global[k] = number(f, f->s->globals[k].initial, f->s->globals[k].type);
	for (size_t k = 0; o && k < o->n_locals; k++) {
		first.local[k] = number(f, 0, o->locals[k].type);
		first.fresh[k] = number(f, NEW_AT_FIRST + (int64_t)k, o->locals[k].type);
	}
	for (size_t m = 0; o && m < f->s->n_memories; m++) {
		const struct spec_structure_var *it = &f->s->memories[m];
		smt_term initial = number(f, it->initial, it->type);
		smt_term null = number(f, 0, it->of);

		smt_assert(f->smt,
			   smt_eq(f->smt, fl_lin_facts_memory_at(f, &s.memory[m], null),
				  initial));
		if (it->of < 0 && !f->is_mixed)
			continue;
		smt_assert(f->smt,
			   smt_eq(f->smt, fl_lin_facts_memory_at(f, &s.memory[m], q.p),
				  initial));
		smt_assert(f->smt,
			   smt_eq(f->smt, fl_lin_facts_memory_at(f, &s.memory[m], q.q),
				  initial));
		for (size_t k = 0; k < o->n_locals; k++)
			if (o->locals[k].type >= 0)
				smt_assert(f->smt,
					   smt_eq(f->smt,
						  fl_lin_facts_memory_at(f, &s.memory[m],
									 first.fresh[k]),
						  initial));
	}
	if (o)
		smt_assert(f->smt, do_steps(f, o->steps, o->n_steps, &first, &s, NULL));
	for (size_t k = 0; k < f->all.size; k++)
		if (is_of(&f->all.data[k], FACT_ALWAYS, FACT_ALWAYS))
			claim(f, &all, k, &first, NULL, &s, &q);
	drop_false(f, &all);
	smt_pop(f->smt);
	vec_deinit(&all);
}

void fl_lin_facts_touch(struct touched *t, const struct spec_step_expr *e)
{
	if (!e)
		return;
	if (e->op == STEP_GLOBAL)
		t->globals |= 1ull << (e->value & 63);
	if (e->op == STEP_MEMORY)
		t->memories |= 1ull << (e->value & 63);
	fl_lin_facts_touch(t, e->a);
	fl_lin_facts_touch(t, e->b);
}

struct touched fl_lin_facts_written(const struct facts *f, size_t step)
{
	const struct spec_structure_operation *o = fl_lin_facts_operation(f, step);
	struct touched all = {};

	for (size_t k = f->steps->data[step].first; k < f->steps->data[step].end; k++)
		for (size_t c = 0; c < o->steps[k].n_statements; c++) {
			const struct spec_step_statement *t = &o->steps[k].statements[c];

			if (t->is != STEP_ASSIGN)
				continue;
			if (t->target->op == STEP_GLOBAL)
				all.globals |= 1ull << (t->target->value & 63);
			if (t->target->op == STEP_MEMORY)
				all.memories |= 1ull << (t->target->value & 63);
		}
	return all;
}

/* Can a step that writes @p w make @p it false? */
static bool is_touched(const struct fact *it, const struct touched *w)
{
	struct touched t = {};

	fl_lin_facts_touch(&t, it->a);
	fl_lin_facts_touch(&t, it->b);
	if (it->is >= FACT_NO_OTHER)
		t.memories |= 1ull << (it->memory & 63);
	return (t.globals & w->globals) || (t.memories & w->memories);
}

/* The last drop among the facts that question (@p u, @p v) takes for true. */
static uint64_t newest_drop(const struct facts *f, size_t u, size_t v)
{
	size_t n = f->steps->size;
	uint64_t last = f->dropped[n * n + n];
	const uint64_t of[] = { f->dropped[n * n + v],
				u == FACT_ALWAYS ? 0 : f->dropped[n * n + u],
				u == FACT_ALWAYS ? 0 : f->dropped[u * n + v],
				u == FACT_ALWAYS ? 0 : f->dropped[v * n + u] };

	for (int k = 0; k < 4; k++)
		last = of[k] > last ? of[k] : last;
	return last;
}

/* What must hold when the operation before @p v did its step, which writes @p w, and one before @p u
 * (FACT_ALWAYS: none) looks on? */
struct claimed {
	size_t u, v; ///< facts about them
	bool if_touched, is_turned;
};

static unsigned list_claimed(const struct facts *f, size_t u, size_t v,
			     struct claimed ret[3])
{
	size_t next = f->steps->data[v].is_last ? FACT_ALWAYS : v + 1;
	unsigned n = 0;

	ret[n++] = (struct claimed){ u, FACT_ALWAYS, true, false };
	if (next != FACT_ALWAYS && u == FACT_ALWAYS)
		ret[n++] = (struct claimed){ next, FACT_ALWAYS, false, false };
	if (next == FACT_ALWAYS || u == FACT_ALWAYS)
		return n;
	// Of two before the same sub-operation each is the first, and the second.
	if (u <= next)
		ret[n++] = (struct claimed){ u, next, false, false };
	if (next <= u)
		ret[n++] = (struct claimed){ next, u, false, true };
	return n;
}

static bool is_claimed(const struct facts *f, const struct claimed *c, size_t fact,
		       const struct touched *w)
{
	const struct fact *it = &f->all.data[fact];

	return !it->is_off && (!c->if_touched || is_touched(it, w));
}

/* The operation before @p v does a step, one before @p u looks on: what holds no longer? */
static bool go_on(struct facts *f, size_t u, size_t v)
{
	struct touched w = fl_lin_facts_written(f, v);
	uint64_t *asked =
		&f->asked_at[(u == FACT_ALWAYS ? f->steps->size : u) * f->steps->size +
			     v];
	struct question q;
	struct claimed lists[3];
	unsigned n_lists = list_claimed(f, u, v, lists);
	claims all = {};
	bool has_dropped;
	struct instance after;
	struct state s;
	bool has_claims = false, about_all = false;

	// What it was asked with holds as it did: the answer does, too.
	if (*asked > newest_drop(f, u, v))
		return false;
	for (unsigned n = 0; n < n_lists; n++) {
		size_t end, k = fl_lin_facts_about(f, lists[n].u, lists[n].v, &end);

		for (; k < end; k++) {
			if (!is_claimed(f, &lists[n], k, &w))
				continue;
			has_claims = true;
			about_all |= f->all.data[k].is >= FACT_NO_OTHER;
		}
	}
	if (!has_claims)
		return false;
	*asked = ++f->clock;
	ask(f, u, v, about_all, &q);
	s = fl_lin_facts_state_copy(f, &q.now);
	after = fl_lin_facts_instance_copy(f, &q.v);
	if (!f->is_out_of_memory)
		smt_assert(f->smt, fl_lin_facts_do(f, v, &after, &s, NULL));
	for (unsigned n = 0; n < n_lists; n++) {
		const struct claimed *c = &lists[n];
		size_t end, k = fl_lin_facts_about(f, c->u, c->v, &end);
		bool by_watcher = c->if_touched && u != FACT_ALWAYS;

		for (; k < end && !f->is_out_of_memory; k++)
			if (is_claimed(f, c, k, &w))
				claim(f, &all, k,
				      by_watcher || (c->v != FACT_ALWAYS &&
						     !c->is_turned) ?
					      &q.u :
					      &after,
				      c->is_turned ? &q.u : &after, &s, &q);
	}
	has_dropped = drop_false(f, &all);
	fl_lin_facts_question_deinit(f, &q);
	vec_deinit(&all);
	return has_dropped;
}

/* ---- all ----------------------------------------------------------------------------------------------- */

/* The terms of all questions. */
static void make_terms(struct facts *f)
{
	size_t n = f->s->n_operations * 64;

	f->terms = fl_lin_facts_need(f, f->all.size * 2 * sizeof(*f->terms));
	for (int role = 0; role < 2; role++) {
		f->local[role] = fl_lin_facts_need(f, n * sizeof(smt_term));
		f->fresh[role] = fl_lin_facts_need(f, n * sizeof(smt_term));
	}
	if (f->is_out_of_memory)
		return;
	memset(f->terms, 0, f->all.size * 2 * sizeof(*f->terms));
	state_new(f, &f->now);
	f->p = fl_lin_facts_var(f, 0, "p");
	f->q = fl_lin_facts_var(f, 0, "q");
	f->any = fl_lin_facts_var(f, 0, "any");
	for (int role = 0; role < 2; role++) {
		f->id[role] = smt_var(f->smt, SMT_INT, "ID");
		for (size_t k = 0; k < f->numbers.size; k++)
			differs(f, f->id[role], smt_number(f->smt, f->numbers.data[k]));
		if (f->has_order)
			smt_assert(f->smt,
				   smt_lt(f->smt, smt_number(f->smt, 0), f->id[role]));
		for (size_t o = 0; o < f->s->n_operations; o++)
			for (size_t k = 0; k < f->s->operations[o].n_locals; k++) {
				const struct spec_structure_var *l =
					&f->s->operations[o].locals[k];

				f->local[role][o * 64 + k] =
					fl_lin_facts_var(f, l->type, l->name);
				f->fresh[role][o * 64 + k] =
					fl_lin_facts_var(f, l->type, l->name);
			}
	}
	differs(f, f->id[0], f->id[1]);
}

struct err *fl_lin_facts_find(const struct fl_lin_steps *steps, struct facts *ret)
{
	struct facts *f = ret;
	size_t all = (steps->size + 1) * (steps->size + 1) * 8;
	struct err *err;
	bool has_dropped = true;

	*f = (struct facts){ .steps = steps, .s = steps->s };
	f->dropped = fl_lin_facts_need(f, all);
	f->asked_at = fl_lin_facts_need(f, all);
	f->first = fl_lin_facts_need(f, all);
	f->count = fl_lin_facts_need(f, all);
	f->follows = fl_lin_facts_need(f, steps->size * steps->size);
	f->minded = fl_lin_facts_need(f, steps->size * sizeof(*f->minded));
	if (f->is_out_of_memory)
		return &err_nomem;
	memset(f->dropped, 0, all);
	memset(f->asked_at, 0, all);
	memset(f->first, 0, all);
	memset(f->count, 0, all);
	memset(f->follows, 0, steps->size * steps->size);
	memset(f->minded, 0, steps->size * sizeof(*f->minded));
	fl_lin_facts_propose(f);
	fl_lin_facts_sample(f);
	err = smt_create(f->has_order ? SMT_WHOLE : SMT_NAMES, MOST_STEPS, &f->smt);
	if (err)
		return err;
	for (size_t k = 0; k < f->numbers.size; k++)
		smt_number(f->smt, f->numbers.data[k]);
	number(f, 0, 0);
	for (size_t k = 0; f->s->initialize && k < f->s->initialize->n_locals; k++)
		number(f, NEW_AT_FIRST + (int64_t)k, f->s->initialize->locals[k].type);
	make_terms(f);
	if (!f->is_out_of_memory)
		begin(f);
	while (has_dropped && !f->is_out_of_memory) {
		has_dropped = false;
		for (size_t v = 0; v < steps->size; v++)
			has_dropped |= go_on(f, FACT_ALWAYS, v);
	}
	has_dropped = true;
	while (has_dropped && !f->is_out_of_memory) {
		has_dropped = false;
		for (size_t v = 0; v < steps->size; v++) {
			has_dropped |= go_on(f, FACT_ALWAYS, v);
			for (size_t u = 0; u < steps->size; u++)
				if (steps->data[u].index)
					has_dropped |= go_on(f, u, v);
		}
	}
	if (f->is_too_large)
		return err_new(ERR_RANGE, "over %d writes to one field at once",
			       MOST_WRITES);
	return f->is_out_of_memory ? &err_nomem : NULL;
}

void fl_lin_facts_deinit(struct facts *f)
{
	smt_destroy(f->smt);
	arena_deinit(&f->arena);
	vec_deinit(&f->all);
	vec_deinit(&f->numbers);
	vec_deinit(&f->of_kinds);
	vec_deinit(&f->promises);
}
