// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A store that went to the wrong place: what it stored over is put back, and another field of the
 * same meaning, of that node or another, gets what it stored. Of a number that may be what it added.
 */
#include "faultlocate/fl_cure.h"

#define MOVES_MAX 4096
#define LOOKED_AT_MAX 4096 // bytes of a node

/** Where a store may have been meant for: what it stored over, and what that place gets. */
struct move {
	uint64_t op;
	struct fl_alteration undone, done;
};

struct moves {
	struct fl_cures *c;
	VEC(struct move) all;
};

/* ---- where to ---------------------------------------------------------------------------------- */

static struct err *add_move(struct moves *m, const struct fl_candidate *f,
			    const struct hg_op *op, struct hg_node_id node,
			    uint32_t offset, uint64_t value)
{
	uint64_t mask = f->at.size < 8 ? (UINT64_C(1) << 8 * f->at.size) - 1 : UINT64_MAX;
	struct move x = { f->last_op,
			  { f->node, f->at.offset, f->at.size, op->before },
			  { node, offset, f->at.size, value & mask } };
	uint64_t now;

	if (m->all.size >= MOVES_MAX || (node.v == f->node.v && offset == f->at.offset) ||
	    !hg_view_read(m->c->s.view, node, offset, f->at.size, &now) ||
	    now == x.done.value)
		return NULL;
	return vec_add(&m->all, x);
}

// The same value there; of a number, or as much more.
static struct err *add_values(struct moves *m, const struct fl_candidate *f,
			      const struct hg_op *op, struct hg_node_id node,
			      uint32_t offset)
{
	struct err *err = add_move(m, f, op, node, offset, op->after);
	uint64_t now;

	if (err || f->at.is_pointer ||
	    !hg_view_read(m->c->s.view, node, offset, f->at.size, &now) ||
	    now + op->after - op->before == op->after)
		return err;
	return add_move(m, f, op, node, offset, now + op->after - op->before);
}

// Another element of the array, or a pointer to the same type; the same field of another node.
static struct err *add_places(struct moves *m, const struct fl_candidate *f)
{
	const struct fl_search *s = &m->c->s;
	struct hg_op op = hg_graph_op(s->t->graph, f->last_op);
	const struct hg_node *n = fl_search_node(s, f->node);
	struct err *err = NULL;
	struct dec_field k;

	// A new node lacked what is put elsewhere, and what led to a node that is gone had to lead
	// somewhere else.
	if (op.size != f->at.size || op.addr != n->start + f->at.offset ||
	    !hg_view_is_live(m->c->before, f->node) ||
	    (f->at.is_pointer && op.before && !hg_view_find(s->view, op.before).v))
		return NULL;
	for (uint64_t at = 0; at < n->size && at < LOOKED_AT_MAX && !err;
	     at += f->at.size)
		if (fl_field_at(s->t->spec, s->t->graph, f->node, at, &k) &&
		    k.offset == at && k.size == f->at.size && !k.bit_size &&
		    (fl_field_shape(s->t->spec, s->t->graph, f->node, at) == f->shape ||
		     (k.is_pointer && f->at.is_pointer)))
			err = add_values(m, f, &op, f->node, at);
	for (size_t i = 0; i < s->nodes.size && !err; i++)
		if (fl_search_node(s, s->nodes.data[i])->type ==
		    fl_search_node(s, f->node)->type)
			err = add_values(m, f, &op, s->nodes.data[i], f->at.offset);
	return err;
}

/* ---- what then ---------------------------------------------------------------------------------- */

// Try the n pairs of @p all.
static struct err *try_pairs(struct fl_cures *c, const fl_alterations *all,
			     struct fl_outcome *ret)
{
	struct fl_whatif w = c->s.whatif;

	w.together = 2;
	return fl_whatif_try(&w, NULL, all->data, all->size / 2, ret, NULL);
}

static struct err *add_pair(fl_alterations *all, struct fl_alteration undone,
			    struct fl_alteration done)
{
	struct err *err = vec_add(all, undone);

	return err ? err : vec_add(all, done);
}

// Is what stands there asked for? Then not everything does as well.
static struct err *is_asked(struct fl_cures *c, const struct move *m, bool *ret)
{
	struct hg_node_id ids[] = { m->done.node, m->undone.node };
	struct fl_outcome outcomes[4] = {};
	fl_alterations all = {};
	struct err *err = NULL;

	for (uint32_t i = 0; i < 4 && !err; i++) {
		struct fl_alteration other = m->done;

		other.value = m->done.size == 8 &&
					      hg_view_find(c->s.view, other.value).v ?
				      fl_search_node(&c->s, ids[i % 2])->start :
				      other.value + i - 2 + (i > 1);
		if (other.value == m->done.value)
			other.value = 0;
		err = add_pair(&all, m->undone, other);
	}
	if (!err)
		err = try_pairs(c, &all, outcomes);
	*ret = false;
	for (size_t i = 0; i < all.size / 2; i++)
		*ret |= outcomes[i].n_left != 0;
	vec_deinit(&all);
	return err;
}

// All is right with m. Is it so because of what is done there?
static struct err *judge(struct fl_cures *c, const struct move *m)
{
	const struct fl_alteration both[] = { m->undone, m->done };
	struct fl_outcome undone = {};
	bool is_needed, is_odd = false;
	struct err *err;

	if (fl_cure_is_void(c, both, 2))
		return NULL;
	err = fl_whatif_try(&c->s.whatif, NULL, &m->undone, 1, &undone, NULL);
	is_needed = undone.n_left != 0;
	if (!err && !is_needed)
		err = is_asked(c, m, &is_needed);
	if (!err && is_needed)
		err = fl_cure_is_odd(c, &m->done, &is_odd);
	if (err || !is_needed)
		return err;
	return fl_cure_give(c, m->op, is_odd ? FL_CURE_ODD : FL_CURE_WHOLE, &m->done, 0);
}

struct err *fl_cure_move(struct fl_cures *c)
{
	struct moves m = { .c = c };
	fl_alterations pairs = {};
	_cleanup_free_ struct fl_outcome *outcomes = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < c->s.fields.size && !err; i++)
		if (c->s.fields.data[i].is_written)
			err = add_places(&m, &c->s.fields.data[i]);
	for (size_t i = 0; i < m.all.size && !err; i++)
		err = add_pair(&pairs, m.all.data[i].undone, m.all.data[i].done);
	outcomes = calloc(m.all.size + 1, sizeof(*outcomes));
	if (!err && !outcomes)
		err = &err_nomem;
	if (!err)
		err = try_pairs(c, &pairs, outcomes);
	for (size_t i = 0; i < m.all.size && !err; i++)
		if (!outcomes[i].n_left)
			err = judge(c, &m.all.data[i]);
	vec_deinit(&pairs);
	vec_deinit(&m.all);
	return err;
}
