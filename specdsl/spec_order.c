// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which nodes reach each other, kept while pointers change. Each node has a component and a
 * label, so that
 *
 *  1. along a pointer the component stays the same, or the label falls;
 *  2. the nodes of one component reach each other.
 *
 * Nothing leads back to a higher label, so the components are the strongly connected ones.
 * Both are easily kept by looking around what changed: a node without such a cycle moves to
 * a label between its neighbours'; a node that leaves a cycle, or a pointer of it, does no
 * harm when there is a way around nearby, as there is after each operation on a right list
 * or ring. Where that does not help Tarjan's algorithm (spec_paths.c) makes all anew.
 */
#include "specdsl/spec_edges.h"

// More changes than this are not followed one by one.
#define CHANGES_MAX 256

// Nodes that may leave cycles at a time, and their neighbours.
#define LEAVERS_MAX 8
#define NEAR_MAX 16

// So far ways around are searched for, in nodes.
#define DETOUR_MAX 64

/* ---- what changed ------------------------------------------------------------------------- */

void spec_order_forget(struct edges *e)
{
	e->has_order = false;
	e->changes.size = 0;
}

static struct edge_change *add_change(struct edges *e)
{
	struct edge_change *c = NULL;

	if (e->has_order && e->changes.size < CHANGES_MAX)
		c = vec_push(&e->changes);
	if (!c)
		spec_order_forget(e);
	return c;
}

void spec_order_note_edge(struct edges *e, uint32_t from, uint32_t to)
{
	struct edge_change *c = from && to ? add_change(e) : NULL;

	if (c)
		*c = (struct edge_change){ .kind = EDGE_CHANGE, .from = from, .to = to };
}

void spec_order_note_node(struct edges *e, const struct edge_node *n)
{
	struct edge_change *c = add_change(e);

	if (c)
		*c = (struct edge_change){ .kind = n->is_live ? NODE_ADDED : NODE_REMOVED,
					   .from = n->id.v,
					   .component = n->component };
}

/* ---- neighbours --------------------------------------------------------------------------- */

static struct edge_node *node_of(const struct edges *e, uint32_t id)
{
	return (struct edge_node *)spec_edges_node(e, (struct hg_node_id){ id });
}

static uint32_t *size_of(struct edges *e, const struct edge_node *n)
{
	return &e->component_sizes.data[n->component];
}

typedef void (*neighbour_fn)(void *ctx, uint32_t id);

static void each_target(const struct edges *e, const struct edge_node *n, neighbour_fn fn,
			void *ctx)
{
	for (uint32_t k = 0; k < n->n_slots; k++) {
		uint32_t id = e->slots.data[n->first_slot + k].target;

		if (id && spec_edges_node(e, (struct hg_node_id){ id }))
			fn(ctx, id);
	}
}

/** Some nodes, each once. */
struct near {
	uint32_t id[NEAR_MAX];
	uint32_t n;
	bool is_full;
};

static void near_add(void *ctx, uint32_t id)
{
	struct near *near = ctx;

	for (uint32_t i = 0; i < near->n; i++)
		if (near->id[i] == id)
			return;
	near->is_full |= near->n == NEAR_MAX;
	if (near->n < NEAR_MAX)
		near->id[near->n++] = id;
}

static bool near_has(const struct near *near, uint32_t id)
{
	for (uint32_t i = 0; i < near->n; i++)
		if (near->id[i] == id)
			return true;
	return false;
}

/** A search for a neighbour of a component. */
struct member {
	const struct edges *e;
	uint32_t component;
	bool is_found;
};

static void find_member(void *ctx, uint32_t id)
{
	struct member *m = ctx;

	m->is_found |= node_of(m->e, id)->component == m->component;
}

/** Do pointers lead to @p n, and from it, within its component? */
static bool is_between(struct edges *e, const struct edge_node *n)
{
	struct member in = { e, n->component, false }, out = in;

	each_target(e, n, find_member, &out);
	if (out.is_found)
		spec_edges_sources(e, n, find_member, &in);
	return in.is_found && out.is_found;
}

/* ---- labels ------------------------------------------------------------------------------- */

/** Between which labels a node belongs. */
struct bounds {
	const struct edges *e;
	const struct edge_node *n;
	int64_t low, high;
};

static bool is_bound(const struct bounds *b, const struct edge_node *other)
{
	return other->component && other->component != b->n->component;
}

static void bound_low(void *ctx, uint32_t id)
{
	struct bounds *b = ctx;
	const struct edge_node *other = node_of(b->e, id);

	if (is_bound(b, other) && other->label > b->low)
		b->low = other->label;
}

static void bound_high(void *ctx, uint32_t id)
{
	struct bounds *b = ctx;
	const struct edge_node *other = node_of(b->e, id);

	if (is_bound(b, other) && other->label < b->high)
		b->high = other->label;
}

/** Give @p n, alone in its component, a label between those of its neighbours. @return
 * whether there is one. */
static bool place(struct edges *e, struct edge_node *n)
{
	struct bounds b = { e, n, -ORDER_LABEL_MAX, ORDER_LABEL_MAX };
	bool has_low, has_high;

	each_target(e, n, bound_low, &b);
	spec_edges_sources(e, n, bound_high, &b);
	has_low = b.low > -ORDER_LABEL_MAX;
	has_high = b.high < ORDER_LABEL_MAX;
	if (!has_low && !has_high)
		b.low = b.high = 0;
	else if (!has_high)
		b.high = b.low += ORDER_LABEL_STEP;
	else if (!has_low)
		b.low = b.high -= ORDER_LABEL_STEP;
	else if (b.high - b.low < 2)
		return false;
	n->label = b.low + (b.high - b.low) / 2;
	return n->label > -ORDER_LABEL_MAX && n->label < ORDER_LABEL_MAX;
}

/** Does the pointer from @p u to @p v lead down, or can it be made to? */
static bool lead_down(struct edges *e, struct edge_node *u, struct edge_node *v)
{
	if (u->component == v->component || u->label > v->label)
		return true;
	return (*size_of(e, u) == 1 && place(e, u)) ||
	       (*size_of(e, v) == 1 && place(e, v));
}

static void set_ring(struct edges *e, struct edge_node *n, bool reaches_itself)
{
	if (n->reaches_itself == reaches_itself)
		return;
	n->reaches_itself = reaches_itself;
	spec_edges_tell(e, EDGE_RING, n->id.v);
}

/** @p n is in no cycle but maybe with itself. @return false when memory is out. */
static bool set_alone(struct edges *e, struct edge_node *n)
{
	if (vec_add(&e->component_sizes, 1))
		return false;
	n->component = e->component_sizes.size - 1;
	set_ring(e, n, spec_edges_has(e, n, n->id));
	return true;
}

/* ---- leaving a cycle ---------------------------------------------------------------------- */

/** Does a short path lead from @p from to @p to? */
static bool has_detour(struct edges *e, uint32_t from, uint32_t to)
{
	uint32_t seen[DETOUR_MAX] = { from }, n = 1;

	for (uint32_t i = 0; i < n; i++) {
		const struct edge_node *at = node_of(e, seen[i]);
		uint32_t k;

		for (uint32_t s = 0; s < at->n_slots && n < DETOUR_MAX; s++) {
			uint32_t id = e->slots.data[at->first_slot + s].target;

			if (id == to)
				return true;
			for (k = 0; k < n && seen[k] != id; k++)
				;
			if (k == n && id && node_of(e, id))
				seen[n++] = id;
		}
	}
	return from == to;
}

/** Nodes that leave component @p component, what led to them and where they led. */
struct leaving {
	struct edges *e;
	uint32_t component;
	struct near leavers, before, after;
};

/** @return the component that @p id is or was in, 0 when it is new. */
static uint32_t component_of(const struct edges *e, uint32_t id)
{
	const struct edge_node *n = node_of(e, id);

	for (size_t i = 0; !n && i < e->changes.size; i++)
		if (e->changes.data[i].kind == NODE_REMOVED &&
		    e->changes.data[i].from == id)
			return e->changes.data[i].component;
	return n ? n->component : 0;
}

static void add_stayer(struct leaving *l, struct near *to, uint32_t id)
{
	const struct edge_node *n = node_of(l->e, id);

	if (n && n->component == l->component && !near_has(&l->leavers, id))
		near_add(to, id);
}

static void add_before(void *ctx, uint32_t id)
{
	struct leaving *l = ctx;

	add_stayer(l, &l->before, id);
}

static void add_after(void *ctx, uint32_t id)
{
	struct leaving *l = ctx;

	add_stayer(l, &l->after, id);
}

static void find_leavers(struct leaving *l)
{
	struct edges *e = l->e;

	for (size_t i = 0; i < e->changes.size; i++) {
		const struct edge_change *c = &e->changes.data[i];
		uint32_t ids[2] = { c->from, c->kind == EDGE_CHANGE ? c->to : 0 };

		for (int k = 0; k < 2; k++) {
			const struct edge_node *n = node_of(e, ids[k]);

			if (ids[k] && component_of(e, ids[k]) == l->component &&
			    (!n || !is_between(e, n)))
				near_add(&l->leavers, ids[k]);
		}
	}
}

/** Those that stay reached each other by what is gone now: do they still, around it? */
static bool has_detours(struct leaving *l)
{
	struct edges *e = l->e;

	for (size_t i = 0; i < e->changes.size; i++) {
		const struct edge_change *c = &e->changes.data[i];
		bool is_from, is_to;

		if (c->kind != EDGE_CHANGE || component_of(e, c->from) != l->component ||
		    component_of(e, c->to) != l->component)
			continue;
		is_from = near_has(&l->leavers, c->from);
		is_to = near_has(&l->leavers, c->to);
		if (is_to && !is_from)
			near_add(&l->before, c->from);
		if (is_from && !is_to)
			near_add(&l->after, c->to);
		if (!is_from && !is_to && !has_detour(e, c->from, c->to))
			return false;
	}
	for (uint32_t i = 0; i < l->leavers.n; i++) {
		const struct edge_node *n = node_of(e, l->leavers.id[i]);

		if (!n)
			continue;
		each_target(e, n, add_after, l);
		spec_edges_sources(e, n, add_before, l);
	}
	for (uint32_t i = 0; i < l->before.n; i++)
		for (uint32_t k = 0; k < l->after.n; k++)
			if (!has_detour(e, l->before.id[i], l->after.id[k]))
				return false;
	return !l->before.is_full && !l->after.is_full;
}

/** Take from component @p component what is not in its cycles any more. @return false when
 * that cannot be done so. */
static bool leave(struct edges *e, uint32_t component)
{
	struct leaving l = { .e = e, .component = component };
	uint32_t *size = &e->component_sizes.data[component];

	if (*size < 2)
		return true;
	find_leavers(&l);
	if (l.leavers.n > LEAVERS_MAX || *size < l.leavers.n + 2 || !has_detours(&l))
		return false;
	*size -= l.leavers.n;
	for (uint32_t i = 0; i < l.leavers.n; i++) {
		struct edge_node *n = node_of(e, l.leavers.id[i]);

		if (n && (!set_alone(e, n) || !place(e, n)))
			return false;
	}
	return true;
}

static bool leave_all(struct edges *e)
{
	struct near done = {};

	for (size_t i = 0; i < e->changes.size; i++) {
		const struct edge_change *c = &e->changes.data[i];
		uint32_t component = component_of(e, c->from);
		uint32_t n = done.n;

		// Of a pointer both ends were in it, or it did not matter.
		if (!component ||
		    (c->kind == EDGE_CHANGE && component_of(e, c->to) != component))
			continue;
		near_add(&done, component);
		if (done.is_full || (done.n > n && !leave(e, component)))
			return false;
	}
	return true;
}

/* ---- entering ----------------------------------------------------------------------------- */

/** Is @p n, which is new, between nodes of one component? Then it is in it. */
static bool join(struct edges *e, struct edge_node *n)
{
	struct near in = {}, out = {};

	each_target(e, n, near_add, &out);
	if (!out.n)
		return false;
	spec_edges_sources(e, n, near_add, &in);
	for (uint32_t i = 0; i < in.n; i++) {
		for (uint32_t k = 0; k < out.n; k++) {
			struct edge_node *a = node_of(e, in.id[i]);

			if (!a->component ||
			    a->component != node_of(e, out.id[k])->component)
				continue;
			n->component = a->component;
			n->label = a->label;
			++*size_of(e, a);
			set_ring(e, a, true);
			set_ring(e, n, true);
			return true;
		}
	}
	return false;
}

/** The pointers between a node and its neighbours. */
struct around {
	struct edges *e;
	struct edge_node *n;
	bool is_right;
};

static void check_target(void *ctx, uint32_t id)
{
	struct around *a = ctx;
	struct edge_node *other = node_of(a->e, id);

	if (a->is_right && other->component)
		a->is_right = lead_down(a->e, a->n, other);
}

static void check_source(void *ctx, uint32_t id)
{
	struct around *a = ctx;
	struct edge_node *other = node_of(a->e, id);

	if (a->is_right && other->component)
		a->is_right = lead_down(a->e, other, a->n);
}

/** Enter @p n, which is new; neighbours that are so, too, are entered after it. */
static bool enter(struct edges *e, struct edge_node *n)
{
	struct around a = { e, n, true };

	if (!join(e, n))
		return set_alone(e, n) && place(e, n);
	each_target(e, n, check_target, &a);
	spec_edges_sources(e, n, check_source, &a);
	return a.is_right;
}

/** @return whether a node went and came back since: what it was in is not known. */
static bool has_returned(const struct edges *e)
{
	return vec_find(&e->changes, c, c->kind == NODE_REMOVED && node_of(e, c->from));
}

static bool follow_changes(struct edges *e)
{
	if (has_returned(e) || !leave_all(e))
		return false;
	for (size_t i = 0; i < e->changes.size; i++) {
		struct edge_node *n = node_of(e, e->changes.data[i].from);

		if (e->changes.data[i].kind == NODE_ADDED && n && !n->component &&
		    !enter(e, n))
			return false;
	}
	for (size_t i = 0; i < e->changes.size; i++) {
		const struct edge_change *c = &e->changes.data[i];
		struct edge_node *u, *v;

		if (c->kind != EDGE_CHANGE)
			continue;
		u = node_of(e, c->from);
		v = node_of(e, c->to);
		if (!u || !v)
			continue;
		if (*size_of(e, u) == 1)
			set_ring(e, u, spec_edges_has(e, u, u->id));
		if (spec_edges_has(e, u, v->id) && !lead_down(e, u, v))
			return false;
	}
	return true;
}

int spec_order_update(struct edges *e)
{
	// Each node that is alone takes a new number.
	bool is_full = e->component_sizes.size > 2 * e->nodes.size + CHANGES_MAX;
	int status = 0;

	if (!e->has_order || is_full || (e->changes.size && !follow_changes(e)))
		status = spec_order_make(e);
	e->changes.size = 0;
	e->has_order = !status;
	return status;
}
