// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_missing.h"

#include "faultlocate/fl_remedy.h"

#define ERRORS_MAX 1000 // with more a constraint is wrong, or there is no telling
#define ROUND_NODES_MAX 4000000
#define KEPT_OF_TEN 8 // so often the other times, it is the rule

/* ---- is it the one? ------------------------------------------------------------------------- */

// Nobody stored the field since the node was allocated.
static bool is_never_written(const struct fl_search *s, const struct fl_candidate *f)
{
	return hg_graph_op(s->t->graph, f->last_op).kind == HG_OP_ALLOC;
}

static bool is_born_in_operation(const struct fl_search *s, struct hg_node_id id)
{
	return s->span.ops.size &&
	       fl_search_node(s, id)->born >= s->span.ops.data[0].time;
}

static struct err *add_suspect(struct fl_search *s, uint64_t op, struct fl_contribution c)
{
	c.op = op;
	return vec_find(s->suspects, k, k->op == op) ? NULL : vec_add(s->suspects, c);
}

// Would the same pointer, or any number, in the same field of another such node, where the
// operation did store, do as well? Then that store went wrong.
static const struct fl_candidate *find_wrong(const struct fl_search *s,
					     const struct fl_candidate *f, uint64_t due)
{
	for (size_t i = 0; i < s->tries.size; i++) {
		const struct fl_candidate *k = &s->fields.data[s->whys.data[i].field];

		if (k->is_written && k->shape == f->shape &&
		    (!f->at.is_pointer || (s->tries.data[i].value == due &&
					   hg_view_find(s->view, due).v != k->node.v)) &&
		    !s->outcomes.data[i].n_left &&
		    is_born_in_operation(s, k->node) == is_born_in_operation(s, f->node))
			return k;
	}
	return NULL;
}

static bool is_self(const struct fl_search *s, const struct fl_missing *m)
{
	return m->size == 8 && hg_view_find(s->view, m->due).v == m->node.v;
}

// Does it hold what the operation stored in the same field of a node that it made? So it is where
// that node is about to be put: n->next = p->next, and p->next = n is due.
static bool is_gap(const struct fl_search *s, const struct fl_candidate *f, uint64_t due)
{
	uint32_t to = hg_view_find(s->view, due).v;
	uint64_t now = 0;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	for (size_t i = 0; now && i < s->span.ops.size; i++) {
		const struct hg_op *op = &s->span.ops.data[i];

		if (op->kind == HG_OP_STORE && op->after == now && op->node.v == to &&
		    fl_search_node(s, op->node)->type ==
			    fl_search_node(s, f->node)->type &&
		    op->addr - fl_search_node(s, op->node)->start == f->at.offset &&
		    is_born_in_operation(s, op->node))
			return true;
	}
	return false;
}

// How sure is it that try i is what was missing? 0: it is not.
static struct err *judge(struct fl_search *s, size_t i, struct fl_missing *m, int *sure)
{
	const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];
	const struct fl_outcome *o = &s->outcomes.data[i];
	enum fl_reason why = s->whys.data[i].why;
	const struct fl_candidate *wrong;
	bool is_misled = false;
	struct err *err;

	*sure = 0;
	*m = (struct fl_missing){ .graph = s->t->graph,
				  .node = f->node,
				  .offset = f->at.offset,
				  .size = f->at.size,
				  .due = s->tries.data[i].value,
				  .last_op = f->last_op,
				  .trigger = s->trigger };
	// That there is nothing to ask for any more is no repair, but where it was cut out.
	if (!o->is_mended && why != WHY_FREED)
		return NULL;
	wrong = find_wrong(s, f, m->due);
	if (wrong)
		return add_suspect(s, wrong->last_op,
				   (struct fl_contribution){ .n_ready = 1 });
	err = fl_usual_find(&s->usual, m, &is_misled);
	if (err || is_misled)
		return err;
	// What is cut out of nothing needs no store, and counts as a time without.
	if (m->n_kept && m->n_kept >= m->n_odd &&
	    (why == WHY_FREED || m->n_kept * 10 >= m->n_calls * KEPT_OF_TEN))
		*sure = m->is_related || why != WHY_OTHER ? 8 : 0;
	else if (!m->n_calls && !m->n_odd && why != WHY_OTHER && f->is_direct &&
		 !is_self(s, m))
		*sure = 4;
	if (*sure)
		*sure += is_never_written(s, f) + 2 * is_gap(s, f, m->due);
	return NULL;
}

// The surest of those that leave nothing violated; else of those that leave less. One value of
// a field is judged, the first that mends.
static struct err *choose(struct fl_search *s, bool is_whole, struct fl_missing *ret,
			  int *best)
{
	struct err *err = NULL;

	*best = 0;
	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct fl_outcome *o = &s->outcomes.data[i];
		const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];
		struct fl_missing m;
		int sure;

		if (f->is_written || o->n_new || o->n_left >= s->errors.size ||
		    (is_whole && o->n_left) || (!is_whole && !o->is_mended))
			continue;
		err = judge(s, i, &m, &sure);
		if (!err && sure > *best) {
			*best = sure;
			*ret = m;
		}
	}
	return err;
}

/* ---- one after the other ---------------------------------------------------------------------- */

// The violations that are left when all of s->made is done.
static struct err *check_left(struct fl_search *s)
{
	s->errors.size = 0;
	return fl_whatif_try(&s->whatif, &s->made, NULL, 0, NULL, &s->errors);
}

// m leaves others, of which stores to the same field of other nodes leave none.
static struct err *follow(struct fl_search *s, struct fl_missing *m, bool *is_found)
{
	uint64_t shape = fl_field_shape(s->t->spec, s->t->graph, m->node, m->offset);
	const struct fl_candidate *f;
	struct err *err = vec_add(&s->made, (struct fl_alteration){ m->node, m->offset,
								    m->size, m->due });
	uint32_t n_max = ROUND_NODES_MAX / (hg_graph_nodes(s->t->graph) + 1) + 1;

	for (uint32_t round = 0; !err; round++) {
		size_t i;

		err = check_left(s);
		if (err || !s->errors.size || round == FL_ROUNDS_MAX || round == n_max) {
			*is_found = !err;
			m->n_more = round + (s->errors.size ? s->errors.size : 0);
			return err;
		}
		err = fl_search_fields(s);
		if (!err)
			err = fl_search_try(s);
		for (i = 0; i < s->tries.size && !err; i++) {
			f = &s->fields.data[s->whys.data[i].field];
			if (s->outcomes.data[i].is_mended && !s->outcomes.data[i].n_new &&
			    s->outcomes.data[i].n_left < s->errors.size &&
			    !f->is_written && f->shape == shape)
				break;
		}
		if (err || i == s->tries.size)
			return err;
		err = vec_add(&s->made, s->tries.data[i]);
	}
	return err;
}

// What stored a field as it was and had better stored something else.
static struct err *tell_again(struct fl_search *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];

		if (f->is_again && !s->outcomes.data[i].n_left &&
		    s->outcomes.data[i].is_mended)
			err = add_suspect(s, f->last_op,
					  (struct fl_contribution){ .n_same = 1 });
	}
	return err;
}

struct err *fl_missing_find(const struct fl_missing_query *q, struct fl_missing *ret,
			    bool *is_found, fl_contributions *suspects)
{
	_cleanup_(fl_search_deinit) struct fl_search s = { .q = q,
							   .t = q->trace,
							   .suspects = suspects };
	struct err *err;
	int sure = 0;

	*is_found = false;
	if (!s.t->n_errors || s.t->n_errors > ERRORS_MAX)
		return NULL;
	err = hg_view_create(s.t->graph, s.t->n_ops, &s.view);
	s.whatif = (struct fl_whatif){ s.t->spec, s.view, s.t->graph, s.t->is_checked };
	if (err || !fl_whatif_is_feasible(&s.whatif))
		return err;
	err = spec_eval_create(s.t->spec, s.t->graph, s.view, &s.eval);
	if (!err)
		err = check_left(&s);
	if (!err && !s.errors.size)
		return NULL;
	if (!err)
		err = fl_search_fields(&s);
	if (!err)
		err = fl_search_try(&s);
	if (!err)
		err = tell_again(&s);
	if (!err)
		err = choose(&s, true, ret, &sure);
	*is_found = !err && sure;
	if (err || sure)
		return err;
	err = choose(&s, false, ret, &sure);
	return err || !sure ? err : follow(&s, ret, is_found);
}

struct err *fl_missing_add(fl_faults *ret, const struct fl_missing *m,
			   const struct fl_places *places)
{
	struct hg_op op = hg_graph_op(m->graph, m->trigger);
	struct fl_fault f = { .time = op.time,
			      .instances = 1 + m->n_more,
			      .graph = m->graph,
			      .op = m->trigger,
			      .missing = m };

	places->place(places->ctx, op.rip, &f.place);
	if (m->has_after)
		f.place = m->after;
	else if (m->has_before)
		f.place = m->before;
	return vec_add(ret, f);
}
