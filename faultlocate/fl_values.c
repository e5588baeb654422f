// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a field may have had to hold: pointers to the nodes at hand, numbers that solve what is
 * violated.
 */
#include "faultlocate/fl_remedy.h"

#define VALUES_MAX 20000
#define OFFSETS_MAX 4 // into a node, to which a field leads

static struct err *add_try(struct fl_search *s, uint32_t field, uint64_t value,
			   enum fl_reason why)
{
	const struct fl_candidate *f = &s->fields.data[field];
	uint64_t mask = f->at.size < 8 ? (UINT64_C(1) << 8 * f->at.size) - 1 : UINT64_MAX;
	uint64_t now = 0;
	struct fl_alteration x = { f->node, f->at.offset, f->at.size, value & mask };
	const struct fl_alteration *known;
	struct err *err;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	if (x.value == now || s->tries.size >= VALUES_MAX)
		return NULL;
	known = vec_find(&s->tries, t,
			 t->node.v == x.node.v && t->offset == x.offset &&
				 t->value == x.value);
	// What follows from an equation is no guess, though it may be one, too.
	if (known && why == WHY_EQUATION)
		s->whys.data[known - s->tries.data].why = why;
	if (known)
		return NULL;
	err = vec_add(&s->tries, x);
	return err ? err : vec_add(&s->whys, (struct fl_why){ field, why });
}

// Pointers of this field that lead into nodes lead so far into them; into those of different types,
// as a list's head and its members, differently far. @return how many.
static size_t usual_offsets(const struct fl_search *s, const struct fl_candidate *f,
			    uint64_t ret[OFFSETS_MAX])
{
	uint32_t type = fl_search_node(s, f->node)->type;
	struct hg_node_id id = { 0 }, to;
	uint64_t value, offset;
	size_t n = 1, k;

	ret[0] = 0;
	while (n < OFFSETS_MAX && (id = hg_view_next(s->view, type, id)).v) {
		if (!hg_view_read(s->view, id, f->at.offset, 8, &value))
			continue;
		to = hg_view_find(s->view, value);
		offset = to.v ? value - fl_search_node(s, to)->start : 0;
		for (k = 0; k < n && ret[k] != offset;)
			k++;
		if (k == n)
			ret[n++] = offset;
	}
	return n;
}

// A pointer to one declared type does not lead to a node of another.
static bool may_lead_to(const struct fl_search *s, const struct fl_candidate *f,
			struct hg_node_id to)
{
	int type = f->at.points_to ? spec_type_find(s->t->spec, f->at.points_to) : -1;

	return type < 0 || fl_search_node(s, to)->type == (uint32_t)type + 1;
}

static struct err *try_pointers(struct fl_search *s, uint32_t field)
{
	const struct fl_candidate *f = &s->fields.data[field];
	uint64_t offsets[OFFSETS_MAX];
	size_t n_offsets = usual_offsets(s, f, offsets);
	struct err *err = NULL;

	// The first reason counts.
	for (size_t i = 0; i < s->freed.size && !err; i++)
		err = add_try(s, field, s->freed.data[i], WHY_FREED);
	for (size_t i = 0; i < s->nodes.size && !err; i++) {
		uint64_t start = fl_search_node(s, s->nodes.data[i])->start;

		if (!may_lead_to(s, f, s->nodes.data[i]))
			continue;
		// Where the field leads into the midst of nodes, that is meant first.
		for (size_t k = n_offsets; k-- && !err;)
			if (offsets[k] < fl_search_node(s, s->nodes.data[i])->size)
				err = add_try(s, field, start + offsets[k], WHY_POINTER);
	}
	// A node of no declared type is known by what leads there: X.owner == Y.owner.
	for (size_t i = 0; i < s->direct.size && !err; i++) {
		const struct spec_read *r = &s->direct.data[i];
		uint64_t value;

		if (r->size == 8 &&
		    fl_field_shape(s->t->spec, s->t->graph, r->node, r->offset) ==
			    f->shape &&
		    hg_view_read(s->view, r->node, r->offset, 8, &value))
			err = add_try(s, field, value, WHY_POINTER);
	}
	return err ? err : add_try(s, field, 0, WHY_POINTER);
}

static struct err *try_numbers(struct fl_search *s, uint32_t field)
{
	const struct fl_candidate *f = &s->fields.data[field];
	uint64_t now = 0;
	struct err *err = NULL;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	for (size_t i = 0; i < s->args.gaps.size && !err; i++) {
		struct spec_gap g = s->args.gaps.data[i];
		uint64_t gap = (uint64_t)g.gap;
		enum fl_reason why = g.is_equality ? WHY_EQUATION : WHY_OTHER;
		const uint64_t values[] = { now + gap,	   now - gap,	  now + gap + 1,
					    now + gap - 1, now - gap + 1, now - gap - 1 };

		for (size_t k = 0; k < (g.is_equality ? 2 : 6) && !err; k++)
			err = add_try(s, field, values[k], why);
	}
	for (size_t i = 0; i < s->args.wants.size && !err; i++) {
		const struct spec_want *w = &s->args.wants.data[i];

		if (w->node.v == f->node.v && w->offset == f->at.offset)
			err = add_try(s, field, w->value,
				      w->is_equality ? WHY_EQUATION : WHY_OTHER);
	}
	for (uint64_t value = 0; value < 2 && !err; value++)
		err = add_try(s, field, value, WHY_OTHER);
	return err;
}

// What an equation that @p a is of wants the field to be; NULL: nothing.
static const struct spec_want *want_of(const struct spec_args *a,
				       const struct fl_candidate *f)
{
	return vec_find(&a->wants, w,
			w->is_equality && w->node.v == f->node.v &&
				w->offset == f->at.offset);
}

// One number that several violations are about, as a word of bits is, gets what each of them wants,
// one after the other.
static struct err *try_composed(struct fl_search *s, uint32_t field)
{
	const struct fl_candidate *f = &s->fields.data[field];
	const struct spec_want *first = NULL, *w;
	uint64_t value = 0, now;
	struct err *err = NULL;

	if (!hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now))
		return NULL;
	for (size_t i = 0; i < s->errors.size && i < FL_ROUNDS_MAX && !err; i++) {
		const struct spec_violation *v = &s->errors.data[i];

		err = spec_args_deep(s->eval, v->constraint, &v->binding, &s->wanted);
		w = err ? NULL : want_of(&s->wanted, f);
		if (!w)
			continue;
		// Each changes what it is about, and leaves the rest.
		value = first ? value ^ now ^ w->value : w->value;
		first = w;
	}
	return err || !first ? err : add_try(s, field, value, WHY_EQUATION);
}

struct err *fl_search_values(struct fl_search *s)
{
	struct err *err = NULL;

	s->tries.size = s->whys.size = 0;
	for (size_t i = 0; i < s->fields.size && !err; i++) {
		const struct fl_candidate *f = &s->fields.data[i];

		err = f->at.is_pointer && f->at.size == 8 ? try_pointers(s, i) :
							    try_numbers(s, i);
		if (!err && s->errors.size > 1 && want_of(&s->args, f))
			err = try_composed(s, i);
	}
	return err;
}
