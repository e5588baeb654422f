// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Paper 001, Algorithm 3. P is the set of pending inconsistencies, at first those of the
 * C-point. The view goes back one operation O at a time. O contributed to e of P when the
 * arguments to the check of e differ before and after O (Definition 3). Then
 *
 *   - statement(O) is output;
 *   - an inconsistency e' that was there before O joins P when O also changed the
 *     arguments to the check of e' (Definition 2: e and e' are related);
 *   - e leaves P when it was not there before O.
 *
 * Whether an e' is related does not depend on which e of P is asked, so it is found once
 * an operation, and the inconsistencies before O are only computed for an O that
 * contributed: nothing else reads them.
 */
#include "faultlocate/fl_traceback.h"

#include <assert.h>
#include <string.h>

#define PROGRESS_EVERY 65536

/** An inconsistency of P with the arguments to its check at the view's position. */
struct pending {
	struct spec_violation v;
	struct spec_args args;
	bool is_error;	 ///< it was there at the C-point
	bool is_removed; ///< it leaves P when the operation is done
};

struct trace {
	const struct fl_traceback *in;
	struct hg_view *view;
	struct spec_eval *eval;
	VEC(struct pending) p;
	struct spec_args now; ///< scratch
	/** Prediction: nodes that arguments depend on, whether any argument depends on
	 * more than nodes, and every address those nodes may hold, ascending. */
	struct map dep_nodes;
	bool has_wide_deps;
	VEC(uint64_t) held;
	bool is_filter_stale;
};

static void pending_deinit(struct pending *p)
{
	spec_args_deinit(&p->args);
}

static void trace_deinit(struct trace *t)
{
	for (size_t i = 0; i < t->p.size; i++)
		pending_deinit(&t->p.data[i]);
	vec_deinit(&t->p);
	spec_args_deinit(&t->now);
	map_deinit(&t->dep_nodes);
	vec_deinit(&t->held);
	spec_eval_destroy(t->eval);
	hg_view_destroy(t->view);
}

static bool violation_equal(const struct spec_violation *a,
			    const struct spec_violation *b)
{
	return a->constraint == b->constraint &&
	       spec_binding_equal(&a->binding, &b->binding);
}

static bool is_pending(const struct trace *t, const struct spec_violation *v)
{
	for (size_t i = 0; i < t->p.size; i++)
		if (!t->p.data[i].is_removed && violation_equal(&t->p.data[i].v, v))
			return true;
	return false;
}

// Add v to P with its arguments here.
static struct err *trace_add(struct trace *t, const struct spec_violation *v,
			     bool is_error)
{
	struct pending *p = vec_push(&t->p);

	if (!p)
		return &err_nomem;
	p->v = *v;
	p->is_error = is_error;
	t->is_filter_stale = true;
	return spec_args(t->eval, v->constraint, &v->binding, &p->args);
}

static void trace_drop_removed(struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->p.size; i++) {
		if (t->p.data[i].is_removed) {
			pending_deinit(&t->p.data[i]);
			t->is_filter_stale = true;
		} else {
			t->p.data[n++] = t->p.data[i];
		}
	}
	t->p.size = n;
}

/* ---- modification prediction ------------------------------------------------------------ */

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

// Every eight bytes of the node may be a pointer (structs may be packed).
static struct err *filter_add_held(struct trace *t, struct hg_node_id id)
{
	uint64_t value, *slot;

	for (uint64_t at = 0; hg_view_read(t->view, id, at, 8, &value); at++) {
		if (!value || value >> 47)
			continue; // not an address of user space
		slot = vec_push(&t->held);
		if (!slot)
			return &err_nomem;
		*slot = value;
	}
	return NULL;
}

static struct err *filter_rebuild(struct trace *t)
{
	struct err *err = NULL;

	map_deinit(&t->dep_nodes);
	t->held.size = 0;
	t->has_wide_deps = false;
	for (size_t i = 0; i < t->p.size; i++) {
		const struct spec_args *a = &t->p.data[i].args;

		for (size_t k = 0; k < a->deps.size && !err; k++) {
			struct hg_node_id id = a->deps.data[k].node;

			t->has_wide_deps |= a->deps.data[k].kind != SPEC_DEP_NODE;
			if (a->deps.data[k].kind != SPEC_DEP_NODE ||
			    map_get(&t->dep_nodes, id.v))
				continue;
			if (map_put(&t->dep_nodes, id.v, 1))
				return &err_nomem;
			err = filter_add_held(t, id);
		}
	}
	if (t->held.size)
		qsort(t->held.data, t->held.size, sizeof(*t->held.data), compare_u64);
	t->is_filter_stale = err != NULL;
	return err;
}

// Does a node that arguments depend on hold an address in or just behind node n?
static bool filter_holds(const struct trace *t, const struct hg_node *n)
{
	size_t lo = 0, hi = t->held.size;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->held.data[mid] < n->start)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->held.size && t->held.data[lo] - n->start <= n->size;
}

// False only when undoing op cannot change the arguments of anything in P.
static bool trace_may_matter(const struct trace *t, const struct hg_op *op)
{
	const struct hg_node *n = hg_graph_node(t->in->graph, op->node);
	bool is_declared = n->type && n->type <= spec_types(t->in->spec);

	if (map_get(&t->dep_nodes, op->node.v) || (is_declared && t->has_wide_deps))
		return true;
	return op->kind != HG_OP_STORE && filter_holds(t, n);
}

/* ---- one operation ------------------------------------------------------------------------ */

// The inconsistencies at the view's position, those of the C-point's constraints.
static struct err *trace_check(struct trace *t, spec_violations *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < spec_constraints(t->in->spec) && !err; i++)
		if (!t->in->is_checked || t->in->is_checked[i])
			err = spec_check_constraint(t->eval, i, 0, ret);
	return err;
}

static bool is_among(const spec_violations *s, const struct spec_violation *v)
{
	for (size_t i = 0; i < s->size; i++)
		if (violation_equal(&s->data[i], v))
			return true;
	return false;
}

// Definition 2 for an e' that is there before O: did O change the arguments to its check?
// The view stands before O and does so again afterwards.
static struct err *find_related(struct trace *t, const spec_violations *before,
				bool *is_related)
{
	_cleanup_(spec_args_deinit) struct spec_args after = {};
	VEC(struct spec_args) args = {};
	struct err *err = NULL;

	for (size_t i = 0; i < before->size && !err; i++) {
		struct spec_args *a = vec_push(&args);

		err = !a ? &err_nomem :
			   spec_args(t->eval, before->data[i].constraint,
				     &before->data[i].binding, a);
	}
	hg_view_forward(t->view, NULL);
	for (size_t i = 0; i < before->size && !err; i++) {
		err = spec_args(t->eval, before->data[i].constraint,
				&before->data[i].binding, &after);
		is_related[i] = !err && !spec_args_equal(&args.data[i], &after);
	}
	hg_view_back(t->view, NULL);
	for (size_t i = 0; i < args.size; i++)
		spec_args_deinit(&args.data[i]);
	vec_deinit(&args);
	return err;
}

// O contributed: let P lose what was not there before it and gain what is related.
static struct err *trace_update(struct trace *t, const bool *has_contributed, size_t n,
				struct fl_contribution *c)
{
	_cleanup_free_ bool *is_related = NULL;
	spec_violations before = {};
	struct err *err = trace_check(t, &before);

	is_related = calloc(before.size + 1, sizeof(*is_related));
	if (!err && !is_related)
		err = &err_nomem;
	if (!err)
		err = find_related(t, &before, is_related);
	for (size_t i = 0; i < before.size && !err; i++)
		if (is_related[i] && !is_pending(t, &before.data[i]))
			err = trace_add(t, &before.data[i], false);
	for (size_t i = 0; i < n && !err; i++) {
		struct pending *p = &t->p.data[i];

		if (!has_contributed[i])
			continue;
		c->n_pending++;
		c->n_errors += p->is_error;
		p->is_removed = !is_among(&before, &p->v);
		c->introduces += p->is_removed && p->is_error;
	}
	trace_drop_removed(t);
	vec_deinit(&before);
	return err;
}

// The view has gone back over op: put it to everything in P.
static struct err *trace_undone(struct trace *t, const struct hg_op *op,
				fl_contributions *ret)
{
	size_t n = t->p.size;
	_cleanup_free_ bool *has_contributed = calloc(n, sizeof(bool));
	struct fl_contribution *c;
	bool any = false;
	struct err *err;

	if (!has_contributed)
		return &err_nomem;
	for (size_t i = 0; i < n; i++) {
		struct pending *p = &t->p.data[i];
		struct spec_args swap;

		if (t->in->how == FL_TRACEBACK_PREDICT &&
		    !spec_args_may_change(t->eval, &p->args, op))
			continue;
		err = spec_args(t->eval, p->v.constraint, &p->v.binding, &t->now);
		if (err)
			return err;
		has_contributed[i] = !spec_args_equal(&p->args, &t->now);
		any |= has_contributed[i];
		swap = p->args;
		p->args = t->now;
		t->now = swap;
		t->is_filter_stale = true;
	}
	if (!any)
		return NULL;
	c = vec_push(ret);
	if (!c)
		return &err_nomem;
	c->op = hg_view_ops(t->view);
	return trace_update(t, has_contributed, n, c);
}

static struct err *trace_loop(struct trace *t, fl_contributions *ret)
{
	struct err *err = NULL;
	struct hg_op op;

	while (t->p.size && hg_view_ops(t->view) && !err) {
		if (t->in->how == FL_TRACEBACK_PREDICT) {
			if (t->is_filter_stale && (err = filter_rebuild(t)))
				break;
			hg_view_peek(t->view, &op);
			if (!trace_may_matter(t, &op)) {
				hg_view_back(t->view, NULL);
				continue;
			}
		}
		hg_view_back(t->view, &op);
		err = trace_undone(t, &op, ret);
		if (t->in->progress && hg_view_ops(t->view) % PROGRESS_EVERY == 0)
			t->in->progress(t->in->progress_ctx, hg_view_ops(t->view));
	}
	return err;
}

struct err *fl_traceback_run(const struct fl_traceback *in, fl_contributions *ret)
{
	_cleanup_(trace_deinit) struct trace t = { .in = in, .is_filter_stale = true };
	struct err *err = hg_view_create(in->graph, in->n_ops, &t.view);

	if (!err)
		err = spec_eval_create(in->spec, in->graph, t.view, &t.eval);
	for (size_t i = 0; i < in->n_errors && !err; i++)
		if (!is_pending(&t, &in->errors[i]))
			err = trace_add(&t, &in->errors[i], true);
	return err ? err : trace_loop(&t, ret);
}
