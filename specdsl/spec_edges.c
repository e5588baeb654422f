// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The pointers between nodes of declared types, kept up to date with a view.
 */
#include <string.h>

#include "specdsl/spec_edges.h"

// Following more operations than this costs about as much as reading a small graph anew.
#define FOLLOW_OPS 256

#define POINTER_BYTES 8

/* ---- life ------------------------------------------------------------------------------ */

static struct err *make_layout(const struct spec_type *t, struct edge_layout *ret)
{
	uint32_t n = t->layout ? t->layout->n_fields : t->is_array ? 0 : t->n_fields;

	ret->element_bytes = t->is_array && t->layout ? t->layout->size : UINT64_MAX;
	if (!ret->element_bytes)
		return NULL; // an array of an incomplete struct: no pointers known
	ret->offsets = calloc(n + 1, sizeof(*ret->offsets));
	if (!ret->offsets)
		return &err_nomem;
	for (uint32_t i = 0; i < n; i++) {
		struct dec_field f;

		if (spec_field_at(t, i + 1, &f) && f.is_pointer && f.size == POINTER_BYTES)
			ret->offsets[ret->n_offsets++] = f.offset;
	}
	return NULL;
}

struct err *edges_init(struct edges *e, const struct spec *s, const struct hg_graph *g,
		       const struct hg_view *v)
{
	struct err *err = NULL;

	memset(e, 0, sizeof(*e));
	e->s = s;
	e->g = g;
	e->v = v;
	e->layouts = calloc(s->types.size + 1, sizeof(*e->layouts));
	if (!e->layouts)
		return &err_nomem;
	for (size_t i = 0; i < s->types.size && !err; i++)
		err = make_layout(&s->types.data[i], &e->layouts[i]);
	return err;
}

void edges_deinit(struct edges *e)
{
	for (size_t i = 0; e->layouts && i < e->s->types.size; i++)
		free(e->layouts[i].offsets);
	free(e->layouts);
	free(e->place);
	vec_deinit(&e->nodes);
	vec_deinit(&e->values);
	vec_deinit(&e->targets);
	vec_deinit(&e->first_source);
	vec_deinit(&e->sources);
	edges_drop_rows(e);
}

/* ---- one slot, one node ------------------------------------------------------------------ */

static struct edge_node *find_node(const struct edges *e, struct hg_node_id id)
{
	uint32_t place = id.v < e->n_places ? e->place[id.v] : 0;

	return place ? &e->nodes.data[place - 1] : NULL;
}

static uint64_t slot_offset(const struct edge_layout *l, uint64_t slot)
{
	if (slot < l->n_offsets)
		return l->offsets[slot];
	return slot / l->n_offsets * l->element_bytes + l->offsets[slot % l->n_offsets];
}

/** Set the target of slot @p i (among all) of @p n and keep the degrees. */
static void set_target(struct edges *e, struct edge_node *n, size_t i, uint32_t target)
{
	struct edge_node *old = find_node(e, (struct hg_node_id){e->targets.data[i]});
	struct edge_node *new = find_node(e, (struct hg_node_id){target});

	n->out += (target != 0) - (e->targets.data[i] != 0);
	if (old)
		old->in--;
	if (new)
		new->in++;
	e->targets.data[i] = target;
}

/** Read slot @p slot of @p n again. */
static void read_slot(struct edges *e, struct edge_node *n, uint32_t slot)
{
	size_t i = (size_t)n->first_slot + slot;
	uint64_t value = 0;

	if (!hg_view_read(e->v, n->id, slot_offset(&e->layouts[n->type], slot), POINTER_BYTES, &value))
		value = 0;
	e->values.data[i] = value;
	set_target(e, n, i, value ? hg_view_find(e->v, value).v : 0);
}

static int reserve_place(struct edges *e, uint32_t id)
{
	uint32_t n = hg_graph_nodes(e->g) + 1;
	uint32_t *p;

	if (id < e->n_places)
		return 0;
	p = realloc(e->place, n * sizeof(*p));
	if (!p)
		return -1;
	memset(p + e->n_places, 0, (n - e->n_places) * sizeof(*p));
	e->place = p;
	e->n_places = n;
	return 0;
}

/** Enter live node @p id; its slots are read later, when all nodes are there. */
static struct err *add_node(struct edges *e, struct hg_node_id id, uint32_t type)
{
	const struct hg_node *h = hg_graph_node(e->g, id);
	const struct edge_layout *l = &e->layouts[type];
	uint64_t n_elements = l->element_bytes == UINT64_MAX ? 1 : h->size / l->element_bytes;
	uint64_t n_slots = l->n_offsets ? n_elements * l->n_offsets : 0;
	struct edge_node *n;

	if (n_slots + e->values.size > UINT32_MAX)
		return err_new(ERR_UNSUPPORTED, "cannot check: over 4 G pointer fields");
	if (reserve_place(e, id.v) || vec_reserve(&e->values, e->values.size + n_slots) ||
	    vec_reserve(&e->targets, e->targets.size + n_slots))
		return &err_nomem;
	n = vec_push(&e->nodes);
	if (!n)
		return &err_nomem;
	n->id = id;
	n->type = type;
	n->start = h->start;
	n->end = h->start + h->size;
	n->is_live = true;
	n->first_slot = e->values.size;
	n->n_slots = n_slots;
	if (n_slots) {
		memset(e->values.data + e->values.size, 0, n_slots * sizeof(uint64_t));
		memset(e->targets.data + e->targets.size, 0, n_slots * sizeof(uint32_t));
	}
	e->values.size += n_slots;
	e->targets.size += n_slots;
	e->place[id.v] = e->nodes.size;
	return NULL;
}

static void read_node(struct edges *e, struct edge_node *n)
{
	for (uint32_t k = 0; k < n->n_slots; k++)
		read_slot(e, n, k);
}

static void remove_node(struct edges *e, struct edge_node *n)
{
	for (uint32_t k = 0; k < n->n_slots; k++) {
		set_target(e, n, (size_t)n->first_slot + k, 0);
		e->values.data[n->first_slot + k] = 0;
	}
	e->place[n->id.v] = 0;
	n->is_live = false;
	e->n_dead++;
}

/* ---- the whole graph ---------------------------------------------------------------------- */

static struct err *rebuild(struct edges *e)
{
	struct err *err;

	if (e->place)
		memset(e->place, 0, e->n_places * sizeof(*e->place));
	e->nodes.size = e->values.size = e->targets.size = e->n_dead = 0;
	for (size_t t = 0; t < e->s->types.size; t++) {
		struct hg_node_id id = {0};

		while ((id = hg_view_next(e->v, t + 1, id)).v) {
			err = add_node(e, id, t);
			if (err)
				return err;
		}
	}
	for (size_t i = 0; i < e->nodes.size; i++)
		read_node(e, &e->nodes.data[i]);
	return NULL;
}

/** The slots that may touch bytes @p offset to @p offset + @p size of a node. */
static void slot_range(const struct edge_layout *l, uint64_t offset, uint32_t size,
		       uint64_t *first, uint64_t *end)
{
	*first = 0;
	*end = l->n_offsets;
	if (l->element_bytes == UINT64_MAX)
		return;
	*first = offset / l->element_bytes * l->n_offsets;
	*end = ((offset + size - 1) / l->element_bytes + 1) * l->n_offsets;
}

static bool is_slot_touched(uint64_t slot, uint64_t offset, uint32_t size)
{
	return slot < offset + size && offset < slot + POINTER_BYTES;
}

/** Bytes of a node changed: read the slots that they touch. */
static void follow_store(struct edges *e, const struct hg_op *op)
{
	struct edge_node *n = find_node(e, op->node);
	const struct edge_layout *l = n ? &e->layouts[n->type] : NULL;
	uint64_t first, end;

	if (!n || !n->n_slots)
		return;
	slot_range(l, op->addr - n->start, op->size, &first, &end);
	for (uint64_t k = first; k < end && k < n->n_slots; k++)
		if (is_slot_touched(slot_offset(l, k), op->addr - n->start, op->size))
			read_slot(e, n, k);
}

enum edge_touch edges_touch(const struct edges *e, const struct hg_op *op)
{
	const struct hg_node *h = hg_graph_node(e->g, op->node);
	uint64_t offset = op->addr - h->start, first, end;
	const struct edge_layout *l;

	if (!h->type || h->type > e->s->types.size)
		return EDGE_TOUCH_NONE;
	l = &e->layouts[h->type - 1];
	slot_range(l, offset, op->size, &first, &end);
	for (uint64_t k = first; k < end; k++) {
		uint64_t slot = slot_offset(l, k);

		if (is_slot_touched(slot, offset, op->size))
			return slot == offset && op->size == POINTER_BYTES ? EDGE_TOUCH_WHOLE :
									     EDGE_TOUCH_PART;
	}
	return EDGE_TOUCH_NONE;
}

/** Slots may lead to @p id already, read before it was entered: they count again later. */
static void forget_target(struct edges *e, uint32_t id)
{
	for (size_t i = 0; i < e->nodes.size; i++) {
		struct edge_node *from = &e->nodes.data[i];

		for (uint32_t k = 0; k < from->n_slots; k++)
			if (e->targets.data[from->first_slot + k] == id)
				set_target(e, from, (size_t)from->first_slot + k, 0);
	}
}

/** A node appeared or disappeared: pointers to where it is mean something else now. */
static struct err *follow_life(struct edges *e, struct hg_node_id id)
{
	const struct hg_node *h = hg_graph_node(e->g, id);
	struct edge_node *n = find_node(e, id);
	bool is_ours = h->type && h->type <= e->s->types.size;
	bool is_live = is_ours && hg_view_is_live(e->v, id);
	struct err *err;

	if (n && !is_live)
		remove_node(e, n);
	if (!n && is_live) {
		forget_target(e, id.v);
		err = add_node(e, id, h->type - 1);
		if (err)
			return err;
		read_node(e, &e->nodes.data[e->nodes.size - 1]);
	}
	for (size_t i = 0; i < e->nodes.size; i++) {
		struct edge_node *from = &e->nodes.data[i];

		for (uint32_t k = 0; k < from->n_slots; k++)
			if (e->values.data[from->first_slot + k] - h->start <= h->size)
				read_slot(e, from, k);
	}
	return NULL;
}

struct err *edges_refresh(struct edges *e, bool *has_moved)
{
	uint64_t now = hg_view_ops(e->v), from, to;
	bool can_follow = e->is_valid && e->n_dead <= e->nodes.size / 2;
	struct err *err = NULL;

	*has_moved = !e->is_valid || now != e->position;
	if (!*has_moved)
		return NULL;
	from = now < e->position ? now : e->position;
	to = now < e->position ? e->position : now;
	edges_drop_rows(e);
	e->has_sources = false;
	e->is_valid = false;
	if (!can_follow || to - from > FOLLOW_OPS) {
		err = rebuild(e);
	} else {
		// Each step reads the view as it is now, so their order does not matter.
		for (uint64_t i = from; i < to && !err; i++) {
			struct hg_op op = hg_graph_op(e->g, i);

			if (op.kind == HG_OP_STORE)
				follow_store(e, &op);
			else
				err = follow_life(e, op.node);
		}
	}
	if (err)
		return err;
	e->position = now;
	e->is_valid = true;
	return NULL;
}

/* ---- questions ---------------------------------------------------------------------------- */

const struct edge_node *edges_node(const struct edges *e, struct hg_node_id id)
{
	return find_node(e, id);
}

bool edges_has(const struct edges *e, const struct edge_node *from, struct hg_node_id to)
{
	const uint32_t *targets = e->targets.data + from->first_slot;

	for (uint32_t k = 0; to.v && k < from->n_slots; k++)
		if (targets[k] == to.v)
			return true;
	return false;
}
