// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/fl_past.h"

// From what makes a store necessary to the store, at most so many operations.
#define REACH_MAX 64

// So many other operations, of so many stores and allocations at most, may show what a part leaves to
// the whole.
#define OUTSIDE_TIMES 16
#define OUTSIDE_REACH 4096

// So often a number was set to the same, and it is a state.
#define STATE_TIMES 3

/* ---- the other times ------------------------------------------------------------------------- */

/** Was a store made with what made it necessary? */
enum with {
	WITH_NONE,
	WITH_ODD, ///< of another value
	WITH_AGED, ///< to a node made in the operation, and the one that is missing not; or so
	WITH_LIKE,
};

/** What a pointer that is stored, or due, is in relation to what made it necessary. */
enum {
	VALUE_NULL = 1,
	VALUE_NODE = 2,	  ///< the trigger's node
	VALUE_TARGET = 4, ///< where the trigger leads
	VALUE_FORMER = 8, ///< .. led before
	VALUE_SELF = 16,  ///< the node that it is stored to
	VALUE_YOUNG = 32, ///< a node that was born in the operation
};

static bool is_within(const struct hg_graph *g, struct hg_node_id node, uint64_t addr)
{
	const struct hg_node *n = hg_graph_node(g, node);

	return addr >= n->start && addr - n->start < n->size;
}

static enum fl_relation relation_of(const struct fl_past *p, const struct fl_missing *m)
{
	const struct hg_graph *g = p->in->graph;
	const struct hg_op *t = &p->trigger;
	uint64_t value = 0;

	if (t->node.v == m->node.v)
		return FL_REL_SAME;
	if (t->kind == HG_OP_STORE && p->is_pointer && is_within(g, m->node, t->after))
		return FL_REL_TARGET;
	if (t->kind == HG_OP_STORE && p->is_pointer && is_within(g, m->node, t->before))
		return FL_REL_FORMER;
	if (m->size == 8 && hg_view_read(p->in->view, m->node, m->offset, 8, &value) &&
	    is_within(g, t->node, value))
		return FL_REL_POINTS;
	return FL_REL_ANY;
}

// Is the node part of what is wrong at the C-point? Then that time was no good one.
static bool is_wrong(const struct fl_past *p, struct hg_node_id node)
{
	for (size_t i = 0; i < p->in->errors->size; i++)
		for (size_t k = 0; k < SPEC_MAX_VARS; k++)
			if (p->in->errors->data[i].binding.node[k].v == node.v)
				return true;
	return false;
}

/* ---- one of them -------------------------------------------------------------------------- */

static uint32_t value_bits(const struct fl_event *like, const struct hg_op *store,
			   struct hg_node_id leads_to, bool is_young)
{
	uint32_t id = leads_to.v;

	if (!id)
		return store->after ? 0 : VALUE_NULL;
	return (id == like->op.node.v ? VALUE_NODE : 0) |
	       (id == like->target.v ? VALUE_TARGET : 0) |
	       (id == like->former.v ? VALUE_FORMER : 0) |
	       (id == store->node.v ? VALUE_SELF : 0) | (is_young ? VALUE_YOUNG : 0);
}

// Does the value of a store stand where the one that is due does?
static bool is_value_like(const struct fl_past *p, const struct fl_event *like,
			  const struct hg_op *store, struct hg_node_id to)
{
	uint32_t bits;

	if (!p->is_field_pointer)
		return true;
	bits = value_bits(like, store, to, fl_past_is_young(p, like, to));
	return bits == p->value || bits & p->value;
}

static bool is_related(const struct fl_past *p, enum fl_relation r,
		       const struct fl_event *like, const struct fl_event *s)
{
	const struct hg_op *store = &s->op;

	if (s->index == like->index)
		return false;
	switch (r) {
	case FL_REL_SAME:
		return store->node.v == like->op.node.v;
	case FL_REL_TARGET:
		return store->node.v == like->target.v;
	case FL_REL_FORMER:
		return store->node.v == like->former.v;
	case FL_REL_POINTS:
		return is_within(p->in->graph, like->op.node, store->before);
	case FL_REL_ANY:
		return true;
	}
	return false;
}

// Until the same statement ran before, or after, like number i, or the operation on the
// structure began or ended.
static void reach_of(const struct fl_past *p, size_t i, uint64_t *from, uint64_t *to)
{
	const struct fl_event *e = &p->likes.data[i].e;
	uint64_t begin, end;

	fl_past_bounds(p, e->index, &begin, &end);
	*from = e->index > REACH_MAX ? e->index - REACH_MAX : 0;
	*to = e->index + REACH_MAX;
	*from = *from < begin ? begin : *from;
	*to = *to > end ? end : *to;
	for (size_t k = i; k-- && p->likes.data[k].e.index < *to;)
		if (p->likes.data[k].e.op.rip == e->op.rip)
			*to = p->likes.data[k].e.index;
	for (size_t k = i + 1; k < p->likes.size && p->likes.data[k].e.index > *from; k++)
		if (p->likes.data[k].e.op.rip == e->op.rip)
			*from = p->likes.data[k].e.index;
}

// The store that went with like number i, NULL: none that is like the one that is missing.
static const struct fl_event *store_with(const struct fl_past *p, enum fl_relation r,
					 size_t i, size_t *at, enum with *how)
{
	const struct fl_event *like = &p->likes.data[i].e;
	bool is_value;
	uint64_t from, to;

	*how = WITH_NONE;
	reach_of(p, i, &from, &to);
	// The likes are met in the order of time, backward; so are the stores.
	while (*at < p->stores.size &&
	       p->stores.data[*at].e.index >= like->index + REACH_MAX)
		++*at;
	for (size_t k = *at; k < p->stores.size && p->stores.data[k].e.index >= from;
	     k++) {
		const struct fl_event *e = &p->stores.data[k].e;

		if (e->index >= to || !is_related(p, r, like, e))
			continue;
		is_value = p->stores.data[k].steps & p->steps ||
			   is_value_like(p, like, &e->op, e->target);
		if (is_value && fl_past_is_young(p, like, e->op.node) == p->is_young) {
			*how = WITH_LIKE;
			return e;
		}
		*how = is_value ? WITH_AGED : *how == WITH_NONE ? WITH_ODD : *how;
	}
	return NULL;
}

// No store went with it, and all was right. Had one been necessary by the rule?
static bool was_due(const struct fl_past *p, enum fl_relation r,
		    const struct fl_like *like)
{
	const struct fl_held *h = r <= FL_REL_FORMER ? &like->held[r] : NULL;
	struct hg_op op = {};

	if (r == FL_REL_POINTS)
		return like->is_led;
	if (!p->is_field_pointer)
		return !p->is_exact;
	if (!h || !h->is_known)
		return true;
	op.node = r == FL_REL_SAME   ? like->e.op.node :
		  r == FL_REL_TARGET ? like->e.target :
				       like->e.former;
	op.after = !h->is_null;
	return !is_value_like(p, &like->e, &op, h->to);
}

/* ---- together ----------------------------------------------------------------------------- */

// Where the store is made as a rule, something else was stored this time.
static bool is_misled_at(struct fl_past *p, const struct fl_missing *m)
{
	for (size_t i = 0; i < p->in->span->ops.size; i++) {
		const struct hg_op *op = &p->in->span->ops.data[i];
		struct dec_place at = fl_usual_place(p->in, op->rip);

		if (op->kind == HG_OP_STORE && fl_is_same_line(&at, &m->usual) &&
		    fl_past_shape(p, op) != p->field_shape)
			return true;
	}
	return false;
}

// What the missing store is in relation to the trigger.
static void prepare_missing(struct fl_past *p, const struct fl_missing *m)
{
	const struct fl_usual *u = p->in;
	uint64_t first = u->span->ops.data[0].time, now;
	struct hg_op store = { .node = m->node, .after = m->due };
	struct hg_node_id to = {}, from;
	struct fl_event trigger = { .op = p->trigger };

	p->is_young = hg_graph_node(u->graph, m->node)->born >= first;
	if (!p->is_field_pointer)
		return;
	to = hg_view_find(u->view, m->due);
	if (p->is_pointer) {
		trigger.target = hg_view_find(u->view, p->trigger.after);
		trigger.former = hg_view_find(u->view, p->trigger.before);
	}
	p->value = value_bits(&trigger, &store, to,
			      to.v && hg_graph_node(u->graph, to)->born >= first);
	p->steps = 0;
	if (!hg_view_read(p->begin, m->node, m->offset, 8, &now))
		return;
	from = hg_view_find(p->begin, now);
	p->steps = fl_past_steps(p, p->begin, from, m->due) |
		   fl_past_steps(p, u->view, from, m->due);
}

// Is a time to be counted at all? Not where the node that stands in the relation was none.
static bool is_time(const struct fl_past *p, enum fl_relation r, const struct fl_event *e)
{
	return !(p->in->since >= hg_view_ops(p->in->view) && is_wrong(p, e->op.node)) &&
	       (r != FL_REL_TARGET || e->target.v) && (r != FL_REL_FORMER || e->former.v);
}

static bool is_in_function(const struct fl_usual *u, uint64_t rip, const char *function)
{
	const char *name = fl_usual_place(u, rip).function;

	return name && !strcmp(name, function);
}

static bool is_same_statement(const struct fl_usual *u, const struct hg_op *a,
			      const struct hg_op *b)
{
	struct dec_place x, y;

	if (a->rip == b->rip)
		return true;
	x = fl_usual_place(u, a->rip);
	y = fl_usual_place(u, b->rip);
	return fl_is_same_line(&x, &y);
}

// Does the trigger set a number that others, of other statements, always set to another? Then what went with
// theirs tells nothing of it: slot->state = USED, and slot->state = GONE here.
static bool is_other_state(const struct fl_past *p)
{
	size_t n = 0;

	if (p->trigger.kind != HG_OP_STORE || p->is_pointer)
		return false;
	for (size_t i = 0; i < p->likes.size; i++) {
		const struct hg_op *op = &p->likes.data[i].e.op;

		if (is_same_statement(p->in, &p->trigger, op) ||
		    op->after == p->trigger.after ||
		    op->after != p->likes.data[0].e.op.after)
			return false;
		n++;
	}
	return n >= STATE_TIMES;
}

// Count the times before, those in which the trigger's very statement ran if there are any.
// @of, @usual: the last time that the store was made, and the store.
static void count_times(struct fl_past *p, enum fl_relation r, struct fl_missing *m,
			const struct fl_event **of, const struct fl_event **usual)
{
	bool has_same = false, is_other = is_other_state(p);
	enum with how;
	size_t at = 0;

	for (size_t i = 0; i < p->likes.size && !is_other; i++) {
		const struct fl_event *e = &p->likes.data[i].e, *store;
		bool is_same;

		if (!is_time(p, r, e))
			continue;
		is_same = is_same_statement(p->in, &p->trigger, &e->op);
		if (has_same && !is_same)
			continue;
		if (is_same && !has_same) {
			has_same = true;
			m->n_calls = m->n_kept = m->n_odd = 0;
			*usual = NULL;
		}
		store = store_with(p, r, i, &at, &how);
		m->n_odd += how == WITH_ODD;
		if (how == WITH_ODD || how == WITH_AGED ||
		    (how == WITH_NONE && !was_due(p, r, &p->likes.data[i])))
			continue;
		m->n_calls++;
		m->n_kept += store != NULL;
		if (store && !*usual) {
			*usual = store;
			*of = e;
		}
	}
}

struct err *fl_usual_find(struct fl_usual *u, bool is_exact, struct fl_missing *m,
			  bool *is_misled)
{
	const struct fl_event *usual = NULL, *of = NULL;
	enum fl_relation r;
	struct fl_past *p;
	struct err *err = fl_past_of(u, m, &p);

	if (err)
		return err;
	p->is_exact = is_exact;
	prepare_missing(p, m);
	r = relation_of(p, m);
	m->is_related = r != FL_REL_ANY;
	count_times(p, r, m, &of, &usual);
	if (usual)
		m->usual = fl_usual_place(u, usual->op.rip);
	*is_misled = usual && is_misled_at(p, m);
	return fl_due_find(u, of, usual, m);
}

// Does @p function ever store such a field, as far as is known?
static bool is_storing(const struct fl_past *p, const char *function)
{
	const struct fl_span *now = p->in->span;

	for (size_t i = 0; i < p->stores.size; i++)
		if (is_in_function(p->in, p->stores.data[i].e.op.rip, function))
			return true;
	for (size_t i = 0; i < now->ops.size; i++)
		if (now->ops.data[i].kind == HG_OP_STORE &&
		    fl_past_shape(p->in->past, &now->ops.data[i]) == p->field_shape &&
		    is_in_function(p->in, now->ops.data[i].rip, function))
			return true;
	return false;
}

// Was such a field stored in @p s, which the trigger's statement is part of too, but for the trigger?
static bool is_beside(const struct fl_past *p, const struct fl_span *s)
{
	bool is_here = false, is_stored = false;

	for (size_t i = 0; i < s->ops.size; i++) {
		const struct hg_op *op = &s->ops.data[i];

		is_here |= s->from + i != p->in->trigger &&
			   is_same_statement(p->in, &p->trigger, op);
		is_stored |= op->kind == HG_OP_STORE &&
			     fl_past_shape(p->in->past, op) == p->field_shape;
	}
	return is_here && is_stored;
}

// Was the trigger's function part of @p s, another operation than this one, that was right and had no such
// field stored?
static bool is_without(const struct fl_past *p, const struct fl_span *s)
{
	const char *part = fl_usual_place(p->in, p->trigger.rip).function;
	bool is_here = false;

	for (size_t i = 0; i < s->ops.size; i++) {
		const struct hg_op *op = &s->ops.data[i];

		if ((op->kind == HG_OP_STORE &&
		     fl_past_shape(p->in->past, op) == p->field_shape) ||
		    is_in_function(p->in, op->rip, p->in->operation))
			return false;
		is_here |= is_in_function(p->in, op->rip, part);
	}
	return is_here;
}

typedef bool (*span_fn)(const struct fl_past *p, const struct fl_span *s);

// Is what was done from operation @p from to @p to of the history so?
static struct err *is_so(const struct fl_past *p, uint64_t from, uint64_t to, span_fn is,
			 bool *ret)
{
	struct fl_span s = {};
	struct err *err;

	if (to - from > OUTSIDE_REACH)
		return NULL;
	err = fl_span_load(p->in->graph, from, to, &s);
	*ret = !err && is(p, &s);
	fl_span_deinit(&s);
	return err;
}

struct err *fl_usual_is_outside(const struct fl_usual *u, bool *ret)
{
	const struct fl_past *p = u->past;
	const char *function = fl_usual_place(u, p->trigger.rip).function;
	const fl_bounds *b = u->bounds;
	struct err *err = NULL;
	size_t n;

	*ret = false;
	if (!function || !u->operation || !strcmp(function, u->operation) ||
	    is_storing(p, function))
		return NULL;
	*ret = is_beside(p, u->span);
	for (size_t i = 0; i < p->stores.size && i < OUTSIDE_TIMES && !*ret && !err;
	     i++) {
		uint64_t from, to;

		fl_past_bounds(p, p->stores.data[i].e.index, &from, &to);
		err = is_so(p, from, to, is_beside, ret);
	}
	// An operation lies between two bounds, and so does what comes between operations.
	n = vec_rank(b->size, k, b->data[k] <= u->since);
	for (size_t i = 1; i < n && i <= 2 * OUTSIDE_TIMES && !*ret && !err; i++)
		err = is_so(p, b->data[n - i - 1], b->data[n - i], is_without, ret);
	return err;
}

/* ---- what was stored ------------------------------------------------------------------------- */

struct err *fl_usual_is_proven(const struct fl_usual *u, uint64_t index, bool *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(u->graph, fl_past_end(u), &v);
	struct hg_op op = hg_graph_op(u->graph, index), k;
	struct map others = {}; // addresses of other statements

	*ret = false;
	for (uint64_t n = 0; !err && n < FL_PAST_MAX && hg_view_ops(v) && !*ret; n++) {
		hg_view_back(v, &k);
		if (k.kind != op.kind || map_get(&others, k.rip))
			continue;
		*ret = is_same_statement(u, &op, &k);
		if (!*ret && map_put(&others, k.rip, 1))
			err = &err_nomem;
	}
	map_deinit(&others);
	return err;
}

// Of the pointer that a like, or the trigger, stored.
static uint32_t kind_of(const struct fl_past *p, const struct fl_event *e)
{
	return value_bits(&(struct fl_event){}, &e->op, e->target,
			  fl_past_is_young(p, e, e->target));
}

bool fl_usual_is_constant(const struct fl_usual *u)
{
	const struct fl_past *p = u->past;

	for (size_t i = 0; i < p->stores.size; i++) {
		const struct fl_event *e = &p->stores.data[i].e;

		if (!fl_past_is_young(p, e, e->op.node))
			return false;
	}
	return p->stores.size;
}

bool fl_usual_is_odd(const struct fl_usual *u)
{
	const struct fl_past *p = u->past;
	struct fl_event now = { .index = u->trigger, .op = p->trigger };
	const struct hg_node *to;
	uint32_t all = UINT32_MAX, n = 0;

	if (!p->is_pointer)
		return false;
	for (size_t i = 0; i < p->likes.size; i++) {
		const struct fl_event *e = &p->likes.data[i].e;

		if (!is_same_statement(u, &p->trigger, &e->op))
			continue;
		all &= kind_of(p, e);
		n++;
	}
	now.target = hg_view_find(u->view, p->trigger.after);
	to = now.target.v ? hg_graph_node(u->graph, now.target) : NULL;
	return n && all & ~value_bits(&(struct fl_event){}, &now.op, now.target,
				      to && to->born >= u->span->ops.data[0].time);
}
