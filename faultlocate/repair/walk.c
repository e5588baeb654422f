// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/values.h"

static struct rp_sb walk_block(struct rp_walk *w, const struct rp_block *b,
			       struct rp_sb path, struct loop *loop);

/* ---- operations --------------------------------------------------------------------------- */

/* A new node of what the witness made. */
static bool new_node(struct rp_walk *w, const struct rp_op *op)
{
	size_t n = w->p->records.data[op->type].fields.size;
	struct rp_snode node = { op->type, fl_rp_known(0),
				 arena_alloc(&w->arena, (n + 1) * sizeof(struct rp_sv)) };

	for (size_t i = 0; node.fields && i < n; i++)
		node.fields[i] = fl_rp_known(RP_UNKNOWN);
	if (!node.fields || vec_add(&w->nodes, node))
		w->has_failed = true;
	return !w->has_failed;
}

/* Is the next thing that the witness tells of @p kind? Whether it is must be as it was. */
static bool told(struct rp_walk *w, enum rp_event_kind kind, int id, struct rp_sb path)
{
	const struct rp_event *e =
		w->event < w->w->events.size ? &w->w->events.data[w->event] : NULL;
	bool is_next = e && e->kind == kind &&
		       (kind == RP_EV_NODE || kind == RP_EV_INPUT || e->id == id);

	if (!e) {
		w->is_done = true; // the witness ends here
		return false;
	}
	fl_rp_require(w, is_next ? path : fl_rp_not(w, path),
		      "what came by, came by otherwise", 0);
	w->event += is_next;
	return is_next;
}

static void walk_call(struct rp_walk *w, const struct rp_op *op, struct rp_sb path)
{
	const struct rp_function *fn = &w->p->functions.data[op->callee];
	struct rp_sv *outer = w->frame, *inner, result = fl_rp_known(RP_UNKNOWN);
	struct rp_sb returned = w->returned;
	int function = w->function, frame = w->frame_number;

	if (!told(w, RP_EV_CALL, op->callee, path))
		return;
	inner = arena_alloc(&w->arena, w->p->variables.size * sizeof(*inner));
	if (!inner) {
		w->has_failed = true;
		return;
	}
	for (size_t i = 0; i < w->p->variables.size; i++)
		inner[i] = fl_rp_known(RP_UNKNOWN);
	for (size_t i = 0; i < fn->parameters.size; i++)
		inner[fn->parameters.data[i]] = fl_rp_load(w, &op->args[i], path, op);
	w->frame = inner;
	w->function = op->callee;
	w->frame_number = ++w->n_frames;
	w->returned = fl_rp_truth(false);
	if (fn->body)
		walk_block(w, fn->body, fl_rp_truth(true), NULL);
	if (!w->is_done)
		fl_rp_pass_mark(w, &fn->end, fl_rp_truth(true));
	if (!w->is_done)
		told(w, RP_EV_RETURN, op->callee, fl_rp_truth(true));
	if (w->is_done)
		return;
	if (fn->result != RP_NONE)
		result = inner[fn->result];
	w->frame = outer;
	w->function = function;
	w->frame_number = frame;
	w->returned = returned;
	if (op->dst.var != RP_NONE)
		fl_rp_store(w, &op->dst, result, path, op);
}

/* @return the value, of a test the outcome as a truth in *@p truth. */
static void walk_op(struct rp_walk *w, int number, struct rp_sb path, struct rp_sb *truth)
{
	const struct rp_op *op = &w->p->ops.data[number];
	size_t n = w->steps.size;

	if (op->is_removed || w->is_done)
		return;
	fl_rp_step_begin(w, number, path);
	switch (op->kind) {
	case RP_ALLOC:
		if (told(w, RP_EV_NODE, 0, path) && new_node(w, op))
			fl_rp_store(w, &op->dst, fl_rp_known((int64_t)w->nodes.size),
				    path, op);
		break;
	case RP_INPUT:
		if (told(w, RP_EV_INPUT, 0, path))
			fl_rp_store(w, &op->dst,
				    fl_rp_known(w->w->events.data[w->event - 1].value),
				    path, op);
		break;
	case RP_CALL:
		walk_call(w, op, path);
		break;
	case RP_FREE:
		fl_rp_free(w, fl_rp_load(w, &op->a, path, op), path, op);
		break;
	case RP_TEST:
		*truth = fl_rp_test(w, number, path);
		break;
	case RP_ASSIGN:
		fl_rp_assign(w, number, path);
		break;
	}
	// A call's own steps are behind it; it has none.
	if (op->kind == RP_CALL && !w->s && w->steps.size > n)
		w->steps.data[n].has_place = false;
}

static void walk_ops(struct rp_walk *w, const int *ops, size_t n, struct rp_sb path,
		     struct rp_sb *truth)
{
	for (size_t i = 0; i < n; i++)
		walk_op(w, ops[i], path, truth);
}

/* ---- statements --------------------------------------------------------------------------- */

static struct rp_sb walk_condition(struct rp_walk *w, const struct rp_condition *c,
				   struct rp_sb path)
{
	struct rp_sb left = fl_rp_truth(false), right;

	if (c->logic == RP_ATOM) {
		walk_ops(w, c->ops.data, c->ops.size, path, &left);
		return left;
	}
	left = walk_condition(w, c->left, path);
	if (c->logic == RP_NOT)
		return fl_rp_not(w, left);
	if (c->logic == RP_AND) {
		right = walk_condition(w, c->right, fl_rp_and(w, path, left));
		return fl_rp_and(w, left, right);
	}
	right = walk_condition(w, c->right, fl_rp_and(w, path, fl_rp_not(w, left)));
	return fl_rp_or(w, left, right);
}

/* The last steps of @p c, which is wrong. */
static void force_steps(struct rp_walk *w, const struct rp_condition *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->ops.size; i++)
		for (size_t k = w->steps.size; k--;)
			if (w->steps.data[k].op == c->ops.data[i]) {
				w->steps.data[k].is_forced = true;
				break;
			}
	force_steps(w, c->left);
	force_steps(w, c->right);
}

/* The condition was decided; it must say so too. */
static void must_be(struct rp_walk *w, const struct rp_statement *s, struct rp_sb is,
		    bool was)
{
	if (!w->s && is.known != was)
		force_steps(w, s->condition);
	fl_rp_require(w, was ? is : fl_rp_not(w, is), "the condition is not as it was",
		      s->line);
}

static bool loop_is_next(const struct rp_walk *w, const struct rp_statement *s)
{
	const struct rp_event *e = &w->w->events.data[w->event];

	return w->event < w->w->events.size && e->kind == RP_EV_LOOP && e->id == s->id;
}

static struct rp_sb walk_loop(struct rp_walk *w, const struct rp_statement *s,
			      struct rp_sb path)
{
	struct loop loop = { fl_rp_truth(false), fl_rp_truth(false) };
	bool is_first = true, again;

	while (!w->is_done) {
		if (!s->is_do || !is_first) {
			if (!is_first)
				fl_rp_pass_mark(w, s, path);
			if (w->is_done || w->event >= w->w->events.size) {
				w->is_done = true;
				break;
			}
			if (!loop_is_next(w,
					  s)) { // left by break or return, or not come by
				fl_rp_require(w, fl_rp_not(w, path), "the loop went on",
					      s->line);
				return loop.broken;
			}
			fl_rp_require(w, path, "the loop was not come by", s->line);
			path = fl_rp_truth(true);
			again = w->w->events.data[w->event++].value;
			must_be(w, s, walk_condition(w, s->condition, path), again);
			if (!again)
				return path;
		}
		is_first = false;
		loop.continued = fl_rp_truth(false);
		path = walk_block(w, s->body, path, &loop);
		path = fl_rp_or(w, path, loop.continued);
		walk_ops(w, s->step.data, s->step.size, path, NULL);
	}
	return path;
}

static struct rp_sb walk_if(struct rp_walk *w, const struct rp_statement *s,
			    struct rp_sb path, struct loop *loop)
{
	struct rp_sb is, then, other;
	bool was;

	if (s->is_heavy) {
		// Its condition may be told of before it is.
		is = walk_condition(w, s->condition, path);
		if (!told(w, RP_EV_IF, s->id, path))
			return fl_rp_truth(false);
		was = w->w->events.data[w->event - 1].value;
		must_be(w, s, is, was);
		if (was)
			return walk_block(w, s->body, fl_rp_truth(true), loop);
		return s->otherwise ?
			       walk_block(w, s->otherwise, fl_rp_truth(true), loop) :
			       fl_rp_truth(true);
	}
	is = walk_condition(w, s->condition, path);
	then = fl_rp_and(w, path, is);
	other = fl_rp_and(w, path, fl_rp_not(w, is));
	is = walk_block(w, s->body, then, loop);
	if (s->otherwise) {
		struct rp_sb on = walk_block(w, s->otherwise, other, loop);

		if (fl_rp_same(is, then) && fl_rp_same(on, other))
			return path;
		return fl_rp_or(w, is, on);
	}
	return fl_rp_same(is, then) ? path : fl_rp_or(w, is, other);
}

static struct rp_sb walk_statement(struct rp_walk *w, const struct rp_statement *s,
				   struct rp_sb path, struct loop *loop)
{
	fl_rp_pass_mark(w, s, path);
	if (w->is_done)
		return path;
	walk_ops(w, s->ops.data, s->ops.size, path, NULL);
	switch (s->shape) {
	case RP_IF:
		return walk_if(w, s, path, loop);
	case RP_LOOP:
		return walk_loop(w, s, path);
	case RP_BLOCK:
		return walk_block(w, s->body, path, loop);
	case RP_BREAK:
		if (loop)
			loop->broken = fl_rp_or(w, loop->broken, path);
		return fl_rp_truth(false);
	case RP_CONTINUE:
		if (loop)
			loop->continued = fl_rp_or(w, loop->continued, path);
		return fl_rp_truth(false);
	case RP_RETURN:
		w->returned = fl_rp_or(w, w->returned, path);
		return fl_rp_truth(false);
	case RP_OPS:
	case RP_END:
		break;
	}
	return path;
}

static void walk_gap(struct rp_walk *w, const struct rp_block *b, size_t index,
		     struct rp_sb path)
{
	struct rp_gap here = { b->id, (int)index };
	int gap;

	if (!w->s && path.known && !w->is_done && vec_add(&w->gaps, here))
		w->has_failed = true;
	if (!w->of_gap || w->is_done)
		return;
	gap = w->first_gap[b->id] + (int)index * w->n_slots;
	for (int i = 0; w->first_gap[b->id] >= 0 && i < w->n_slots; i++)
		if (w->of_gap[gap + i])
			fl_rp_insert(w, w->of_gap[gap + i], path);
}

static struct rp_sb walk_block(struct rp_walk *w, const struct rp_block *b,
			       struct rp_sb path, struct loop *loop)
{
	for (size_t i = 0; i < b->list.size && !w->is_done; i++) {
		walk_gap(w, b, i, path);
		path = walk_statement(w, b->list.data[i], path, loop);
	}
	walk_gap(w, b, b->list.size, path);
	return path;
}

void fl_rp_walk(struct rp_walk *w)
{
	const struct rp_function *fn = &w->p->functions.data[w->w->function];

	w->function = w->w->function;
	w->returned = fl_rp_truth(false);
	if (!fl_rp_walk_begin(w))
		return;
	walk_block(w, fn->body, fl_rp_truth(true), NULL);
	if (!w->is_done)
		fl_rp_pass_mark(w, &fn->end, fl_rp_truth(true));
	if (!w->s && w->at_end)
		w->at_end(w);
}

void fl_rp_walk_deinit(struct rp_walk *w)
{
	vec_deinit(&w->nodes);
	vec_deinit(&w->steps);
	vec_deinit(&w->gaps);
	arena_deinit(&w->arena);
}
