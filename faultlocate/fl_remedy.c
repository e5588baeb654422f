// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_remedy.h"

#define ERRORS_MAX 1000 // with more a constraint is wrong, or there is no telling
#define NODES_MAX 48	// whose fields may be what is missing
#define FIELDS_MAX 512
#define LOOKED_AT_MAX 65536 // bytes of a node, for pointers
#define FLAGS_MIN 4	    // nodes that show that a number is a condition
#define FLAGS_MAX 1000

void fl_search_deinit(struct fl_search *s)
{
	spec_eval_destroy(s->eval);
	hg_view_destroy(s->view);
	vec_deinit(&s->errors);
	spec_args_deinit(&s->args);
	spec_args_deinit(&s->wanted);
	vec_deinit(&s->direct);
	fl_span_deinit(&s->span);
	fl_usual_deinit(&s->usual);
	vec_deinit(&s->nodes);
	vec_deinit(&s->fields);
	vec_deinit(&s->tries);
	vec_deinit(&s->whys);
	vec_deinit(&s->freed);
	vec_deinit(&s->outcomes);
	vec_deinit(&s->made);
}

/* ---- which fields --------------------------------------------------------------------------- */

static struct err *add_node(struct fl_search *s, struct hg_node_id id)
{
	if (!id.v || s->nodes.size >= NODES_MAX || !hg_view_is_live(s->view, id) ||
	    !fl_search_node(s, id)->type || vec_find(&s->nodes, n, n->v == id.v))
		return NULL;
	return vec_add(&s->nodes, id);
}

static struct err *add_freed(struct fl_search *s, const struct hg_op *op, uint64_t index)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(s->t->graph, index, &v);
	struct dec_field f;
	uint64_t value;

	for (uint64_t at = 0; !err && at + 8 <= fl_search_node(s, op->node)->size;
	     at += 8)
		if (fl_field_at(s->t->spec, s->t->graph, op->node, at, &f) &&
		    f.is_pointer && hg_view_read(v, op->node, at, 8, &value) &&
		    s->freed.size < NODES_MAX)
			err = vec_add(&s->freed, value);
	return err;
}

static bool is_counted(const struct spec_args *a)
{
	return vec_find(&a->args, x, x->is_derived) != NULL;
}

struct neighbours {
	struct fl_search *s;
	struct err *err;
};

static void add_neighbour(void *ctx, uint32_t owner, uint64_t offset)
{
	struct neighbours *n = ctx;

	(void)offset;
	if (!n->err)
		n->err = add_node(n->s, (struct hg_node_id){ owner });
}

// What leads where the operation made something lead: it may have been to lead elsewhere.
static struct err *add_neighbours(struct fl_search *s)
{
	struct neighbours n = { .s = s };
	struct err *err = NULL;

	for (size_t i = 0; i < s->span.ops.size && s->nodes.size < NODES_MAX && !err;
	     i++) {
		const struct hg_op *op = &s->span.ops.data[i];
		struct hg_node_id to = {};

		if (op->kind == HG_OP_STORE && op->size == 8)
			to = hg_view_find(s->view, op->after);
		if (to.v && fl_search_node(s, to)->type)
			err = spec_pointers(s->eval, to, add_neighbour, &n);
	}
	return err ? err : n.err;
}

// What leads to a node of which the operation stored a number that was read: attributes sum up what
// is below.
static struct err *add_summing(struct fl_search *s)
{
	struct neighbours n = { .s = s };
	struct err *err = NULL;

	for (size_t i = 0; i < s->span.ops.size && s->nodes.size < NODES_MAX && !err;
	     i++) {
		const struct hg_op *op = &s->span.ops.data[i];
		uint64_t at = op->addr - fl_search_node(s, op->node)->start;

		if (op->kind == HG_OP_STORE && hg_view_is_live(s->view, op->node) &&
		    fl_search_node(s, op->node)->type &&
		    !hg_view_find(s->view, op->after).v &&
		    vec_find(&s->args.reads, r,
			     r->node.v == op->node.v && r->offset == at))
			err = spec_pointers(s->eval, op->node, add_neighbour, &n);
	}
	return err ? err : n.err;
}

// Those of the violation, then those that the operation touched, the nearest to the trigger
// first.
static struct err *find_nodes(struct fl_search *s)
{
	size_t at = s->trigger - s->span.from, n = s->span.ops.size;
	struct err *err = NULL;

	for (size_t i = 0; i < SPEC_MAX_VARS && !err; i++)
		err = add_node(s, s->about->binding.node[i]);
	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = add_node(s, s->args.reads.data[i].node);
	for (size_t i = 0; i < 2 * n && !err; i++) {
		size_t k = i % 2 ? at + 1 + i / 2 : at - i / 2;
		const struct hg_op *op;

		if (i % 2 ? k >= n : i / 2 > at)
			continue;
		op = &s->span.ops.data[k];
		if (op->kind == HG_OP_FREE && fl_search_node(s, op->node)->type)
			err = add_freed(s, op, s->span.from + k);
		else
			err = add_node(s, op->node);
		if (!err && op->kind == HG_OP_STORE && op->size == 8)
			err = add_node(s, hg_view_find(s->view, op->after));
		if (!err && op->kind == HG_OP_STORE && op->size == 8)
			err = add_node(s, hg_view_find(s->view, op->before));
	}
	return err ? err : add_neighbours(s);
}

static struct err *add_field(struct fl_search *s, struct hg_node_id node, uint64_t offset)
{
	struct fl_candidate f = { .node = node };

	if (s->fields.size >= FIELDS_MAX || !hg_view_is_live(s->view, node) ||
	    !vec_find(&s->nodes, n, n->v == node.v) ||
	    !fl_field_at(s->t->spec, s->t->graph, node, offset, &f.at) || !f.at.size ||
	    f.at.size > 8 || f.at.bit_size || f.at.is_float ||
	    f.at.offset + f.at.size > fl_search_node(s, node)->size ||
	    vec_find(&s->fields, k, k->node.v == node.v && k->at.offset == f.at.offset))
		return NULL;
	f.is_direct = vec_find(&s->direct, r,
			       r->node.v == node.v && r->offset == f.at.offset) != NULL;
	f.shape = fl_field_shape(s->t->spec, s->t->graph, node, f.at.offset);
	return vec_add(&s->fields, f);
}

// A number: was all right that the violation is about when it was stored, and went wrong afterwards,
// not by another field that is compared with it?
static struct err *was_right(struct fl_search *s, const struct fl_candidate *f, bool *ret)
{
	const struct spec_violation *v = s->about;
	struct hg_op t = hg_graph_op(s->t->graph, s->trigger);
	uint64_t offset = t.addr - fl_search_node(s, t.node)->start;
	struct err *err = NULL;

	*ret = false;
	if (!f->is_direct || f->at.is_pointer || f->is_again ||
	    f->last_op >= s->trigger ||
	    vec_find(&s->direct, r, r->node.v == t.node.v && r->offset == offset))
		return NULL;
	err = spec_eval_seek(s->eval, s->view, f->last_op + 1);
	if (!err)
		err = spec_guard(s->eval, v->constraint, &v->binding, ret);
	if (!err && *ret)
		err = spec_check_one(s->eval, v->constraint, &v->binding, ret);
	return err ? err : spec_eval_seek(s->eval, s->view, s->t->n_ops);
}

// Which of them the operation wrote, and had not better written again.
static struct err *find_writers(struct fl_search *s)
{
	VEC(struct hg_written) w = {};
	struct err *err = NULL;

	for (size_t i = 0; i < s->fields.size && !err; i++)
		err = vec_add(
			&w, (struct hg_written){ .node = s->fields.data[i].node,
						 .offset = s->fields.data[i].at.offset });
	if (!err)
		err = hg_view_last_writes(s->view, w.data, w.size);
	for (size_t i = 0; i < w.size && !err; i++) {
		struct fl_candidate *f = &s->fields.data[i];
		struct hg_op op = hg_graph_op(s->t->graph, w.data[i].index);

		f->last_op = w.data[i].index;
		f->is_written = op.kind == HG_OP_STORE && f->last_op >= s->since;
		f->is_again = f->is_written && op.before == op.after;
		if (f->is_written) {
			bool is_right;

			err = was_right(s, f, &is_right);
			f->is_written = !is_right;
		}
	}
	vec_deinit(&w);
	return err;
}

// What was read for the violation, and where pointers were counted or followed any pointer.
static struct err *find_fields(struct fl_search *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = add_field(s, s->args.reads.data[i].node,
				s->args.reads.data[i].offset);
	for (size_t i = 0; is_counted(&s->args) && i < s->nodes.size && !err; i++) {
		struct hg_node_id id = s->nodes.data[i];
		struct dec_field f;

		for (uint64_t at = 0;
		     at + 8 <= fl_search_node(s, id)->size && at < LOOKED_AT_MAX &&
		     !err && s->fields.size < FIELDS_MAX;
		     at += 8)
			if (fl_field_at(s->t->spec, s->t->graph, id, at, &f) &&
			    f.is_pointer)
				err = add_field(s, id, at);
	}
	return err ? err : find_writers(s);
}

// Of nodes whose field holds 0 and 1 alone: it is a condition, and no other number.
static bool is_flag(const struct fl_search *s, const struct fl_candidate *f)
{
	uint32_t type = fl_search_node(s, f->node)->type, n = 0, n_set = 0;
	struct hg_node_id id = { 0 };
	uint64_t value;

	if (f->at.is_pointer)
		return false;
	while ((id = hg_view_next(s->view, type, id)).v && n < FLAGS_MAX) {
		if (!hg_view_read(s->view, id, f->at.offset, f->at.size, &value))
			continue;
		if (value > 1)
			return false;
		n++;
		n_set += value == 1;
	}
	return n >= FLAGS_MIN && n_set && n_set < n;
}

// A node that nothing leads to any more is no repair; nor is a truth that is neither true nor false.
static void find_sole(struct fl_search *s)
{
	s->sole = UINT32_MAX;
	for (size_t i = 0; i < s->tries.size; i++) {
		const struct fl_outcome *o = &s->outcomes.data[i];
		uint32_t field = s->whys.data[i].field;

		if (o->n_left || o->is_orphaning || field == s->sole ||
		    (s->tries.data[i].value > 1 && is_flag(s, &s->fields.data[field])))
			continue;
		if (s->sole != UINT32_MAX) {
			s->sole = UINT32_MAX;
			return;
		}
		s->sole = field;
	}
}

struct err *fl_search_try(struct fl_search *s)
{
	struct err *err = fl_search_values(s);

	if (err)
		return err;
	if (vec_reserve(&s->outcomes, s->tries.size + 1))
		return &err_nomem;
	err = fl_whatif_try(&s->whatif, &s->made, s->tries.data, s->tries.size,
			    s->outcomes.data, NULL);
	if (!err)
		find_sole(s);
	return err;
}

struct err *fl_search_fields(struct fl_search *s)
{
	struct err *err;

	s->nodes.size = s->fields.size = s->freed.size = 0;
	fl_usual_deinit(&s->usual);
	err = fl_search_operation(s);
	s->usual = (struct fl_usual){ .spec = s->t->spec,
				      .view = s->view,
				      .graph = s->t->graph,
				      .places = s->q->places,
				      .errors = &s->errors,
				      .found = s->q->found,
				      .bounds = s->q->bounds,
				      .span = &s->span,
				      .operation = s->q->operation,
				      .trigger = s->trigger,
				      .since = s->t->since_ops };
	if (!err)
		err = find_nodes(s);
	s->direct.size = 0;
	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = vec_add(&s->direct, s->args.reads.data[i]);
	if (!err)
		err = spec_args_deep(s->eval, s->about->constraint, &s->about->binding,
				     &s->args);
	s->usual.is_summed = is_counted(&s->args);
	if (!err && s->usual.is_summed)
		err = add_summing(s);
	return err ? err : find_fields(s);
}

struct err *fl_search_left(struct fl_search *s)
{
	s->errors.size = 0;
	return fl_whatif_try(&s->whatif, &s->made, NULL, 0, NULL, &s->errors);
}

struct err *fl_search_begin(struct fl_search *s, bool *is_ready)
{
	struct err *err;

	*is_ready = false;
	if (!s->t->n_errors || s->t->n_errors > ERRORS_MAX)
		return NULL;
	err = hg_view_create(s->t->graph, s->t->n_ops, &s->view);
	s->whatif = (struct fl_whatif){ .spec = s->t->spec,
					.view = s->view,
					.graph = s->t->graph,
					.is_checked = s->t->is_checked };
	if (err || !fl_whatif_is_feasible(&s->whatif))
		return err;
	err = spec_eval_create(s->t->spec, s->t->graph, s->view, &s->eval);
	if (!err)
		err = fl_search_left(s);
	if (!err && !s->errors.size)
		return NULL;
	if (!err)
		err = fl_search_fields(s);
	if (!err)
		err = fl_search_try(s);
	*is_ready = !err;
	return err;
}
