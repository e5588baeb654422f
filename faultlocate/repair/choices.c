// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/choices.h"

enum { SPARE_COST = 3 }; ///< parts that may differ rather

static void assert_if(struct smt *s, smt_term a, smt_term b)
{
	smt_assert(s, smt_or(s, smt_not(s, a), b));
}

static void add_number(struct rp_choices *c, int64_t value)
{
	for (size_t i = 0; i < c->numbers.size; i++)
		if (c->numbers.data[i] == value)
			return;
	if (vec_add(&c->numbers, value))
		c->has_failed = true;
}

/* Those of the function, 0 and 1. */
static void gather_numbers(struct rp_choices *c)
{
	add_number(c, 0);
	add_number(c, 1);
	for (size_t i = 0; i < c->p->ops.size; i++) {
		const struct rp_op *op = &c->p->ops.data[i];

		if (op->function != c->function || op->type != RP_INT)
			continue;
		if ((op->kind == RP_ASSIGN || op->kind == RP_TEST) &&
		    op->a.var == RP_NONE)
			add_number(c, op->a.value);
		if (op->sign != RP_PLAIN && op->b.var == RP_NONE)
			add_number(c, op->b.value);
	}
}

/* ---- options ------------------------------------------------------------------------------ */

static bool ref_is(const struct rp_ref *a, const struct rp_ref *b)
{
	return a->var == b->var && a->field == b->field &&
	       (a->var != RP_NONE || a->value == b->value);
}

static void add_option(struct rp_choices *c, struct rp_choice *to, enum rp_part part,
		       struct rp_option o)
{
	o.chosen = smt_var(c->s, SMT_BOOL, "o");
	if (vec_add(&to->parts[part], o))
		c->has_failed = true;
}

static void add_ref(struct rp_choices *c, struct rp_choice *to, enum rp_part part,
		    struct rp_ref r, int type, const struct rp_ref *original)
{
	struct rp_option o = { .ref = r, .type = type };

	o.is_original = original && ref_is(&r, original);
	add_option(c, to, part, o);
}

/* Is @p type that of an option? @p wanted: RP_OPAQUE in what is inserted. */
static bool fits(const struct rp_choices *c, int type, int wanted)
{
	if (wanted != RP_OPAQUE)
		return type == wanted;
	return type >= RP_INT && (!c->within || c->within->is_type[type + 1]);
}

/* Variables and fields of @p type (RP_OPAQUE: of any that may be missing) that can be named at c->at, and constants. */
static void add_refs(struct rp_choices *c, struct rp_choice *to, enum rp_part part,
		     int type, const struct rp_ref *original)
{
	const struct rp_program *p = c->p;
	bool has_original = false;

	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		struct rp_ref r = { .var = (int)i, .field = RP_NONE };

		if (!(fl_rp_in_scope(p, (int)i, c->function, to->at) ||
		      fl_rp_is_loaded(p, (int)i, to->op)) ||
		    (c->within && !c->within->is_variable[i] &&
		     !(original && original->var == (int)i)))
			continue;
		if (fits(c, v->type, type))
			add_ref(c, to, part, r, v->type, original);
		for (size_t k = 0;
		     v->type >= 0 && k < p->records.data[v->type].fields.size; k++) {
			int of = p->records.data[v->type].fields.data[k].type;

			r.field = (int)k;
			if (fits(c, of, type))
				add_ref(c, to, part, r, of, original);
		}
	}
	for (int of = RP_INT; part != RP_PART_DST && of < (int)p->records.size; of++) {
		if (!fits(c, of, type))
			continue;
		for (size_t i = 0; i < (of == RP_INT ? c->numbers.size : 1); i++) {
			struct rp_ref r = { RP_NONE,
					    RP_NONE,
					    of == RP_INT ? c->numbers.data[i] : 0,
					    { 0, 0 } };

			add_ref(c, to, part, r, of, original);
		}
	}
	for (size_t i = 0; i < to->parts[part].size; i++)
		has_original = has_original || to->parts[part].data[i].is_original;
	if (original && !has_original) // a hidden variable
		add_ref(c, to, part, *original, type, original);
}

static void add_signs(struct rp_choices *c, struct rp_choice *to, enum rp_sign from,
		      enum rp_sign until, enum rp_sign original)
{
	for (enum rp_sign s = from; s <= until; s++)
		add_option(c, to, RP_PART_SIGN,
			   (struct rp_option){ .sign = s, .is_original = s == original });
}

/* One of the options, no two. */
static void choose_one(struct rp_choices *c, struct rp_choice *of, enum rp_part part)
{
	VEC(smt_term) terms = {};

	for (size_t i = 0; i < of->parts[part].size; i++)
		if (vec_add(&terms, of->parts[part].data[i].chosen))
			c->has_failed = true;
	if (terms.size) {
		smt_assert(c->s, smt_any(c->s, terms.data, (unsigned)terms.size));
		smt_assert(c->s, smt_at_most(c->s, terms.data, (unsigned)terms.size, 1));
	}
	vec_deinit(&terms);
}

/* How much further off than another field of the same variable @p o is. */
static unsigned distance(const struct rp_option *o, const struct rp_ref *original)
{
	if (o->is_original || o->ref.var == original->var)
		return 0;
	// What fits by being a constant, or of another shape, says less than what has the same.
	if (o->ref.var == RP_NONE ||
	    (o->ref.field == RP_NONE) != (original->field == RP_NONE))
		return 2;
	return 1;
}

/* Unless it is changed, it is as it was. */
static void hold_original(struct rp_choices *c, struct rp_choice *of, enum rp_part part)
{
	const struct rp_ref *original = NULL;

	for (size_t i = 0; i < of->parts[part].size; i++) {
		const struct rp_option *o = &of->parts[part].data[i];
		smt_term differs;

		if (!o->is_original)
			continue;
		original = &o->ref;
		differs = smt_not(c->s, o->chosen);
		assert_if(c->s, differs, of->changed);
		if (vec_add(&c->differences, differs))
			c->has_failed = true;
	}
	for (size_t i = 0; original && part != RP_PART_SIGN && i < of->parts[part].size;
	     i++) {
		const struct rp_option *o = &of->parts[part].data[i];

		for (unsigned k = distance(o, original); k; k--)
			if (vec_add(&c->differences, o->chosen))
				c->has_failed = true;
	}
}

/* A variable that has to be declared for it is the last that a patch takes. */
static void avoid_spares(struct rp_choices *c, struct rp_choice *of, enum rp_part part)
{
	for (size_t i = 0; i < of->parts[part].size; i++) {
		const struct rp_option *o = &of->parts[part].data[i];
		smt_term taken = of->active ? smt_and(c->s, of->active, o->chosen) :
					      o->chosen;

		if (part == RP_PART_SIGN || o->ref.var == RP_NONE ||
		    !c->p->variables.data[o->ref.var].is_spare || o->is_original)
			continue;
		for (int k = 0; k < SPARE_COST; k++)
			if (vec_add(&c->differences, taken))
				c->has_failed = true;
	}
}

static struct rp_choice *new_choice(struct rp_choices *c)
{
	struct rp_choice *n = calloc(1, sizeof(*n));

	if (!n || vec_add(&c->list, n)) {
		free(n);
		c->has_failed = true;
		return NULL;
	}
	n->op = RP_NONE;
	return n;
}

static void add_op(struct rp_choices *c, int number)
{
	const struct rp_op *op = &c->p->ops.data[number];
	bool is_test = op->kind == RP_TEST, is_hidden;
	struct rp_choice *n = new_choice(c);

	if (!n)
		return;
	c->of_op[number] = n;
	n->op = number;
	n->at = op->at.from;
	n->line = op->line;
	n->changed = smt_var(c->s, SMT_BOOL, "changed");
	is_hidden = !is_test && c->p->variables.data[op->dst.var].is_hidden;
	if (!is_test && !op->is_kept && !is_hidden) {
		add_refs(c, n, RP_PART_DST, op->type, &op->dst);
		n->removed = smt_var(c->s, SMT_BOOL, "removed");
	}
	add_refs(c, n, RP_PART_A, op->type, &op->a);
	if (op->sign != RP_PLAIN)
		add_refs(c, n, RP_PART_B, op->type, &op->b);
	if (is_test && op->type == RP_INT)
		add_signs(c, n, RP_EQ, RP_GE, op->sign);
	else if (is_test)
		add_signs(c, n, RP_EQ, RP_NE, op->sign);
	for (enum rp_part part = 0; part < RP_PARTS; part++) {
		choose_one(c, n, part);
		hold_original(c, n, part);
		avoid_spares(c, n, part);
	}
	// A statement that goes is one whose guard is false.
	if ((is_test ? vec_add(&c->guards, n->changed) :
		       vec_add(&c->statements, n->changed)) ||
	    (n->removed && vec_add(&c->guards, n->removed)))
		c->has_failed = true;
	if (n->removed && vec_add(&c->differences, n->removed))
		c->has_failed = true;
}

/* What is assigned has the type of what it is assigned to. */
static void match_types(struct rp_choices *c, struct rp_choice *n)
{
	for (size_t i = 0; i < n->parts[RP_PART_DST].size; i++) {
		VEC(smt_term) fits = {};
		const struct rp_option *d = &n->parts[RP_PART_DST].data[i];

		for (size_t k = 0; k < n->parts[RP_PART_A].size; k++)
			if (n->parts[RP_PART_A].data[k].type == d->type &&
			    vec_add(&fits, n->parts[RP_PART_A].data[k].chosen))
				c->has_failed = true;
		assert_if(c->s, d->chosen, smt_any(c->s, fits.data, (unsigned)fits.size));
		vec_deinit(&fits);
	}
}

static struct rp_choice *add_slot(struct rp_choices *c, const struct rp_block *b,
				  size_t index)
{
	const struct rp_statement *s = index < b->list.size ? b->list.data[index] : NULL;
	struct rp_choice *n = new_choice(c);

	if (!n)
		return NULL;
	n->block = b->id;
	n->index = (int)index;
	n->at = s ? s->at.from : b->at.to - 1;
	n->line = s ? s->line : 0;
	n->active = smt_var(c->s, SMT_BOOL, "inserted");
	add_refs(c, n, RP_PART_DST, RP_OPAQUE, NULL);
	add_refs(c, n, RP_PART_A, RP_OPAQUE, NULL);
	if (fits(c, RP_INT, RP_OPAQUE)) {
		add_refs(c, n, RP_PART_B, RP_INT, NULL);
		add_signs(c, n, RP_PLAIN, RP_SUB, RP_PLAIN);
	} else {
		add_signs(c, n, RP_PLAIN, RP_PLAIN, RP_PLAIN);
	}
	if (!n->parts[RP_PART_DST].size) {
		smt_assert(c->s, smt_not(c->s, n->active));
		return NULL;
	}
	for (enum rp_part part = 0; part < RP_PARTS; part++) {
		choose_one(c, n, part);
		avoid_spares(c, n, part);
	}
	match_types(c, n);
	// The shorter of two that do the same: a sum only where it is one.
	if (vec_add(&c->insertions, n->active) ||
	    vec_add(&c->differences,
		    smt_and(c->s, n->active,
			    smt_not(c->s, n->parts[RP_PART_SIGN].data[0].chosen))))
		c->has_failed = true;
	return n;
}

/* Behind a break nothing runs; between a for and its first part there is no place. */
static bool is_dead(const struct rp_choices *c, const struct rp_block *b, size_t index)
{
	enum rp_shape before = index ? b->list.data[index - 1]->shape : RP_OPS;

	if (c->within && !c->within->is_gap[fl_rp_gap(c->p, b->id, (int)index)])
		return true;
	if (index && index < b->list.size &&
	    b->list.data[index - 1]->at.from >= b->list.data[index]->at.from)
		return true;
	return before == RP_BREAK || before == RP_CONTINUE || before == RP_RETURN;
}

static void add_gaps(struct rp_choices *c, const struct rp_block *b, int *next)
{
	if (!b)
		return;
	c->first_gap[b->id] = b->is_braced ? *next : RP_NONE;
	for (size_t i = 0; b->is_braced && i <= b->list.size; i++)
		for (int k = 0; k < c->n_slots; k++, ++*next)
			c->of_gap[*next] = is_dead(c, b, i) ? NULL : add_slot(c, b, i);
	for (size_t i = 0; i < b->list.size; i++) {
		add_gaps(c, b->list.data[i]->body, next);
		add_gaps(c, b->list.data[i]->otherwise, next);
	}
}

static size_t count_gaps(const struct rp_choices *c)
{
	size_t n = 0;

	for (size_t i = 0; i < c->p->blocks.size; i++)
		n += c->p->blocks.data[i]->list.size + 1;
	return n * (size_t)c->n_slots;
}

struct err *fl_rp_choices_init(struct rp_choices *c, const struct rp_program *p,
			       struct smt *s, int function, const bool *may_change,
			       const struct rp_suspects *within, int n_slots)
{
	int next = 0;

	*c = (struct rp_choices){
		.p = p, .s = s, .within = within, .function = function, .n_slots = n_slots
	};
	c->of_op = calloc(p->ops.size + 1, sizeof(*c->of_op));
	c->first_gap = malloc((p->blocks.size + 1) * sizeof(*c->first_gap));
	c->of_gap = calloc(count_gaps(c) + 1, sizeof(*c->of_gap));
	if (!c->of_op || !c->first_gap || !c->of_gap)
		return &err_nomem;
	for (size_t i = 0; i < p->blocks.size; i++)
		c->first_gap[i] = RP_NONE;
	gather_numbers(c);
	for (size_t i = 0; i < p->ops.size; i++)
		if (may_change[i])
			add_op(c, (int)i);
	if (n_slots)
		add_gaps(c, p->functions.data[function].body, &next);
	return c->has_failed ? &err_nomem : NULL;
}

void fl_rp_choices_deinit(struct rp_choices *c)
{
	for (size_t i = 0; i < c->list.size; i++) {
		for (enum rp_part part = 0; part < RP_PARTS; part++)
			vec_deinit(&c->list.data[i]->parts[part]);
		free(c->list.data[i]);
	}
	vec_deinit(&c->list);
	vec_deinit(&c->guards);
	vec_deinit(&c->statements);
	vec_deinit(&c->insertions);
	vec_deinit(&c->differences);
	vec_deinit(&c->numbers);
	free(c->of_op);
	free(c->of_gap);
	free(c->first_gap);
}

/* ---- the solver's answer ---------------------------------------------------------------------- */

static const struct rp_option *chosen(const struct rp_choices *c,
				      const struct rp_choice *of, enum rp_part part)
{
	for (size_t i = 0; i < of->parts[part].size; i++)
		if (smt_is_true(c->s, of->parts[part].data[i].chosen))
			return &of->parts[part].data[i];
	return NULL;
}

/* The operation with what was chosen. @return whether that is another. */
static bool take_parts(const struct rp_choices *c, const struct rp_choice *of,
		       struct rp_op *op)
{
	struct rp_ref *const refs[] = { &op->dst, &op->a, &op->b };
	bool is_other = false;

	for (enum rp_part part = 0; part < RP_PARTS; part++) {
		const struct rp_option *o = chosen(c, of, part);
		struct rp_range at;

		if (!o || o->is_original)
			continue;
		is_other = true;
		if (part == RP_PART_SIGN) {
			op->sign = o->sign;
			continue;
		}
		at = refs[part]->at;
		*refs[part] = o->ref;
		refs[part]->at = at;
	}
	return is_other;
}

static struct rp_op inserted(const struct rp_choices *c, const struct rp_choice *of)
{
	struct rp_op op = { .kind = RP_ASSIGN,
			    .function = c->function,
			    .line = of->line,
			    .is_inserted = true };

	take_parts(c, of, &op);
	op.type = chosen(c, of, RP_PART_DST)->type;
	if (op.type != RP_INT)
		op.sign = RP_PLAIN;
	op.at.from = op.at.to = of->at;
	return op;
}

struct err *fl_rp_choices_patch(const struct rp_choices *c, struct rp_patch *ret)
{
	for (size_t i = 0; i < c->list.size; i++) {
		const struct rp_choice *of = c->list.data[i];
		struct rp_edit e = { .op = of->op,
				     .block = of->block,
				     .index = of->index };

		if (of->op == RP_NONE) {
			if (!smt_is_true(c->s, of->active))
				continue;
			e.kind = RP_EDIT_INSERT;
			e.now = inserted(c, of);
		} else {
			e.now = c->p->ops.data[of->op];
			if (of->removed && smt_is_true(c->s, of->removed))
				e.kind = RP_EDIT_REMOVE;
			else if (!take_parts(c, of, &e.now))
				continue;
		}
		if (vec_add(&ret->edits, e))
			return &err_nomem;
	}
	return NULL;
}

void fl_rp_choices_forbid(struct rp_choices *c)
{
	VEC(smt_term) other = {};

	for (size_t i = 0; i < c->list.size; i++) {
		const struct rp_choice *of = c->list.data[i];

		if (of->active && !smt_is_true(c->s, of->active))
			continue;
		if (of->removed && smt_is_true(c->s, of->removed) &&
		    vec_add(&other, smt_not(c->s, of->removed)))
			c->has_failed = true;
		for (enum rp_part part = 0; part < RP_PARTS; part++) {
			const struct rp_option *o = chosen(c, of, part);

			if (o && !o->is_original &&
			    vec_add(&other, smt_not(c->s, o->chosen)))
				c->has_failed = true;
		}
		if (of->active && vec_add(&other, smt_not(c->s, of->active)))
			c->has_failed = true;
	}
	smt_assert(c->s, smt_any(c->s, other.data, (unsigned)other.size));
	vec_deinit(&other);
}
