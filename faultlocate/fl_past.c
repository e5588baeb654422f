// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_past.h"

#include <string.h>

void fl_usual_deinit(struct fl_usual *u)
{
	struct fl_past *p = u->past;

	if (!p)
		return;
	map_deinit(&p->shapes);
	map_deinit(&p->births);
	hg_view_destroy(p->begin);
	vec_deinit(&p->likes);
	vec_deinit(&p->stores);
	free(p);
	u->past = NULL;
}

static uint64_t op_offset(const struct hg_graph *g, const struct hg_op *op)
{
	return op->addr - hg_graph_node(g, op->node)->start;
}

uint64_t fl_past_shape(struct fl_past *p, const struct hg_op *op)
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

static bool is_like_trigger(struct fl_past *p, const struct hg_op *op)
{
	const struct hg_op *t = &p->trigger;

	if (op->kind != t->kind || hg_graph_node(p->in->graph, op->node)->type !=
					   hg_graph_node(p->in->graph, t->node)->type)
		return false;
	if (op->kind != HG_OP_STORE)
		return true;
	return !op->after == !t->after && (!p->is_pointer || !op->before == !t->before) &&
	       fl_past_shape(p, op) == p->trigger_shape;
}

uint64_t fl_past_steps(const struct fl_past *p, const struct hg_view *v,
		       struct hg_node_id from, uint64_t value)
{
	uint64_t mask = 0, word;
	struct dec_field f;

	for (uint32_t i = 0; from.v && i < 64; i++)
		if (fl_field_at(p->in->spec, p->in->graph, from, 8 * i, &f) &&
		    f.is_pointer && f.offset == 8 * i &&
		    hg_view_read(v, from, 8 * i, 8, &word) && word == value)
			mask |= UINT64_C(1) << i;
	return mask;
}

static struct fl_held held_by(const struct fl_past *p, const struct hg_view *v,
			      struct hg_node_id id)
{
	struct fl_held h = {};
	uint64_t value;

	h.is_known = id.v && !p->is_element && p->is_field_pointer &&
		     fl_field_shape(p->in->spec, p->in->graph, id, p->field_offset) ==
			     p->field_shape &&
		     hg_view_read(v, id, p->field_offset, 8, &value);
	if (h.is_known) {
		h.is_null = !value;
		h.to = hg_view_find(v, value);
	}
	return h;
}

// The last operation that v shows.
static struct err *collect_one(struct fl_past *p, struct hg_view *v)
{
	struct fl_event e = { .index = hg_view_ops(v) - 1 };
	struct err *err = NULL;
	bool is_like, is_store;

	hg_view_peek(v, &e.op);
	is_like = is_like_trigger(p, &e.op);
	is_store = e.op.kind == HG_OP_STORE && fl_past_shape(p, &e.op) == p->field_shape;
	if ((is_like && p->is_pointer) || (is_store && p->is_field_pointer)) {
		e.target = hg_view_find(v, e.op.after);
		e.former = hg_view_find(v, e.op.before);
	}
	if (e.op.kind == HG_OP_ALLOC && map_put(&p->births, e.op.node.v, e.index))
		return &err_nomem;
	if (is_store)
		err = vec_add(
			&p->stores,
			(struct fl_made){ e, fl_past_steps(p, v, e.former, e.op.after) });
	return err || !is_like ?
		       err :
		       vec_add(&p->likes,
			       (struct fl_like){ .e = e,
						 .held = { held_by(p, v, e.op.node),
							   held_by(p, v, e.target),
							   held_by(p, v, e.former) } });
}

// Whose field led where, as the stores come; the last that led to a node.
struct leaders {
	struct map to;	   ///< field -> node
	struct map leader; ///< node -> field
};

static uint64_t field_key(const struct hg_graph *g, const struct hg_op *op)
{
	return (uint64_t)op->node.v << 32 | (uint32_t)op_offset(g, op);
}

static bool is_led(const struct fl_past *p, const struct leaders *l,
		   const struct fl_event *e)
{
	const uint64_t *by = map_get(&l->leader, e->op.node.v);
	const uint64_t *to = by ? map_get(&l->to, *by) : NULL;

	return to && *to == e->op.node.v &&
	       hg_graph_node(p->in->graph, (struct hg_node_id){ *by >> 32 })->died >
		       e->op.time;
}

// Of each like: did a field as that of the missing store lead into its node?
static struct err *find_leaders(struct fl_past *p)
{
	struct leaders l = {};
	struct err *err = NULL;
	size_t k = p->stores.size;

	for (size_t i = p->likes.size; i-- && !err;) {
		struct fl_like *like = &p->likes.data[i];

		for (; k && p->stores.data[k - 1].e.index < like->e.index && !err; k--) {
			const struct fl_event *s = &p->stores.data[k - 1].e;
			uint64_t key = field_key(p->in->graph, &s->op);

			if (map_put(&l.to, key, s->target.v) ||
			    (s->target.v && map_put(&l.leader, s->target.v, key)))
				err = &err_nomem;
		}
		like->is_led = is_led(p, &l, &like->e);
	}
	map_deinit(&l.to);
	map_deinit(&l.leader);
	return err;
}

// The operations before span, the latest first.
static struct err *collect(struct fl_past *p, uint64_t end)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(p->in->graph, end, &v);

	for (uint64_t n = 0; !err && n < FL_PAST_MAX && hg_view_ops(v); n++) {
		err = collect_one(p, v);
		hg_view_back(v, NULL);
	}
	return err ? err : find_leaders(p);
}

void fl_past_bounds(const struct fl_past *p, uint64_t i, uint64_t *from, uint64_t *to)
{
	const fl_bounds *b = p->in->bounds;
	size_t n = vec_rank(b->size, k, b->data[k] <= i);

	*from = n ? b->data[n - 1] : 0;
	*to = n < b->size ? b->data[n] : UINT64_MAX;
}

bool fl_past_is_young(const struct fl_past *p, const struct fl_event *like,
		      struct hg_node_id id)
{
	const uint64_t *birth = map_get(&p->births, id.v);
	uint64_t before = p->in->trigger - p->in->span->from, from, to;

	if (!birth || !p->in->bounds->size)
		return birth && *birth + before >= like->index;
	fl_past_bounds(p, like->index, &from, &to);
	return *birth >= from;
}

uint64_t fl_past_end(const struct fl_usual *u)
{
	// Without a C-point before it, the span may begin with the end of the time before.
	return u->since < hg_view_ops(u->view) ? u->span->from : u->trigger;
}

struct err *fl_past_of(struct fl_usual *u, const struct fl_missing *m,
		       struct fl_past **ret)
{
	uint64_t shape = fl_field_shape(u->spec, u->graph, m->node, m->offset);
	struct fl_past *p = u->past;
	struct dec_field f = {};
	struct err *err;

	*ret = p;
	if (p && p->field_shape == shape && p->field_offset == m->offset)
		return NULL;
	fl_usual_deinit(u);
	*ret = p = u->past = calloc(1, sizeof(*p));
	if (!p)
		return &err_nomem;
	p->in = u;
	p->field_shape = shape;
	p->field_offset = m->offset;
	fl_field_at(u->spec, u->graph, m->node, m->offset, &f);
	p->is_field_pointer = m->size == 8 && f.is_pointer;
	p->is_element = f.name && strchr(f.name, '[');
	p->trigger = u->span->ops.data[u->trigger - u->span->from];
	if (p->trigger.kind == HG_OP_STORE) {
		uint64_t offset = op_offset(u->graph, &p->trigger);

		p->trigger_shape = fl_past_shape(p, &p->trigger);
		p->is_pointer =
			fl_field_at(u->spec, u->graph, p->trigger.node, offset, &f) &&
			f.is_pointer;
	}
	err = hg_view_create(u->graph, u->span->from, &p->begin);
	return err ? err : collect(p, fl_past_end(u));
}
