// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_unwritten.h"

#include "faultlocate/fl_span.h"

// What has no declared type matters only as far as realloc() makes something of it that has one.
#define UNTYPED_MAX (1 << 20)

/** Which bytes of a node were written; one of which all were is not kept. */
struct bytes {
	uint64_t size, left; ///< left: that were not
	uint8_t *is_written; ///< a bit each; NULL: a free place
};

struct fl_tracker {
	const struct spec *s;
	const struct hg_graph *g;
	struct hg_view *view;
	struct map of; ///< node -> index into all
	VEC(struct bytes) all;
	VEC(uint32_t) free;
	struct hg_op last;  ///< operation
	struct bytes kept;  ///< of the node that it ended
	struct map told;    ///< node << 32 | offset -> 1
	struct map counted; ///< node << 32 | the field's shape -> 1
	fl_unwrittens *ret;
	uint32_t constraint, cpoint;
	uint64_t time;
	bool is_out_of_memory;
};

struct err *fl_tracker_create(const struct spec *s, const struct hg_graph *g,
			      fl_unwrittens *ret, struct fl_tracker **t)
{
	struct fl_tracker *new = calloc(1, sizeof(*new));
	struct err *err = new ? hg_view_create(g, 0, &new->view) : &err_nomem;

	if (err) {
		free(new);
		return err;
	}
	new->s = s;
	new->g = g;
	new->ret = ret;
	*t = new;
	return NULL;
}

void fl_tracker_destroy(struct fl_tracker *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->all.size; i++)
		free(t->all.data[i].is_written);
	free(t->kept.is_written);
	vec_deinit(&t->all);
	vec_deinit(&t->free);
	map_deinit(&t->of);
	map_deinit(&t->told);
	map_deinit(&t->counted);
	hg_view_destroy(t->view);
	free(t);
}

/* ---- what is written ------------------------------------------------------------------------- */

static struct bytes *bytes_of(const struct fl_tracker *t, struct hg_node_id id)
{
	const uint64_t *i = map_get(&t->of, id.v);

	return i ? &t->all.data[*i] : NULL;
}

static void drop(struct fl_tracker *t, struct hg_node_id id)
{
	struct bytes *b = bytes_of(t, id);

	free(t->kept.is_written);
	t->kept = (struct bytes){};
	if (!b)
		return;
	t->kept = *b;
	b->is_written = NULL;
	t->free.data[t->free.size++] = b - t->all.data;
	map_remove(&t->of, id.v);
}

static void write_bytes(struct bytes *b, uint64_t offset, uint64_t n)
{
	for (uint64_t i = offset; i < offset + n && i < b->size; i++) {
		b->left -= !(b->is_written[i / 8] >> i % 8 & 1);
		b->is_written[i / 8] |= 1 << i % 8;
	}
}

// What realloc() took along: it ended a node just before, by the same call.
static void take_along(struct fl_tracker *t, const struct hg_op *op, struct bytes *b)
{
	const struct hg_node *old;

	if (t->last.kind != HG_OP_FREE || t->last.rip != op->rip)
		return;
	old = hg_graph_node(t->g, t->last.node);
	for (uint64_t i = 0; i < old->size && i < b->size; i++)
		if (!t->kept.is_written || (t->kept.is_written[i / 8] >> i % 8 & 1))
			write_bytes(b, i, 1);
}

static struct err *add(struct fl_tracker *t, const struct hg_op *op)
{
	const struct hg_node *n = hg_graph_node(t->g, op->node);
	struct bytes b = { .size = n->size, .left = n->size };
	uint32_t i;

	if (!n->is_raw || !n->size || (!n->type && n->size > UNTYPED_MAX))
		return NULL;
	// drop() must not fail.
	if (vec_reserve(&t->free, t->all.size + 1) ||
	    vec_reserve(&t->all, t->all.size + 1))
		return &err_nomem;
	i = t->free.size ? t->free.data[t->free.size - 1] : t->all.size;
	b.is_written = calloc(n->size / 8 + 1, 1);
	if (!b.is_written || map_put(&t->of, op->node.v, i)) {
		free(b.is_written);
		return &err_nomem;
	}
	if (t->free.size)
		t->free.size--;
	else
		t->all.size++;
	t->all.data[i] = b;
	take_along(t, op, &t->all.data[i]);
	return NULL;
}

static void store(struct fl_tracker *t, const struct hg_op *op)
{
	struct bytes *b = bytes_of(t, op->node);

	if (!b)
		return;
	write_bytes(b, op->addr - hg_graph_node(t->g, op->node)->start, op->size);
	if (b->left)
		return;
	free(b->is_written);
	b->is_written = NULL;
	t->free.data[t->free.size++] = b - t->all.data;
	map_remove(&t->of, op->node.v);
}

struct err *fl_tracker_advance(struct fl_tracker *t, uint64_t n_ops, uint32_t cpoint,
			       uint64_t time)
{
	struct err *err = NULL;
	struct hg_op op;

	t->cpoint = cpoint;
	t->time = time;
	while (!err && hg_view_ops(t->view) < n_ops && hg_view_forward(t->view, &op)) {
		if (op.kind == HG_OP_STORE)
			store(t, &op);
		else if (op.kind == HG_OP_FREE)
			drop(t, op.node);
		else
			err = add(t, &op);
		t->last = op;
	}
	return err;
}

/* ---- what is read ---------------------------------------------------------------------------- */

void fl_tracker_constraint(struct fl_tracker *t, uint32_t constraint)
{
	t->constraint = constraint;
}

static struct err *tell(struct fl_tracker *t, const struct spec_read *r)
{
	const struct hg_node *n = hg_graph_node(t->g, r->node);
	uint64_t shape = fl_field_shape(t->s, t->g, r->node, r->offset);
	uint64_t key = (uint64_t)r->node.v << 32 | (uint32_t)shape;
	struct fl_unwritten *known;

	if (map_get(&t->counted, key))
		return NULL;
	if (map_put(&t->counted, key, 1))
		return &err_nomem;
	known = vec_find(t->ret, k,
			 k->shape == shape &&
				 hg_graph_node(t->g, k->node)->alloc_rip == n->alloc_rip);
	if (known) {
		known->n_nodes++;
		return NULL;
	}
	return vec_add(t->ret, (struct fl_unwritten){ .node = r->node,
						      .offset = r->offset,
						      .size = r->size,
						      .constraint = t->constraint,
						      .cpoint = t->cpoint,
						      .time = t->time,
						      .n_nodes = 1,
						      .shape = shape });
}

static bool is_unwritten(const struct bytes *b, const struct spec_read *r)
{
	for (uint64_t i = r->offset; i < r->offset + r->size && i < b->size; i++)
		if (!(b->is_written[i / 8] >> i % 8 & 1))
			return true;
	return false;
}

void fl_tracker_read(void *ctx, const struct spec_read *r)
{
	struct fl_tracker *t = ctx;
	const struct bytes *b = t->of.size ? bytes_of(t, r->node) : NULL;
	uint64_t key = (uint64_t)r->node.v << 32 | r->offset;

	if (!b || !is_unwritten(b, r) || map_get(&t->told, key))
		return;
	if (map_put(&t->told, key, 1) || tell(t, r))
		t->is_out_of_memory = true;
}

struct err *fl_tracker_error(struct fl_tracker *t)
{
	return t->is_out_of_memory ? &err_nomem : NULL;
}
