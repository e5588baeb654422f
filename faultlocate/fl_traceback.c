// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Paper 001, Algorithm 3. P is the set of pending inconsistencies, at first those of the
 * C-point. The view goes back one operation O at a time. O contributed to e of P when the
 * arguments to the check of e differ before and after O (Definition 3). The paper outputs
 * the statement of each such O, and lets every related e' (Definition 2) join P. That
 * follows, beyond what went wrong, all that was ever done right around it. So we ask for
 * more:
 *
 *   - statement(O) is output when O introduced e, which was not there before it; or when
 *     e is of the C-point and O was the last to change one of its arguments: what had to
 *     repair e, if anything, and did not;
 *   - an inconsistency e' that was there before O joins P when O introduced some e of P,
 *     changed the arguments to the check of e' too (Definition 2: they are related), and
 *     e' is gone after O: the inconsistency moved from e' to e. One that stays after O is
 *     pending already, or was repaired and has no part in e;
 *   - e leaves P when it was not there before O; but if e is of the C-point, the operations
 *     between since_ops and O that stored its other arguments last are output, too: what O
 *     made visible, as by linking a node, may have been stored wrong before.
 *
 *   - so are those between since_ops and the C-point that stored last what was read to check
 *     e, and changed nothing: perhaps another value was due.
 *
 *   - when O allocates a node that an error is about, what leads into it already was meant
 *     for another that had the memory before: output are the statements that stored the
 *     pointer, and that released that other node.
 *
 * Whether an e' is related does not depend on which e of P is asked, so it is found once
 * an operation, and the inconsistencies before O are only computed for an O that
 * introduced one: nothing else reads them.
 *
 * Modification prediction (section 4.3.2) watches what the arguments of P depend on: an
 * operation that touches none of it has not contributed. And of the inconsistencies before
 * O only those can be related whose arguments were touched, which spec_checker_renew()
 * knows.
 */
#include "faultlocate/fl_traceback.h"

#include "faultlocate/fl_pending.h"
#include "faultlocate/fl_stale.h"

#define PROGRESS_EVERY 65536

// What is longer is no operation on a structure: what it stores over is not remembered.
#define OPERATION_MAX 65536

struct trace {
	const struct fl_traceback *in;
	struct hg_view *view;
	struct spec_eval *eval;
	struct spec_checker *checker; ///< with prediction
	struct fl_pendings p;
	VEC(uint32_t) asked;  ///< members whose arguments may be different
	struct map written;   ///< addresses that the operation stored to, of those undone
	struct hg_view *end;  ///< of the C-point, for fl_stale_find()
	struct spec_args now; ///< scratch
};

static bool predicts(const struct trace *t)
{
	return t->in->how == FL_TRACEBACK_PREDICT;
}

static void trace_deinit(struct trace *t)
{
	fl_pendings_deinit(&t->p);
	vec_deinit(&t->asked);
	map_deinit(&t->written);
	spec_args_deinit(&t->now);
	spec_checker_destroy(t->checker);
	spec_eval_destroy(t->eval);
	hg_view_destroy(t->view);
	hg_view_destroy(t->end);
}

// Add v to P with its arguments here.
static struct err *trace_add(struct trace *t, const struct spec_violation *v,
			     uint32_t moves)
{
	struct fl_pending *p;
	struct err *err;
	uint32_t i;

	if (fl_pendings_has(&t->p, v))
		return NULL;
	err = fl_pendings_add(&t->p, v, &i);
	if (err)
		return err;
	p = &t->p.all.data[i];
	p->moves = moves;
	err = spec_args(t->eval, v->constraint, &v->binding, &p->args);
	if (!err && predicts(t))
		err = spec_watch(t->eval, &p->args, i, &p->watch);
	return err;
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

// Did O change the arguments to the check of v, from before, and is v gone after it? The
// view stands after O.
static struct err *has_moved(struct trace *t, const struct spec_violation *v,
			     const struct spec_args *before, bool *ret)
{
	struct err *err = spec_args(t->eval, v->constraint, &v->binding, &t->now);

	*ret = !err && !spec_args_equal(before, &t->now);
	return *ret ? spec_check_one(t->eval, v->constraint, &v->binding, ret) : err;
}

// Of the inconsistencies before O, which O took away (Definition 2). The view stands before
// O and does so again afterwards.
static struct err *find_moved(struct trace *t, const spec_violations *before, bool *ret)
{
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
	for (size_t i = 0; i < before->size && !err; i++)
		err = has_moved(t, &before->data[i], &args.data[i], &ret[i]);
	if (!err)
		err = spec_eval_back(t->eval, t->view, NULL);
	for (size_t i = 0; i < args.size; i++)
		spec_args_deinit(&args.data[i]);
	vec_deinit(&args);
	return err;
}

static bool shares_node(const struct spec_binding *a, const struct spec_binding *b)
{
	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		for (size_t k = 0; a->node[i].v && k < SPEC_MAX_VARS; k++)
			if (a->node[i].v == b->node[k].v)
				return true;
	return false;
}

// Is v about a node of what O introduced? From the end of the run anything may be, since
// much was done in between.
static bool is_near(const struct trace *t, const struct spec_violation *v)
{
	bool found = !t->in->moves_max;

	for (size_t i = 0; i < t->p.all.size && !found; i++) {
		const struct fl_pending *p = &t->p.all.data[i];

		found = p->is_used && p->is_new &&
			shares_node(&p->v.binding, &v->binding);
	}
	return found;
}

// O introduced something: what it took away for it joins P.
static struct err *trace_join(struct trace *t, uint32_t moves)
{
	_cleanup_free_ bool *has_moved = NULL;
	spec_violations before = {};
	struct err *err = trace_check(t, &before);

	has_moved = calloc(before.size + 1, sizeof(*has_moved));
	if (!err && !has_moved)
		err = &err_nomem;
	if (!err)
		err = find_moved(t, &before, has_moved);
	for (size_t i = 0; i < before.size && !err; i++)
		if (has_moved[i] && is_near(t, &before.data[i]))
			err = trace_add(t, &before.data[i], moves);
	vec_deinit(&before);
	return err;
}

// O may have stored what a later one made visible.
static void judge_past(struct fl_pending *p, const struct hg_op *op,
		       struct fl_contribution *c)
{
	uint64_t ready = p->stored;

	for (size_t i = 0; op->kind == HG_OP_STORE && i < SPEC_MAX_VARS; i++)
		if (p->v.binding.node[i].v == op->node.v)
			ready |= p->counted;
	c->n_ready += (ready & ~p->settled) != 0;
	p->settled |= p->changed;
}

// O contributed to the n members of P in asked: which of them did it introduce? @p moves: how
// many moves what joins for them is from the C-point, UINT32_MAX for none.
static struct err *trace_judge(struct trace *t, const struct hg_op *op, size_t n,
			       struct fl_contribution *c, uint32_t *moves)
{
	struct err *err = NULL;

	for (size_t i = 0; i < n && !err; i++) {
		struct fl_pending *p = &t->p.all.data[t->asked.data[i]];

		if (p->is_past) {
			judge_past(p, op, c);
			continue;
		}
		err = spec_check_one(t->eval, p->v.constraint, &p->v.binding, &p->is_new);
		c->n_pending++;
		c->n_errors += !p->moves;
		c->introduces += p->is_new && !p->moves;
		c->n_moved += p->is_new && p->moves;
		c->n_last += !p->moves && (p->changed & ~p->settled);
		p->settled |= p->changed;
		if (p->is_new && p->moves < *moves)
			*moves = p->moves + 1;
	}
	return err;
}

static bool has_read(const struct spec_args *a, struct hg_node_id node, uint64_t offset,
		     uint32_t size)
{
	return vec_find(&a->reads, r,
			r->node.v == node.v && r->offset < offset + size &&
				offset < (uint64_t)r->offset + r->size);
}

// O is part of the operation on the structure that the C-point ends.
static struct err *judge_same(struct trace *t, const struct hg_op *op,
			      struct fl_contribution *c)
{
	uint64_t offset = op->addr - hg_graph_node(t->in->graph, op->node)->start;

	if (op->kind != HG_OP_STORE || map_get(&t->written, op->addr))
		return NULL;
	if (map_put(&t->written, op->addr, 1))
		return &err_nomem;
	for (size_t i = 0; op->before == op->after && i < t->p.all.size; i++) {
		const struct fl_pending *p = &t->p.all.data[i];

		c->n_same += p->is_used && !p->moves &&
			     has_read(&p->args, op->node, offset, op->size);
	}
	return NULL;
}

static void trace_remove(struct trace *t, uint32_t index)
{
	spec_unwatch(t->eval, t->p.all.data[index].watch);
	fl_pendings_remove(&t->p, index);
}

// What was not there before O leaves P, now or where the operation on the structure begins.
static void trace_leave(struct trace *t, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct fl_pending *p = &t->p.all.data[t->asked.data[i]];

		if (!p->is_new)
			continue;
		p->is_past = !p->moves && hg_view_ops(t->view) > t->in->since_ops;
		p->is_new = false;
		if (!p->is_past)
			trace_remove(t, t->asked.data[i]);
	}
}

// The operation on the structure begins here, what is before it was right.
static void trace_leave_past(struct trace *t)
{
	for (size_t i = 0; i < t->p.all.size; i++)
		if (t->p.all.data[i].is_used && t->p.all.data[i].is_past)
			trace_remove(t, i);
}

// Which arguments differ; what is beyond the last bit shares it. @p stored: those of them
// that an operation stored, over what could be read, too.
static uint64_t compare_args(const struct spec_args *a, const struct spec_args *b,
			     uint64_t *stored, uint64_t *counted)
{
	uint64_t ret = 0;

	*stored = *counted = 0;
	for (size_t i = 0; i < a->args.size; i++) {
		const struct spec_arg *x = &a->args.data[i], *y = &b->args.data[i];
		uint64_t bit = UINT64_C(1) << (i < 63 ? i : 63);

		if (x->is_absent == y->is_absent && x->value == y->value)
			continue;
		ret |= bit;
		if (!x->is_absent && !y->is_absent && !x->is_derived)
			*stored |= bit;
		if (x->is_degree)
			*counted |= bit;
	}
	return ret;
}

// Collect the arguments of p here; which did the operation that was undone change?
static struct err *trace_args(struct trace *t, uint32_t index)
{
	struct fl_pending *p = &t->p.all.data[index];
	struct err *err = spec_args(t->eval, p->v.constraint, &p->v.binding, &t->now);
	struct spec_args swap = p->args;

	if (err)
		return err;
	p->changed = compare_args(&p->args, &t->now, &p->stored, &p->counted);
	p->args = t->now;
	t->now = swap;
	return predicts(t) ? spec_watch(t->eval, &p->args, index, &p->watch) : NULL;
}

// Whom in P the operation that was undone may concern: with prediction whose watch it
// touched, else everybody.
static struct err *trace_whom(struct trace *t)
{
	const uint32_t *tags = NULL;
	size_t n = 0;
	struct err *err = predicts(t) ? spec_touched(t->eval, &tags, &n) : NULL;

	t->asked.size = 0;
	if (!err && vec_reserve(&t->asked, t->p.all.size + n))
		err = &err_nomem;
	if (err)
		return err;
	for (size_t i = 0; i < n; i++)
		t->asked.data[t->asked.size++] = tags[i];
	for (size_t i = 0; !predicts(t) && i < t->p.all.size; i++)
		if (t->p.all.data[i].is_used)
			t->asked.data[t->asked.size++] = i;
	return NULL;
}

// The view has gone back over an operation O.
static struct err *trace_undone(struct trace *t, const struct hg_op *op,
				fl_contributions *ret)
{
	struct fl_contribution c = { .op = hg_view_ops(t->view) }, *slot;
	uint32_t moves = UINT32_MAX;
	struct err *err = trace_whom(t);
	size_t n = 0;

	if (!err && c.op >= t->in->since_ops &&
	    t->in->n_ops - t->in->since_ops <= OPERATION_MAX)
		err = judge_same(t, op, &c);
	for (size_t i = 0; i < t->asked.size && !err; i++) {
		err = trace_args(t, t->asked.data[i]);
		if (!err && t->p.all.data[t->asked.data[i]].changed)
			t->asked.data[n++] = t->asked.data[i];
	}
	if (!err)
		err = trace_judge(t, op, n, &c, &moves);
	if (!err && moves <= (t->in->moves_max ?: UINT32_MAX - 1))
		err = trace_join(t, moves);
	if (err || (!c.introduces && !c.n_moved && !c.n_last && !c.n_ready && !c.n_same))
		return err;
	trace_leave(t, n);
	slot = vec_push(ret);
	if (!slot)
		return &err_nomem;
	*slot = c;
	return NULL;
}

static struct err *trace_loop(struct trace *t, fl_contributions *ret)
{
	struct err *err = NULL;
	struct hg_op op;

	while (t->p.n && hg_view_ops(t->view) && !err) {
		err = fl_stale_find(t->view, t->eval, &t->p, t->in, &t->end, ret);
		if (!err)
			err = spec_eval_back(t->eval, t->view, &op);
		if (!err)
			err = trace_undone(t, &op, ret);
		if (hg_view_ops(t->view) == t->in->since_ops)
			trace_leave_past(t);
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
		err = trace_add(&t, &in->errors[i], 0);
	return err ? err : trace_loop(&t, ret);
}
