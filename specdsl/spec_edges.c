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

// Among more pointers a node is found by its address as fast.
#define SLOTS_SEARCHED 16

// So many removed nodes are kept before the arrays are packed.
#define DEAD_MAX 256

/* ---- life ------------------------------------------------------------------------------ */

struct err *spec_edges_init(struct edges *e, const struct spec *s,
			    const struct hg_graph *g, const struct hg_view *v)
{
	struct err *err = NULL;

	memset(e, 0, sizeof(*e));
	e->s = s;
	e->g = g;
	e->v = v;
	e->pointers = calloc(s->types.size + 1, sizeof(*e->pointers));
	if (!e->pointers)
		return &err_nomem;
	for (size_t i = 0; i < s->types.size && !err; i++)
		err = spec_pointers_make(&s->types.data[i], &e->pointers[i]);
	return err;
}

void spec_edges_deinit(struct edges *e)
{
	for (size_t i = 0; e->pointers && i < e->s->types.size; i++)
		spec_pointers_deinit(&e->pointers[i]);
	free(e->pointers);
	free(e->place);
	vec_deinit(&e->nodes);
	vec_deinit(&e->slots);
	map_deinit(&e->near);
	vec_deinit(&e->changes);
	vec_deinit(&e->component_sizes);
	spec_edges_drop_rows(e);
}

/* ---- one slot, one node ------------------------------------------------------------------ */

static struct edge_node *find_node(const struct edges *e, uint32_t id)
{
	uint32_t place = id < e->n_places ? e->place[id] : 0;

	return place ? &e->nodes.data[place - 1] : NULL;
}

static void tell_bytes(struct edges *e, enum edge_event event, uint32_t id,
		       uint64_t offset, uint32_t size)
{
	if (e->on_event && !e->is_silent)
		e->on_event(e->on_event_ctx, event, id, offset, size);
}

void spec_edges_tell(struct edges *e, enum edge_event event, uint32_t id)
{
	tell_bytes(e, event, id, 0, 0);
}

/** Take slot @p i out of the list of its value. */
static void unlink_slot(struct edges *e, size_t i)
{
	struct edge_slot *s = &e->slots.data[i];

	if (!s->value)
		return;
	if (s->next)
		e->slots.data[s->next - 1].prev = s->prev;
	if (s->prev)
		e->slots.data[s->prev - 1].next = s->next;
	else if (s->next)
		*map_get(&e->near, s->value / EDGE_NEAR_BYTES) = s->next;
	else
		map_remove(&e->near, s->value / EDGE_NEAR_BYTES);
}

static void link_slot(struct edges *e, size_t i)
{
	struct edge_slot *s = &e->slots.data[i];
	uint64_t *first;

	s->next = s->prev = 0;
	if (!s->value)
		return;
	first = map_get(&e->near, s->value / EDGE_NEAR_BYTES);
	if (!first && map_put(&e->near, s->value / EDGE_NEAR_BYTES, i + 1)) {
		s->value = 0;
		e->is_out_of_memory = true;
	}
	if (!first)
		return;
	s->next = *first;
	e->slots.data[s->next - 1].prev = i + 1;
	*first = i + 1;
}

/** Set the target of slot @p s of @p n and keep the degrees. */
static void set_target(struct edges *e, struct edge_node *n, struct edge_slot *s,
		       uint32_t target)
{
	struct edge_node *old = find_node(e, s->target), *new = find_node(e, target);
	uint32_t old_target = s->target;

	if (old_target == target)
		return;
	n->out += (target != 0) - (old_target != 0);
	if (old)
		old->in--;
	if (new)
		new->in++;
	s->target = target;
	spec_order_note_edge(e, n->id.v, old_target);
	spec_order_note_edge(e, n->id.v, target);
	tell_bytes(e, EDGE_OUT, n->id.v,
		   spec_pointers_offset(&e->pointers[n->type],
					s - e->slots.data - n->first_slot),
		   POINTER_BYTES);
	spec_edges_tell(e, EDGE_INTO, old_target);
	spec_edges_tell(e, EDGE_INTO, target);
}

/** Read slot @p slot of @p n again. */
static void read_slot(struct edges *e, struct edge_node *n, uint32_t slot)
{
	size_t i = (size_t)n->first_slot + slot;
	uint64_t value = 0;

	if (!hg_view_read(e->v, n->id, spec_pointers_offset(&e->pointers[n->type], slot),
			  POINTER_BYTES, &value))
		value = 0;
	if (value != e->slots.data[i].value) {
		unlink_slot(e, i);
		e->slots.data[i].value = value;
		link_slot(e, i);
	}
	set_target(e, n, &e->slots.data[i], value ? hg_view_find(e->v, value).v : 0);
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
	const struct pointers *p = &e->pointers[type];
	uint64_t n_slots = spec_pointers_count(p, h->size);
	struct edge_node *n;

	if (n_slots + e->slots.size >= UINT32_MAX)
		return err_new(ERR_UNSUPPORTED, "cannot check: over 4 G pointer fields");
	if (reserve_place(e, id.v) || vec_reserve(&e->slots, e->slots.size + n_slots))
		return &err_nomem;
	n = vec_push(&e->nodes);
	if (!n)
		return &err_nomem;
	n->id = id;
	n->type = type;
	n->start = h->start;
	n->end = h->start + h->size;
	n->is_live = true;
	n->first_slot = e->slots.size;
	n->n_slots = n_slots;
	for (uint64_t k = 0; k < n_slots; k++)
		e->slots.data[e->slots.size++] = (struct edge_slot){ .owner = id.v };
	e->place[id.v] = e->nodes.size;
	spec_order_note_node(e, n);
	return NULL;
}

static void read_node(struct edges *e, struct edge_node *n)
{
	for (uint32_t k = 0; k < n->n_slots; k++)
		read_slot(e, n, k);
}

static void remove_node(struct edges *e, struct edge_node *n)
{
	spec_edges_tell(e, EDGE_DIED, n->id.v);
	for (size_t i = n->first_slot; i < (size_t)n->first_slot + n->n_slots; i++) {
		set_target(e, n, &e->slots.data[i], 0);
		unlink_slot(e, i);
		e->slots.data[i].value = 0;
	}
	e->place[n->id.v] = 0;
	n->is_live = false;
	spec_order_note_node(e, n);
	e->n_dead++;
}

/* ---- the whole graph ---------------------------------------------------------------------- */

static struct err *read_all(struct edges *e)
{
	struct err *err;

	if (e->place)
		memset(e->place, 0, e->n_places * sizeof(*e->place));
	e->nodes.size = e->slots.size = e->n_dead = 0;
	map_deinit(&e->near);
	for (size_t t = 0; t < e->s->types.size; t++) {
		struct hg_node_id id = { 0 };

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

static struct err *rebuild(struct edges *e)
{
	struct err *err;

	spec_order_forget(e);
	e->is_silent = true;
	err = read_all(e);
	e->is_silent = false;
	spec_edges_tell(e, EDGE_ALL, 0);
	return err;
}

/** Forget the removed nodes. Nodes and slots get other indices. */
static void pack(struct edges *e)
{
	size_t n_nodes = 0, n_slots = 0;

	for (size_t i = 0; i < e->nodes.size; i++) {
		struct edge_node *n = &e->nodes.data[i];

		if (!n->is_live)
			continue;
		memmove(e->slots.data + n_slots, e->slots.data + n->first_slot,
			n->n_slots * sizeof(*e->slots.data));
		n->first_slot = n_slots;
		n_slots += n->n_slots;
		e->nodes.data[n_nodes++] = *n;
		e->place[n->id.v] = n_nodes;
	}
	e->nodes.size = n_nodes;
	e->slots.size = n_slots;
	e->n_dead = 0;
	e->has_changed = true;
	map_deinit(&e->near);
	for (size_t i = 0; i < n_slots; i++)
		link_slot(e, i);
}

/* ---- what is near an address --------------------------------------------------------------- */

typedef void (*slot_fn)(struct edges *e, struct edge_slot *s, void *ctx);

/** Call @p fn for each slot whose value is in or just behind the @p size bytes at
 * @p start. It may change the slot's value. */
static void visit_near(struct edges *e, uint64_t start, uint64_t size, slot_fn fn,
		       void *ctx)
{
	uint64_t first = start / EDGE_NEAR_BYTES, last = (start + size) / EDGE_NEAR_BYTES;

	if (last - first > e->slots.size) {
		for (size_t i = 0; i < e->slots.size; i++)
			if (e->slots.data[i].value &&
			    e->slots.data[i].value - start <= size)
				fn(e, &e->slots.data[i], ctx);
		return;
	}
	for (uint64_t near = first; near <= last; near++) {
		const uint64_t *head = map_get(&e->near, near);
		uint32_t next;

		for (uint32_t i = head ? *head : 0; i; i = next) {
			next = e->slots.data[i - 1].next;
			if (e->slots.data[i - 1].value - start <= size)
				fn(e, &e->slots.data[i - 1], ctx);
		}
	}
}

static void read_again(struct edges *e, struct edge_slot *s, void *ctx)
{
	struct edge_node *n = find_node(e, s->owner);

	(void)ctx;
	read_slot(e, n, s - e->slots.data - n->first_slot);
}

/** A slot may lead to a node already that is only being entered: it counts again then. */
static void forget_target(struct edges *e, struct edge_slot *s, void *ctx)
{
	if (s->target == *(uint32_t *)ctx)
		set_target(e, find_node(e, s->owner), s, 0);
}

struct source_search {
	void (*fn)(void *ctx, uint32_t id);
	void (*pointer_fn)(void *ctx, uint32_t id, uint64_t offset);
	void *ctx;
	uint32_t target;
};

static void found_near(struct edges *e, struct edge_slot *s, void *ctx)
{
	const struct source_search *search = ctx;
	const struct edge_node *n;

	if (s->target != search->target)
		return;
	if (search->fn) {
		search->fn(search->ctx, s->owner);
		return;
	}
	n = find_node(e, s->owner);
	search->pointer_fn(search->ctx, s->owner,
			   spec_pointers_offset(&e->pointers[n->type],
						s - e->slots.data - n->first_slot));
}

void spec_edges_pointers(struct edges *e, const struct edge_node *to,
			 void (*fn)(void *ctx, uint32_t id, uint64_t offset), void *ctx)
{
	struct source_search search = { .pointer_fn = fn,
					.ctx = ctx,
					.target = to->id.v };

	if (to->in)
		visit_near(e, to->start, to->end - to->start, found_near, &search);
}

void spec_edges_sources(struct edges *e, const struct edge_node *to,
			void (*fn)(void *ctx, uint32_t id), void *ctx)
{
	struct source_search search = { .fn = fn, .ctx = ctx, .target = to->id.v };

	if (to->in)
		visit_near(e, to->start, to->end - to->start, found_near, &search);
}

/* ---- one operation --------------------------------------------------------------------------- */

static bool is_touched(uint64_t slot, uint64_t offset, uint32_t size)
{
	return slot < offset + size && offset < slot + POINTER_BYTES;
}

/** Bytes of a node changed: read the slots that they touch. */
static void follow_store(struct edges *e, const struct hg_op *op)
{
	struct edge_node *n = find_node(e, op->node.v);
	const struct pointers *p = n ? &e->pointers[n->type] : NULL;
	uint64_t first, end;

	if (!n || op->before == op->after)
		return;
	tell_bytes(e, EDGE_NODE, n->id.v, op->addr - n->start, op->size);
	e->has_changed = true;
	spec_pointers_range(p, op->addr - n->start, op->size, &first, &end);
	for (uint64_t k = first; k < end && k < n->n_slots; k++)
		if (is_touched(spec_pointers_offset(p, k), op->addr - n->start, op->size))
			read_slot(e, n, k);
}

/** A node appeared or disappeared: pointers to where it is mean something else now. */
static struct err *follow_life(struct edges *e, struct hg_node_id id)
{
	const struct hg_node *h = hg_graph_node(e->g, id);
	struct edge_node *n = find_node(e, id.v);
	bool is_ours = h->type && h->type <= e->s->types.size;
	bool is_live = is_ours && hg_view_is_live(e->v, id);
	struct err *err;

	e->has_changed = true;
	spec_edges_tell(e, EDGE_LIFE, id.v);
	if (n && !is_live)
		remove_node(e, n);
	if (!n && is_live) {
		visit_near(e, h->start, h->size, forget_target, &id.v);
		err = add_node(e, id, h->type - 1);
		if (err)
			return err;
		spec_edges_tell(e, EDGE_BORN, id.v);
		read_node(e, &e->nodes.data[e->nodes.size - 1]);
	}
	visit_near(e, h->start, h->size, read_again, NULL);
	return NULL;
}

/** The view shows @p op now, or does not any more. It may be ahead: what is read is what
 * is there now, so that the order of operations does not matter. */
static struct err *follow(struct edges *e, const struct hg_op *op)
{
	struct err *err = NULL;

	if (op->kind == HG_OP_STORE)
		follow_store(e, op);
	else
		err = follow_life(e, op->node);
	if (!err && e->n_dead > DEAD_MAX && e->n_dead > e->nodes.size / 2)
		pack(e);
	return err;
}

/** After work that may have failed. */
static struct err *finish(struct edges *e, struct err *err)
{
	if (!err && e->is_out_of_memory)
		err = &err_nomem;
	e->is_out_of_memory = false;
	e->is_valid = !err;
	e->position = hg_view_ops(e->v);
	return err;
}

struct err *spec_edges_follow(struct edges *e, const struct hg_op *op)
{
	return finish(e, follow(e, op));
}

struct err *spec_edges_refresh(struct edges *e, bool *has_moved)
{
	uint64_t now = hg_view_ops(e->v), from = e->position, to = now;
	struct err *err = NULL;

	if (now < e->position) {
		from = now;
		to = e->position;
	}
	if (!e->is_valid || to - from > FOLLOW_OPS) {
		e->has_changed = true;
		err = finish(e, rebuild(e));
	} else if (to != from) {
		for (uint64_t i = from; i < to && !err; i++) {
			struct hg_op op = hg_graph_op(e->g, i);

			err = follow(e, &op);
		}
		err = finish(e, err);
	}
	*has_moved = e->has_changed;
	if (e->has_changed)
		spec_edges_drop_rows(e);
	e->has_changed = false;
	return err;
}

/* ---- questions ---------------------------------------------------------------------------- */

const struct edge_node *spec_edges_node(const struct edges *e, struct hg_node_id id)
{
	return find_node(e, id.v);
}

bool spec_edges_has(const struct edges *e, const struct edge_node *from,
		    struct hg_node_id to)
{
	const struct edge_slot *slots = e->slots.data + from->first_slot;

	for (uint32_t k = 0; to.v && k < from->n_slots; k++)
		if (slots[k].target == to.v)
			return true;
	return false;
}

bool spec_edges_target(const struct edges *e, struct hg_node_id from, uint64_t offset,
		       uint64_t value, struct hg_node_id *ret)
{
	const struct edge_node *n = find_node(e, from.v);
	const struct pointers *p = n ? &e->pointers[n->type] : NULL;

	for (uint32_t k = 0; p && k < p->n_once && k < SLOTS_SEARCHED; k++) {
		const struct edge_slot *s = &e->slots.data[n->first_slot + k];

		if (p->offsets[k] != offset)
			continue;
		ret->v = s->target;
		return s->value == value;
	}
	return false;
}
