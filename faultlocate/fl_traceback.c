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
 *
 * Modification prediction (section 4.3.2) watches what the arguments of P depend on: an
 * operation that touches none of it has not contributed. And of the inconsistencies before
 * O only those can be related whose arguments were touched, which spec_checker_renew()
 * knows.
 */
#include "faultlocate/fl_traceback.h"

#include <assert.h>
#include <string.h>

#define PROGRESS_EVERY 65536

/** An inconsistency of P with the arguments to its check at the view's position. */
struct pending {
	struct spec_violation v;
	struct spec_args args;
	uint32_t watch;	 ///< over args; with prediction
	bool is_error;	 ///< it was there at the C-point
	bool is_removed; ///< it leaves P when the operation is done
};

struct trace {
	const struct fl_traceback *in;
	struct hg_view *view;
	struct spec_eval *eval;
	struct spec_checker *checker; ///< with prediction
	VEC(struct pending) p;
	struct spec_args now; ///< scratch
};

static bool predicts(const struct trace *t)
{
	return t->in->how == FL_TRACEBACK_PREDICT;
}

static void pending_deinit(struct trace *t, struct pending *p)
{
	spec_unwatch(t->eval, p->watch);
	spec_args_deinit(&p->args);
}

static void trace_deinit(struct trace *t)
{
	for (size_t i = 0; i < t->p.size; i++)
		pending_deinit(t, &t->p.data[i]);
	vec_deinit(&t->p);
	spec_args_deinit(&t->now);
	spec_checker_destroy(t->checker);
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
	struct err *err;

	if (!p)
		return &err_nomem;
	p->v = *v;
	p->is_error = is_error;
	err = spec_args(t->eval, v->constraint, &v->binding, &p->args);
	if (!err && predicts(t))
		err = spec_watch(t->eval, &p->args, &p->watch);
	return err;
}

static void trace_drop_removed(struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->p.size; i++) {
		if (t->p.data[i].is_removed) {
			pending_deinit(t, &t->p.data[i]);
		} else {
			t->p.data[n++] = t->p.data[i];
		}
	}
	t->p.size = n;
}

/* ---- one operation ------------------------------------------------------------------------ */

// The inconsistencies at the view's position, those of the C-point's constraints. With
// prediction only those that may be related to the last operation.
static struct err *trace_check(struct trace *t, spec_violations *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < spec_constraints(t->in->spec) && !err; i++) {
		if (t->in->is_checked && !t->in->is_checked[i])
			continue;
		err = predicts(t) ? spec_checker_renew(t->checker, i, ret) :
				    spec_check_constraint(t->eval, i, 0, ret);
	}
	return err;
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
	if (!err)
		err = spec_eval_seek(t->eval, t->view, hg_view_ops(t->view) + 1);
	for (size_t i = 0; i < before->size && !err; i++) {
		err = spec_args(t->eval, before->data[i].constraint,
				&before->data[i].binding, &after);
		is_related[i] = !err && !spec_args_equal(&args.data[i], &after);
	}
	if (!err)
		err = spec_eval_back(t->eval, t->view, NULL);
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
		err = spec_check_one(t->eval, p->v.constraint, &p->v.binding,
				     &p->is_removed);
		c->introduces += p->is_removed && p->is_error;
	}
	trace_drop_removed(t);
	vec_deinit(&before);
	return err;
}

// Collect the arguments of p here; did the operation that was undone change them?
static struct err *trace_args(struct trace *t, struct pending *p, bool *has_contributed)
{
	struct err *err = spec_args(t->eval, p->v.constraint, &p->v.binding, &t->now);
	struct spec_args swap = p->args;

	if (err)
		return err;
	*has_contributed = !spec_args_equal(&p->args, &t->now);
	p->args = t->now;
	t->now = swap;
	return predicts(t) ? spec_watch(t->eval, &p->args, &p->watch) : NULL;
}

// The view has gone back over an operation: put it to everything in P.
static struct err *trace_undone(struct trace *t, fl_contributions *ret)
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

		if (predicts(t) && !spec_watch_is_touched(t->eval, p->watch))
			continue;
		err = trace_args(t, p, &has_contributed[i]);
		if (err)
			return err;
		any |= has_contributed[i];
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

	while (t->p.size && hg_view_ops(t->view) && !err) {
		size_t n_touched = 1;

		err = spec_eval_back(t->eval, t->view, NULL);
		if (!err && predicts(t))
			err = spec_watches_touched(t->eval, &n_touched);
		if (!err && n_touched)
			err = trace_undone(t, ret);
		if (t->in->progress && hg_view_ops(t->view) % PROGRESS_EVERY == 0)
			t->in->progress(t->in->progress_ctx, hg_view_ops(t->view));
	}
	return err;
}

struct err *fl_traceback_run(const struct fl_traceback *in, fl_contributions *ret)
{
	_cleanup_(trace_deinit) struct trace t = { .in = in };
	spec_violations all = {};
	struct err *err = hg_view_create(in->graph, in->n_ops, &t.view);

	if (!err)
		err = spec_eval_create(in->spec, in->graph, t.view, &t.eval);
	if (!err && predicts(&t))
		err = spec_checker_create(t.eval, true, &t.checker);
	if (!err && predicts(&t))
		err = trace_check(&t, &all); // later checks tell what changed since
	vec_deinit(&all);
	for (size_t i = 0; i < in->n_errors && !err; i++)
		if (!is_pending(&t, &in->errors[i]))
			err = trace_add(&t, &in->errors[i], true);
	return err ? err : trace_loop(&t, ret);
}
