// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Facts that may be true: of each shape those that the text gives a reason to ask about.
 */
#include "faultlocate/linear/facts.h"

/* ---- numbers and pointers ------------------------------------------------------------------------------- */

/* Facts are about the first few. */
static void number_of(struct facts *f, int64_t value)
{
	for (size_t k = 0; k < f->numbers.size; k++)
		if (f->numbers.data[k] == value)
			return;
	if (f->numbers.size < 6 && vec_add(&f->numbers, value))
		f->is_out_of_memory = true;
}

static void number_in(struct facts *f, const struct spec_step_expr *e)
{
	if (!e)
		return;
	number_in(f, e->a);
	number_in(f, e->b);
	f->has_order |= e->op == STEP_ADD || e->op == STEP_SUB ||
			(e->op == STEP_COMPARE && e->value > STEP_NE);
	f->has_any |= e->op == STEP_ANY;
	if (e->op != STEP_NUMBER || (e->a && e->a->op))
		return;
	number_of(f, e->value);
}

static void numbers_in(struct facts *f, const struct spec_structure_operation *o)
{
	for (size_t i = 0; o && i < o->n_steps; i++) {
		for (size_t k = 0; k < o->steps[i].n_conditions; k++) {
			number_in(f, o->steps[i].conditions[k].a);
			number_in(f, o->steps[i].conditions[k].b);
			f->has_order |= o->steps[i].conditions[k].compare > STEP_NE;
		}
		for (size_t k = 0; k < o->steps[i].n_statements; k++)
			number_in(f, o->steps[i].statements[k].value);
	}
}

static bool is_pointer(const struct facts *f, const struct spec_structure_operation *o,
		       const struct spec_step_expr *e)
{
	return fl_lin_facts_type(f, e, o) >= 0;
}

static bool do_meet(const struct facts *f, const struct spec_structure_operation *o,
		    const struct spec_step_expr *a, const struct spec_step_expr *b,
		    bool has_order)
{
	bool is_a = is_pointer(f, o, a), is_b = is_pointer(f, o, b);

	return ((is_a || is_b) && has_order) ||
	       (is_a && !is_b && !(b->op == STEP_NUMBER && !b->value)) ||
	       (is_b && !is_a && !(a->op == STEP_NUMBER && !a->value));
}

/* Do a pointer and what is none, and not NULL, meet in @p e? Of elements that are pointers, p may be the
 * index. */
static bool do_meet_in_expr(const struct facts *f,
			    const struct spec_structure_operation *o,
			    const struct spec_step_expr *e)
{
	if (!e)
		return false;
	if ((e->op == STEP_ADD || e->op == STEP_SUB) &&
	    (is_pointer(f, o, e->a) || is_pointer(f, o, e->b)))
		return true;
	if (e->op == STEP_MEMORY && f->s->memories[e->value].of == SPEC_TYPE_INT &&
	    (is_pointer(f, o, e->a) || f->s->memories[e->value].type >= 0))
		return true;
	if (e->op == STEP_COMPARE && do_meet(f, o, e->a, e->b, e->value > STEP_NE))
		return true;
	return do_meet_in_expr(f, o, e->a) || do_meet_in_expr(f, o, e->b);
}

static bool do_meet_in(const struct facts *f, const struct spec_structure_operation *o)
{
	bool do_they = false;

	for (size_t i = 0; o && i < o->n_steps; i++) {
		const struct spec_step *s = &o->steps[i];

		for (size_t k = 0; k < s->n_conditions; k++) {
			const struct spec_step_condition *c = &s->conditions[k];

			do_they |= do_meet(f, o, c->a, c->b, c->compare > STEP_NE) ||
				   do_meet_in_expr(f, o, c->a) ||
				   do_meet_in_expr(f, o, c->b);
		}
		for (size_t k = 0; k < s->n_statements; k++) {
			const struct spec_step_statement *t = &s->statements[k];

			do_they |= do_meet_in_expr(f, o, t->target) ||
				   (t->is == STEP_ASSIGN &&
				    (do_meet(f, o, t->target, t->value, false) ||
				     do_meet_in_expr(f, o, t->value)));
		}
	}
	return do_they;
}

static void find_mixed(struct facts *f)
{
	f->is_mixed = do_meet_in(f, f->s->initialize);
	for (size_t o = 0; o < f->s->n_operations; o++)
		f->is_mixed |= do_meet_in(f, &f->s->operations[o]);
	for (size_t k = 0; k < f->s->n_memories; k++)
		f->is_mixed |= f->s->memories[k].of == SPEC_TYPE_INT &&
			       f->s->memories[k].type >= 0;
	for (size_t k = 0; k < f->s->n_globals; k++)
		f->is_mixed |= f->s->globals[k].type >= 0 && f->s->globals[k].initial;
}

/* ---- what is compared with what ------------------------------------------------------------------------ */

/* Numbers that the text compares or assigns, one to the other, are of one kind, as keys are and marks; of
 * others nothing is asked. Whose kind is @p e's? SIZE_MAX: a number's, which may be of any. */
static size_t whose(struct facts *f, const struct spec_structure_operation *o,
		    const struct spec_step_expr *e)
{
	size_t locals = f->s->n_globals + f->s->n_memories, at;

	switch (e->op) {
	case STEP_GLOBAL:
		return e->value;
	case STEP_MEMORY:
		return f->s->n_globals + e->value;
	case STEP_LOCAL:
		at = o == f->s->initialize ? f->s->n_operations :
					     (size_t)(o - f->s->operations);
		return locals + at * 64 + e->value;
	case STEP_ID:
		return locals + (f->s->n_operations + 1) * 64;
	case STEP_ADD:
	case STEP_SUB:
		at = whose(f, o, e->a);
		return at == SIZE_MAX ? whose(f, o, e->b) : at;
	default:
		return SIZE_MAX;
	}
}

static size_t kind_of(const struct facts *f, size_t at)
{
	while (f->kind[at] != at)
		at = f->kind[at];
	return at;
}

static void note_number(struct facts *f, size_t at, int64_t value)
{
	struct facts_number n = { at, value };

	if (vec_add(&f->of_kinds, n))
		f->is_out_of_memory = true;
}

static void meet(struct facts *f, const struct spec_structure_operation *o,
		 const struct spec_step_expr *a, const struct spec_step_expr *b)
{
	size_t x = whose(f, o, a), y = whose(f, o, b);

	if (x != SIZE_MAX && y != SIZE_MAX)
		f->kind[kind_of(f, x)] = kind_of(f, y);
	else if (x != SIZE_MAX && b->op == STEP_NUMBER)
		note_number(f, x, b->value);
	else if (y != SIZE_MAX && a->op == STEP_NUMBER)
		note_number(f, y, a->value);
}

/* What meets in @p e. */
static void meet_in_expr(struct facts *f, const struct spec_structure_operation *o,
			 const struct spec_step_expr *e)
{
	if (!e)
		return;
	if (e->op == STEP_COMPARE || e->op == STEP_ADD || e->op == STEP_SUB)
		meet(f, o, e->a, e->b);
	meet_in_expr(f, o, e->a);
	meet_in_expr(f, o, e->b);
}

static void meet_in(struct facts *f, const struct spec_structure_operation *o)
{
	for (size_t i = 0; o && i < o->n_steps; i++) {
		const struct spec_step *s = &o->steps[i];

		for (size_t k = 0; k < s->n_conditions; k++) {
			meet(f, o, s->conditions[k].a, s->conditions[k].b);
			meet_in_expr(f, o, s->conditions[k].a);
			meet_in_expr(f, o, s->conditions[k].b);
		}
		for (size_t k = 0; k < s->n_statements; k++) {
			const struct spec_step_statement *t = &s->statements[k];

			if (t->is == STEP_ASSIGN)
				meet(f, o, t->target, t->value);
			meet_in_expr(f, o, t->target);
			meet_in_expr(f, o, t->value);
		}
	}
}

static void find_kinds(struct facts *f)
{
	size_t n = f->s->n_globals + f->s->n_memories + (f->s->n_operations + 1) * 64 + 1;

	f->kind = fl_lin_facts_need(f, n * sizeof(*f->kind));
	if (!f->kind)
		return;
	for (size_t k = 0; k < n; k++)
		f->kind[k] = k;
	meet_in(f, f->s->initialize);
	for (size_t k = 0; k < f->s->n_operations; k++)
		meet_in(f, &f->s->operations[k]);
	for (size_t k = 0; k < f->s->n_globals; k++)
		note_number(f, k, f->s->globals[k].initial);
	for (size_t k = 0; k < f->s->n_memories; k++)
		note_number(f, f->s->n_globals + k, f->s->memories[k].initial);
}

/* Are @p a of @p o and @p b of @p other of one kind? */
static bool are_of_a_kind(struct facts *f, const struct spec_structure_operation *o,
			  const struct spec_step_expr *a,
			  const struct spec_structure_operation *other,
			  const struct spec_step_expr *b)
{
	size_t x = whose(f, o, a), y = whose(f, other, b);

	if (x != SIZE_MAX && y != SIZE_MAX)
		return kind_of(f, x) == kind_of(f, y);
	for (size_t k = 0; k < f->of_kinds.size; k++) {
		const struct facts_number *n = &f->of_kinds.data[k];

		if ((y == SIZE_MAX && n->value == b->value &&
		     kind_of(f, n->of) == kind_of(f, x)) ||
		    (x == SIZE_MAX && n->value == a->value &&
		     kind_of(f, n->of) == kind_of(f, y)))
			return true;
	}
	return false;
}

/* ---- facts -------------------------------------------------------------------------------------------- */

struct atom {
	const struct spec_step_expr *e;
	int type;
	bool is_own, is_field, is_number;
};

typedef VEC(struct atom) atoms;

static const struct spec_step_expr *expr(struct facts *f, enum spec_step_op op,
					 int64_t value, const struct spec_step_expr *a)
{
	struct spec_step_expr *e = fl_lin_facts_need(f, sizeof(*e));

	if (e)
		*e = (struct spec_step_expr){ .op = op, .value = value, .a = a };
	return e;
}

static void atom(struct facts *f, atoms *all, struct atom a)
{
	if (!a.e || vec_add(all, a))
		f->is_out_of_memory = true;
}

static void atom_with_fields(struct facts *f, atoms *all, struct atom a)
{
	atom(f, all, a);
	for (size_t m = 0; m < f->s->n_memories; m++) {
		const struct spec_structure_var *it = &f->s->memories[m];
		bool is_index = it->of == SPEC_TYPE_INT && a.e && a.e->op == STEP_LOCAL;

		if (it->of == a.type && (a.type != SPEC_TYPE_INT || is_index))
			atom(f, all,
			     (struct atom){ expr(f, STEP_MEMORY, (int64_t)m, a.e),
					    it->type, a.is_own, true, false });
	}
}

/* What can be named before @p before; FACT_ALWAYS: by no operation. */
static void list_atoms(struct facts *f, size_t before, atoms *all)
{
	const struct spec_structure_operation *o =
		before == FACT_ALWAYS ? NULL : fl_lin_facts_operation(f, before);

	for (size_t k = 0; o && k < o->n_locals; k++)
		if (f->steps->data[before].bound >> k & 1)
			atom_with_fields(
				f, all,
				(struct atom){ expr(f, STEP_LOCAL, (int64_t)k, NULL),
					       o->locals[k].type, true, false, false });
	if (o)
		atom(f, all,
		     (struct atom){ expr(f, STEP_ID, 0, NULL), SPEC_TYPE_INT, true, false,
				    false });
	for (size_t k = 0; k < f->s->n_globals; k++)
		if (!f->s->globals[k].is_embedded)
			atom_with_fields(
				f, all,
				(struct atom){ expr(f, STEP_GLOBAL, (int64_t)k, NULL),
					       f->s->globals[k].type, !o, false, false });
	for (size_t k = 0; k < f->numbers.size; k++)
		atom(f, all,
		     (struct atom){ expr(f, STEP_NUMBER, f->numbers.data[k], NULL),
				    SPEC_TYPE_INT, false, false, true });
}

/* Those about the same come one behind the other. */
static void propose(struct facts *f, struct fact it)
{
	size_t at = fl_lin_facts_place(f, it.u, it.v);

	if (!f->count[at]++)
		f->first[at] = f->all.size;
	if (vec_add(&f->all, it))
		f->is_out_of_memory = true;
}

static bool is_null(const struct atom *a)
{
	return a->is_number && !a->e->value;
}

static void propose_comparisons(struct facts *f, const struct atom *a,
				const struct atom *b, size_t u, size_t v)
{
	static const __typeof__(((struct fact *)0)->is) kinds[] = { FACT_EQ, FACT_NE,
								    FACT_LT, FACT_LT,
								    FACT_LE, FACT_LE };
	bool has_order = a->type == SPEC_TYPE_INT && b->type == SPEC_TYPE_INT &&
			 v == FACT_ALWAYS && f->has_order;

	// What two operations remember is hardly ever the same.
	for (unsigned k = v != FACT_ALWAYS; k < (has_order ? 6 : 2); k++) {
		bool is_turned = k == 3 || k == 5;

		propose(f, (struct fact){ .is = kinds[k],
					  .u = u,
					  .v = v,
					  .a = is_turned ? b->e : a->e,
					  .b = is_turned ? a->e : b->e,
					  .place = k,
					  .has_order = has_order });
	}
}

/* Facts about all things. */
static void propose_general(struct facts *f, const atoms *all, size_t u)
{
	for (size_t m = 0; m < f->s->n_memories; m++) {
		const struct spec_structure_var *it = &f->s->memories[m];

		if (it->type < 0)
			continue;
		if (u == FACT_ALWAYS)
			propose(f, (struct fact){ .is = FACT_ONE_EACH,
						  .u = u,
						  .v = FACT_ALWAYS,
						  .memory = m });
		for (size_t k = 0; k < all->size; k++) {
			const struct atom *a = &all->data[k];

			if (a->type != it->type || a->is_field)
				continue;
			if (a->is_own)
				propose(f, (struct fact){ .is = FACT_NO_OTHER,
							  .u = u,
							  .v = FACT_ALWAYS,
							  .memory = m,
							  .a = a->e });
			for (size_t i = 0; i < all->size; i++)
				if (all->data[i].type == it->of && it->of >= 0 &&
				    (a->is_own || all->data[i].is_own) &&
				    !all->data[i].is_field)
					propose(f, (struct fact){ .is = FACT_NO_OTHER,
								  .u = u,
								  .v = FACT_ALWAYS,
								  .memory = m,
								  .a = a->e,
								  .b = all->data[i].e });
		}
	}
}

static void propose_at(struct facts *f, size_t u)
{
	const struct spec_structure_operation *o =
		u == FACT_ALWAYS ? NULL : fl_lin_facts_operation(f, u);
	atoms all = {};

	list_atoms(f, u, &all);
	for (size_t k = 0; k < all.size; k++)
		for (size_t i = 0; i < k; i++) {
			const struct atom *a = &all.data[i], *b = &all.data[k];

			if ((a->type == b->type || is_null(a) || is_null(b)) &&
			    (a->is_own || b->is_own) && !(a->is_field && b->is_field) &&
			    (a->type != b->type || a->type >= 0 ||
			     are_of_a_kind(f, o, a->e, o, b->e)))
				propose_comparisons(f, a, b, u, FACT_ALWAYS);
		}
	propose_general(f, &all, u);
	vec_deinit(&all);
}

/* Of two operations: what they remember is the same, or never. */
static void propose_between(struct facts *f, size_t u, size_t v)
{
	const struct spec_structure_operation *a = fl_lin_facts_operation(f, u),
					      *b = fl_lin_facts_operation(f, v);

	for (size_t i = 0; i < a->n_locals; i++)
		for (size_t k = 0; k < b->n_locals; k++) {
			struct atom x = { .type = a->locals[i].type },
				    y = { .type = b->locals[k].type };

			if (x.type != y.type || !(f->steps->data[u].bound >> i & 1) ||
			    !(f->steps->data[v].bound >> k & 1))
				continue;
			x.e = expr(f, STEP_LOCAL, (int64_t)i, NULL);
			y.e = expr(f, STEP_LOCAL, (int64_t)k, NULL);
			if (x.type >= 0 || are_of_a_kind(f, a, x.e, b, y.e))
				propose_comparisons(f, &x, &y, u, v);
		}
}

void fl_lin_facts_propose(struct facts *f)
{
	if (vec_add(&f->numbers, 0))
		f->is_out_of_memory = true;
	numbers_in(f, f->s->initialize);
	for (size_t k = 0; k < f->s->n_globals; k++)
		number_of(f, f->s->globals[k].initial);
	for (size_t k = 0; k < f->s->n_memories; k++)
		number_of(f, f->s->memories[k].initial);
	for (size_t o = 0; o < f->s->n_operations; o++)
		numbers_in(f, &f->s->operations[o]);
	find_mixed(f);
	find_kinds(f);
	if (f->is_out_of_memory)
		return;
	propose_at(f, FACT_ALWAYS);
	for (size_t u = 0; u < f->steps->size; u++) {
		if (!f->steps->data[u].index)
			continue;
		propose_at(f, u);
		for (size_t v = u; v < f->steps->size; v++)
			if (f->steps->data[v].index)
				propose_between(f, u, v);
	}
}
