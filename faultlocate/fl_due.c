// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Between which statements a store was due. Where the very statements ran that do it as a rule:
 * where they do it. Where others did: in the place that the store has there among the stores that
 * both make. Where nobody shows it: behind what made it necessary first.
 */
#include <string.h>

#include "faultlocate/fl_usual.h"

// Statements of another time that are looked for in this one.
#define STEPS_MAX 64

struct dec_place fl_usual_place(const struct fl_usual *u, uint64_t rip)
{
	struct dec_place p = {};

	u->places->place(u->places->ctx, rip, &p);
	return p;
}

static bool is_in(const struct dec_place *p, const char *function)
{
	return p->function && function && !strcmp(p->function, function);
}

bool fl_is_same_line(const struct dec_place *a, const struct dec_place *b)
{
	return a->line && a->line == b->line && is_in(a, b->function);
}

static struct dec_place place_of_op(const struct fl_usual *u, size_t i)
{
	return fl_usual_place(u, u->span->ops.data[i].rip);
}

// The statements of the function that ran this time, nearest to a line before and after it.
static void place_around(const struct fl_usual *u, struct fl_missing *m, int line,
			 uint64_t until)
{
	for (size_t i = 0; i < u->span->ops.size && u->span->from + i < until; i++) {
		struct dec_place p = place_of_op(u, i);

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

static void place_behind(const struct fl_usual *u, struct fl_missing *m,
			 const struct dec_place *p)
{
	m->function = p->function;
	place_around(u, m, p->line, UINT64_MAX);
	m->after = *p;
	m->has_after = true;
}

static void place_ahead(const struct fl_usual *u, struct fl_missing *m,
			const struct dec_place *p, uint64_t until)
{
	m->function = p->function;
	place_around(u, m, p->line, until);
	m->before = *p;
	m->has_before = true;
}

static uint64_t shape_of(const struct fl_usual *u, const struct hg_op *op)
{
	return fl_field_shape(u->spec, u->graph, op->node,
			      op->addr - hg_graph_node(u->graph, op->node)->start);
}

/* ---- nobody shows it -------------------------------------------------------------------------- */

static bool is_within(const struct hg_graph *g, struct hg_node_id node, uint64_t addr)
{
	const struct hg_node *n = hg_graph_node(g, node);

	return addr >= n->start && addr - n->start < n->size;
}

// Is the operation about a violation that the node of m is part of: did it change one of the nodes,
// or make something lead there?
static bool is_about(const struct fl_usual *u, const struct fl_missing *m,
		     const struct hg_op *op)
{
	for (size_t i = 0; i < u->errors->size; i++) {
		const struct hg_node_id *ids = u->errors->data[i].binding.node;
		bool is_its = false, is_about = false;

		for (size_t k = 0; k < SPEC_MAX_VARS && ids[k].v; k++) {
			is_its |= ids[k].v == m->node.v;
			is_about |= ids[k].v == op->node.v ||
				    (op->kind == HG_OP_STORE && op->size == 8 &&
				     is_within(u->graph, ids[k], op->after));
		}
		if (is_its && is_about)
			return true;
	}
	return false;
}

// What made it necessary first, of the same function.
static uint64_t first_trigger(const struct fl_usual *u, const struct fl_missing *m)
{
	uint64_t first = u->trigger;
	struct dec_place last = place_of_op(u, u->trigger - u->span->from), p;

	for (size_t i = 0; i < u->found->size; i++) {
		const struct fl_contribution *c = &u->found->data[i];

		if (!c->introduces || c->op < u->span->from || c->op >= first)
			continue;
		p = place_of_op(u, c->op - u->span->from);
		if (is_in(&p, last.function) &&
		    is_about(u, m, &u->span->ops.data[c->op - u->span->from]))
			first = c->op;
	}
	return first;
}

// Behind the first statement that made it necessary; a number that sums up the structure comes
// behind the last that is about it, or stores such a number elsewhere.
static void place_by_trigger(const struct fl_usual *u, struct fl_missing *m)
{
	size_t at = first_trigger(u, m) - u->span->from;
	uint64_t shape = fl_field_shape(u->spec, u->graph, m->node, m->offset);
	struct dec_place p = place_of_op(u, at), k;

	if (u->span->ops.data[at].kind == HG_OP_FREE) {
		place_ahead(u, m, &p, u->trigger);
		return;
	}
	for (size_t i = 0; u->is_summed && i < u->span->ops.size; i++) {
		const struct hg_op *op = &u->span->ops.data[i];

		k = place_of_op(u, i);
		if (is_in(&k, p.function) && k.line > p.line &&
		    (is_about(u, m, op) ||
		     (op->kind == HG_OP_STORE && shape_of(u, op) == shape)))
			p = k;
	}
	place_behind(u, m, &p);
}

/* ---- another time shows it ------------------------------------------------------------------- */

// As it is done as a rule, where this run of the function went the same way.
static bool place_as_usual(const struct fl_usual *u, struct fl_missing *m,
			   const struct fl_event *like)
{
	struct dec_place now = place_of_op(u, u->trigger - u->span->from);
	struct dec_place then = fl_usual_place(u, like->op.rip);
	bool is_here = false;

	for (size_t i = 0; i < u->span->ops.size && !is_here; i++) {
		struct dec_place p = place_of_op(u, i);

		is_here = is_in(&p, m->usual.function);
	}
	if (!fl_is_same_line(&now, &then) || !is_here || !m->usual.line)
		return false;
	m->function = m->usual.function;
	place_around(u, m, m->usual.line, UINT64_MAX);
	return true;
}

/** The nodes that something is about: stored to, where it leads, and led before. */
struct roles {
	struct hg_node_id node[3];
};

static uint32_t role_of(const struct roles *r, struct hg_node_id id)
{
	uint32_t mask = 0;

	for (size_t i = 0; i < 3; i++)
		mask |= (id.v && r->node[i].v == id.v) << i;
	return mask;
}

// The operation of this time, nearest to the trigger, that does what op of another time did.
static size_t counterpart(const struct fl_usual *u, const struct roles *now,
			  const struct roles *then, const struct hg_op *op)
{
	size_t at = u->trigger - u->span->from, best = SIZE_MAX, far = SIZE_MAX;
	uint64_t shape = op->kind == HG_OP_STORE ? shape_of(u, op) : 0;

	for (size_t i = 0; op->kind == HG_OP_STORE && i < u->span->ops.size; i++) {
		const struct hg_op *k = &u->span->ops.data[i];
		size_t distance = i < at ? at - i : i - at;

		if (k->kind == HG_OP_STORE && distance < far &&
		    role_of(now, k->node) & role_of(then, op->node) &&
		    shape_of(u, k) == shape) {
			best = i;
			far = distance;
		}
	}
	return best;
}

// A statement that both times have, with its place then and its operation now.
struct shared {
	struct dec_place then;
	size_t now; ///< index in the span
};

// The one of the other time's function that comes next to the store, between it and what made
// it necessary. By lines: a compiler has its own order.
static bool find_shared(const struct fl_usual *u, const struct fl_span *s,
			const struct fl_event *like, const struct fl_event *store,
			struct shared *ret)
{
	const struct hg_op *t = &u->span->ops.data[u->trigger - u->span->from];
	struct roles then = { { like->op.node, like->target, like->former } }, now = {};
	struct dec_place of = fl_usual_place(u, store->op.rip);
	int end = fl_usual_place(u, like->op.rip).line;
	bool is_found = false, is_ahead = of.line < end;

	now.node[0] = t->node;
	if (t->size == 8) {
		now.node[1] = hg_view_find(u->view, t->after);
		now.node[2] = hg_view_find(u->view, t->before);
	}
	for (size_t i = 0; i < s->ops.size; i++) {
		struct dec_place p = fl_usual_place(u, s->ops.data[i].rip);
		size_t at = u->trigger - u->span->from;

		if (!is_in(&p, of.function) || p.line == of.line ||
		    (p.line < of.line) == is_ahead || (p.line < end) != is_ahead)
			if (s->from + i != like->index)
				continue;
		if (s->from + i != like->index)
			at = counterpart(u, &now, &then, &s->ops.data[i]);
		if (at == SIZE_MAX || (is_found && (p.line < ret->then.line) != is_ahead))
			continue;
		*ret = (struct shared){ p, at };
		is_found = true;
	}
	return is_found;
}

static struct err *place_among(const struct fl_usual *u, struct fl_missing *m,
			       const struct fl_event *like, const struct fl_event *store,
			       bool *is_done)
{
	struct dec_place first = fl_usual_place(u, like->op.rip), of, p;
	uint64_t low = store->index < like->index ? store->index : like->index;
	uint64_t high = store->index < like->index ? like->index : store->index;
	const struct hg_op *t = &u->span->ops.data[u->trigger - u->span->from];
	struct fl_span s = {};
	struct shared next;
	struct err *err;

	of = fl_usual_place(u, store->op.rip);
	if (t->kind != HG_OP_STORE || !is_in(&first, of.function) || !of.line)
		return NULL;
	low -= low < STEPS_MAX ? low : STEPS_MAX;
	err = fl_span_load(u->graph, low, high + STEPS_MAX, &s);
	*is_done = !err && find_shared(u, &s, like, store, &next);
	if (*is_done) {
		p = place_of_op(u, next.now);
		if (of.line < first.line)
			place_ahead(u, m, &p, UINT64_MAX);
		else
			place_behind(u, m, &p);
	}
	fl_span_deinit(&s);
	return err;
}

// A statement that stored what was due in other nodes, twice or more, and left this one out.
static bool place_in_loop(const struct fl_usual *u, struct fl_missing *m)
{
	uint64_t shape = fl_field_shape(u->spec, u->graph, m->node, m->offset);

	for (size_t i = 0; i < u->span->ops.size; i++)
		for (size_t k = i + 1; k < u->span->ops.size; k++) {
			const struct hg_op *a = &u->span->ops.data[i];
			const struct hg_op *b = &u->span->ops.data[k];
			struct dec_place p;

			if (a->kind != HG_OP_STORE || b->kind != HG_OP_STORE ||
			    a->rip != b->rip || a->node.v == b->node.v ||
			    a->after != m->due || b->after != m->due ||
			    shape_of(u, a) != shape || shape_of(u, b) != shape)
				continue;
			p = place_of_op(u, i);
			m->function = p.function;
			place_around(u, m, p.line, UINT64_MAX);
			return true;
		}
	return false;
}

// Not in a part that several operations have, but in the one that it is part of this time: beside what
// made it necessary.
static void place_outside(const struct fl_usual *u, struct fl_missing *m)
{
	m->function = u->operation;
	for (size_t i = 0; i < u->span->ops.size; i++) {
		struct dec_place p = place_of_op(u, i);

		if (!p.line || !is_in(&p, m->function))
			continue;
		if (u->span->from + i < u->trigger) {
			m->after = p;
			m->has_after = true;
		} else if (!m->has_before) {
			m->before = p;
			m->has_before = true;
		}
	}
}

struct err *fl_due_find(const struct fl_usual *u, const struct fl_event *like,
			const struct fl_event *store, struct fl_missing *m)
{
	bool is_done = store ? place_as_usual(u, m, like) : place_in_loop(u, m);
	bool is_outside = false;
	struct err *err = is_done ? NULL : fl_usual_is_outside(u, &is_outside);

	if (!err && is_outside)
		place_outside(u, m);
	is_done |= is_outside;
	if (!err && store && !is_done)
		err = place_among(u, m, like, store, &is_done);
	if (!err && !is_done)
		place_by_trigger(u, m);
	return err;
}
