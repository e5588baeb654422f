// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_usual.h"

#include <string.h>

// What is longer ago is not looked at.
#define PAST_MAX 1000000
// From what makes a store necessary to the store, at most so many operations.
#define REACH_MAX 64

/* ---- the other times ------------------------------------------------------------------------- */

/** How the node of a store is related to what made it necessary. */
enum relation {
	REL_SAME,   ///< it is the same node
	REL_TARGET, ///< the pointer stored leads to it
	REL_FORMER, ///< .. led to it before
	REL_POINTS, ///< it led into the node
	REL_ANY,
};

struct event {
	uint64_t index;
	struct hg_op op;
	struct hg_node_id target, former; ///< where a pointer leads, and led before
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

struct fl_past {
	const struct fl_usual *in;
	struct hg_op trigger;
	uint64_t trigger_shape, field_shape;
	bool is_pointer; ///< the trigger stored one
	bool is_field_pointer;
	bool is_young;	   ///< the node of the missing store was born in the operation
	uint32_t value;	   ///< VALUE_.. bits of what is due
	struct map shapes; ///< type and offset -> shape
	struct map births; ///< node -> index of the operation
	VEC(struct event) likes, stores; ///< the latest first
};

void fl_usual_deinit(struct fl_usual *u)
{
	struct fl_past *p = u->past;

	if (!p)
		return;
	map_deinit(&p->shapes);
	map_deinit(&p->births);
	vec_deinit(&p->likes);
	vec_deinit(&p->stores);
	free(p);
	u->past = NULL;
}

static uint64_t op_offset(const struct hg_graph *g, const struct hg_op *op)
{
	return op->addr - hg_graph_node(g, op->node)->start;
}

static bool is_within(const struct hg_graph *g, struct hg_node_id node, uint64_t addr)
{
	const struct hg_node *n = hg_graph_node(g, node);

	return addr >= n->start && addr - n->start < n->size;
}

static uint64_t shape_of(struct fl_past *p, const struct hg_op *op)
{
	const struct hg_graph *g = p->in->graph;
	const struct hg_node *n = hg_graph_node(g, op->node);
	uint64_t offset = op_offset(g, op), key = (uint64_t)n->type << 40 | offset, shape;
	const uint64_t *known = map_get(&p->shapes, key);

	if (known)
		return *known;
	shape = fl_field_shape(p->in->spec, g, op->node, offset);
	map_put(&p->shapes, key, shape); // without memory it is asked for again
	return shape;
}

static enum relation relation_of(const struct fl_past *p, const struct fl_missing *m)
{
	const struct hg_graph *g = p->in->graph;
	const struct hg_op *t = &p->trigger;
	uint64_t value = 0;

	if (t->node.v == m->node.v)
		return REL_SAME;
	if (t->kind == HG_OP_STORE && p->is_pointer && is_within(g, m->node, t->after))
		return REL_TARGET;
	if (t->kind == HG_OP_STORE && p->is_pointer && is_within(g, m->node, t->before))
		return REL_FORMER;
	if (m->size == 8 && hg_view_read(p->in->view, m->node, m->offset, 8, &value) &&
	    is_within(g, t->node, value))
		return REL_POINTS;
	return REL_ANY;
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

static bool is_like_trigger(struct fl_past *p, const struct hg_op *op)
{
	const struct hg_op *t = &p->trigger;

	if (op->kind != t->kind || hg_graph_node(p->in->graph, op->node)->type !=
					   hg_graph_node(p->in->graph, t->node)->type)
		return false;
	if (op->kind != HG_OP_STORE)
		return true;
	return !op->after == !t->after && (!p->is_pointer || !op->before == !t->before) &&
	       shape_of(p, op) == p->trigger_shape;
}

// The operations before span, the latest first.
static struct err *collect(struct fl_past *p, uint64_t end)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(p->in->graph, end, &v);
	struct event e = {};

	for (uint64_t n = 0; !err && n < PAST_MAX && hg_view_ops(v); n++) {
		bool is_like, is_store;

		hg_view_peek(v, &e.op);
		e.index = hg_view_ops(v) - 1;
		is_like = is_like_trigger(p, &e.op);
		is_store = e.op.kind == HG_OP_STORE &&
			   shape_of(p, &e.op) == p->field_shape;
		e.target.v = e.former.v = 0;
		if ((is_like && p->is_pointer) || (is_store && p->is_field_pointer)) {
			e.target = hg_view_find(v, e.op.after);
			e.former = hg_view_find(v, e.op.before);
		}
		if (e.op.kind == HG_OP_ALLOC && map_put(&p->births, e.op.node.v, e.index))
			err = &err_nomem;
		if (!err && is_like)
			err = vec_add(&p->likes, e);
		if (!err && is_store)
			err = vec_add(&p->stores, e);
		hg_view_back(v, NULL);
	}
	return err;
}

// Was the node born in the operation that like was part of? That is not known better than that
// it began as long before as it did this time.
static bool is_young(const struct fl_past *p, const struct event *like,
		     struct hg_node_id id)
{
	const uint64_t *birth = map_get(&p->births, id.v);
	uint64_t before = p->in->trigger - p->in->span->from;

	return birth && *birth + before >= like->index;
}

static uint32_t value_bits(const struct event *like, const struct hg_op *store,
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
static bool is_value_like(const struct fl_past *p, const struct event *like,
			  const struct event *store)
{
	uint32_t bits;

	if (!p->is_field_pointer)
		return true;
	bits = value_bits(like, &store->op, store->target,
			  is_young(p, like, store->target));
	return bits == p->value || bits & p->value;
}

static bool is_related(const struct fl_past *p, enum relation r, const struct event *like,
		       const struct event *s)
{
	const struct hg_op *store = &s->op;

	if (s->index == like->index)
		return false;
	switch (r) {
	case REL_SAME:
		return store->node.v == like->op.node.v;
	case REL_TARGET:
		return store->node.v == like->target.v;
	case REL_FORMER:
		return store->node.v == like->former.v;
	case REL_POINTS:
		return is_within(p->in->graph, like->op.node, store->before);
	case REL_ANY:
		return true;
	}
	return false;
}

// Until the same statement ran before, or after, like number i.
static void reach_of(const struct fl_past *p, size_t i, uint64_t *from, uint64_t *to)
{
	const struct event *e = &p->likes.data[i];

	*from = e->index > REACH_MAX ? e->index - REACH_MAX : 0;
	*to = e->index + REACH_MAX;
	for (size_t k = i; k-- && p->likes.data[k].index < *to;)
		if (p->likes.data[k].op.rip == e->op.rip)
			*to = p->likes.data[k].index;
	for (size_t k = i + 1; k < p->likes.size && p->likes.data[k].index > *from; k++)
		if (p->likes.data[k].op.rip == e->op.rip)
			*from = p->likes.data[k].index;
}

// The store that went with like number i, NULL: none. @is_odd: there were only such as are of
// another kind than the one that is missing.
static const struct event *store_with(const struct fl_past *p, enum relation r, size_t i,
				      size_t *at, bool *is_odd)
{
	const struct event *like = &p->likes.data[i];
	uint64_t from, to;

	*is_odd = false;

	reach_of(p, i, &from, &to);
	// The likes are met in the order of time, backward; so are the stores.
	while (*at < p->stores.size &&
	       p->stores.data[*at].index >= p->likes.data[i].index + REACH_MAX)
		++*at;
	for (size_t k = *at; k < p->stores.size && p->stores.data[k].index >= from; k++) {
		const struct event *e = &p->stores.data[k];

		if (e->index >= to || !is_related(p, r, like, e))
			continue;
		if (is_young(p, like, e->op.node) == p->is_young &&
		    is_value_like(p, like, e))
			return e;
		*is_odd = true;
	}
	return NULL;
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct dec_place place_of(const struct fl_usual *u, uint64_t rip)
{
	struct dec_place p = {};

	u->places->place(u->places->ctx, rip, &p);
	return p;
}

static bool is_in(const struct dec_place *p, const char *function)
{
	return p->function && function && !strcmp(p->function, function);
}

static bool is_same_line(const struct dec_place *a, const struct dec_place *b)
{
	return a->line && a->line == b->line && is_in(a, b->function);
}

// The statements of the function that ran this time, nearest to a line before and after it.
static void place_around(const struct fl_usual *u, struct fl_missing *m, int line,
			 uint64_t until)
{
	for (size_t i = 0; i < u->span->ops.size && u->span->from + i < until; i++) {
		struct dec_place p = place_of(u, u->span->ops.data[i].rip);

		if (!p.line || !is_in(&p, m->function))
			continue;
		if (p.line < line && (!m->has_after || p.line > m->after.line)) {
			m->after = p;
			m->has_after = true;
		}
		if (p.line > line && (!m->has_before || p.line < m->before.line)) {
			m->before = p;
			m->has_before = true;
		}
	}
}

// Did an operation touch a node of the violations, or lead there?
static bool is_near(const struct fl_usual *u, const struct hg_op *op)
{
	for (size_t i = 0; i < u->errors->size; i++)
		for (size_t k = 0; k < SPEC_MAX_VARS; k++) {
			struct hg_node_id id = u->errors->data[i].binding.node[k];

			if (id.v && (id.v == op->node.v ||
				     (op->kind == HG_OP_STORE && op->size == 8 &&
				      is_within(u->graph, id, op->after))))
				return true;
		}
	return false;
}

// Nobody shows where: behind the last statement of the trigger's function that touched the
// nodes or their neighbours, or before what released one.
static void place_without_usual(const struct fl_usual *u, struct fl_missing *m)
{
	const struct hg_op *t = &u->span->ops.data[u->trigger - u->span->from];
	struct dec_place last = place_of(u, t->rip);

	m->function = last.function;
	if (t->kind == HG_OP_FREE) {
		place_around(u, m, last.line, u->trigger);
		m->before = last;
		m->has_before = true;
		return;
	}
	for (size_t i = 0; i < u->span->ops.size; i++) {
		struct dec_place p = place_of(u, u->span->ops.data[i].rip);

		if (is_in(&p, m->function) && p.line > last.line &&
		    is_near(u, &u->span->ops.data[i]))
			last = p;
	}
	place_around(u, m, last.line, UINT64_MAX);
	m->after = last;
	m->has_after = true;
}

// As it is done as a rule, where this run of the function went the same way.
static bool place_as_usual(const struct fl_usual *u, struct fl_missing *m,
			   const struct event *like)
{
	const struct hg_op *t = &u->span->ops.data[u->trigger - u->span->from];
	struct dec_place now = place_of(u, t->rip), then = place_of(u, like->op.rip);
	bool is_here = false;

	for (size_t i = 0; i < u->span->ops.size && !is_here; i++) {
		struct dec_place p = place_of(u, u->span->ops.data[i].rip);

		is_here = is_in(&p, m->usual.function);
	}
	if (!is_same_line(&now, &then) || !is_here || !m->usual.line)
		return false;
	m->function = m->usual.function;
	place_around(u, m, m->usual.line, UINT64_MAX);
	return true;
}

// Where the store is made as a rule, something else was stored this time.
static bool is_misled_at(struct fl_past *p, const struct fl_missing *m)
{
	for (size_t i = 0; i < p->in->span->ops.size; i++) {
		const struct hg_op *op = &p->in->span->ops.data[i];
		struct dec_place at = place_of(p->in, op->rip);

		if (op->kind == HG_OP_STORE && is_same_line(&at, &m->usual) &&
		    shape_of(p, op) != p->field_shape)
			return true;
	}
	return false;
}

// What the missing store is in relation to the trigger.
static void prepare_missing(struct fl_past *p, const struct fl_missing *m)
{
	const struct fl_usual *u = p->in;
	uint64_t first = u->span->ops.data[0].time;
	struct hg_op store = { .node = m->node, .after = m->due };
	struct hg_node_id to = {};
	struct event trigger = { .op = p->trigger };

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
}

// Count the times before, those in which the trigger's very statement ran if there are any.
// @of, @usual: the last time that the store was made, and the store.
static void count_times(struct fl_past *p, enum relation r, struct fl_missing *m,
			const struct event **of, const struct event **usual)
{
	const struct fl_usual *u = p->in;
	struct dec_place now = place_of(u, p->trigger.rip);
	bool has_same = false, is_odd;
	size_t at = 0;

	for (size_t i = 0; i < p->likes.size; i++) {
		const struct event *e = &p->likes.data[i], *store;
		struct dec_place then;
		bool is_same = e->op.rip == p->trigger.rip;

		if ((u->since >= hg_view_ops(u->view) && is_wrong(p, e->op.node)) ||
		    (r == REL_TARGET && !e->target.v) ||
		    (r == REL_FORMER && !e->former.v))
			continue;
		if (!is_same) {
			then = place_of(u, e->op.rip);
			is_same = is_same_line(&now, &then);
		}
		if (has_same && !is_same)
			continue;
		if (is_same && !has_same) {
			has_same = true;
			m->n_calls = m->n_kept = m->n_odd = 0;
			*usual = NULL;
		}
		store = store_with(p, r, i, &at, &is_odd);
		m->n_odd += is_odd;
		if (is_odd)
			continue;
		m->n_calls++;
		m->n_kept += store != NULL;
		if (store && !*usual) {
			*usual = store;
			*of = e;
		}
	}
}

// What was done before, as far as it has to do with the trigger and fields like the one of m.
static struct err *past_of(struct fl_usual *u, const struct fl_missing *m,
			   struct fl_past **ret)
{
	uint64_t shape = fl_field_shape(u->spec, u->graph, m->node, m->offset);
	struct fl_past *p = u->past;
	struct dec_field f;

	*ret = p;
	if (p && p->field_shape == shape)
		return NULL;
	fl_usual_deinit(u);
	*ret = p = u->past = calloc(1, sizeof(*p));
	if (!p)
		return &err_nomem;
	p->in = u;
	p->field_shape = shape;
	p->is_field_pointer = m->size == 8 &&
			      fl_field_at(u->spec, u->graph, m->node, m->offset, &f) &&
			      f.is_pointer;
	p->trigger = u->span->ops.data[u->trigger - u->span->from];
	if (p->trigger.kind == HG_OP_STORE) {
		uint64_t offset = op_offset(u->graph, &p->trigger);

		p->trigger_shape = shape_of(p, &p->trigger);
		p->is_pointer =
			fl_field_at(u->spec, u->graph, p->trigger.node, offset, &f) &&
			f.is_pointer;
	}
	// Without a C-point before it, the span may begin with the end of the time before.
	return collect(p, u->since < hg_view_ops(u->view) ? u->span->from : u->trigger);
}

struct err *fl_usual_find(struct fl_usual *u, struct fl_missing *m, bool *is_misled)
{
	const struct event *usual = NULL, *of = NULL;
	enum relation r;
	struct fl_past *p;
	struct err *err = past_of(u, m, &p);

	if (err)
		return err;
	prepare_missing(p, m);
	r = relation_of(p, m);
	m->is_related = r != REL_ANY;
	count_times(p, r, m, &of, &usual);
	if (usual)
		m->usual = place_of(u, usual->op.rip);
	*is_misled = usual && is_misled_at(p, m);
	if (!usual || !place_as_usual(u, m, of))
		place_without_usual(u, m);
	return NULL;
}
