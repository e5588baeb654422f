// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <string.h>

#include "faultlocate/repair/run.h"

enum { MOST_STEPS = 100000, MOST_DEPTH = 200 };

/* How a statement was left. */
enum flow { ON, BROKE, CONTINUED, RETURNED, ENDED };

static enum flow run_block(struct rp_run *r, const struct rp_block *b);

static enum flow stop(struct rp_run *r, enum rp_end end, int line, const char *why)
{
	r->end = end;
	snprintf(r->why, sizeof(r->why), "line %d: %s", line, why);
	return ENDED;
}

static void tell(struct rp_run *r, enum rp_event_kind kind, int id, int64_t value)
{
	if (r->watch.event)
		r->watch.event(r, (struct rp_event){ kind, id, value });
}

/* ---- operations --------------------------------------------------------------------------- */

/* @return whether there is a value; it may be unknown. */
static bool value_of(struct rp_run *r, const struct rp_op *op, const struct rp_ref *ref,
		     int64_t *ret)
{
	int64_t *place;
	char why[128], value[24];

	*ret = ref->value;
	if (ref->var == RP_NONE)
		return true;
	place = fl_rp_state_place(&r->state, r->p, ref);
	if (place) {
		*ret = *place;
		return true;
	}
	place = fl_rp_state_variable(&r->state, r->p, ref->var);
	snprintf(why, sizeof(why), "'%s' is %s, and has no fields",
		 r->p->variables.data[ref->var].name,
		 fl_rp_value_text(*place, 0, value, sizeof(value)));
	stop(r, RP_CRASHED, op->line, why);
	return false;
}

static bool known(struct rp_run *r, const struct rp_op *op, int64_t a)
{
	if (a == RP_UNKNOWN)
		stop(r, RP_CRASHED, op->line,
		     "this uses a value that was never assigned");
	return a != RP_UNKNOWN;
}

static bool compute(struct rp_run *r, const struct rp_op *op, int64_t a, int64_t b,
		    int64_t *ret)
{
	if (!known(r, op, a) || !known(r, op, b))
		return false;
	if ((op->sign == RP_DIV || op->sign == RP_MOD) && !b) {
		stop(r, RP_CRASHED, op->line, "a division by zero");
		return false;
	}
	switch (op->sign) {
	case RP_ADD:
		*ret = (int32_t)(a + b);
		break;
	case RP_SUB:
		*ret = (int32_t)(a - b);
		break;
	case RP_MUL:
		*ret = (int32_t)((int32_t)a * (int64_t)(int32_t)b);
		break;
	case RP_DIV:
		*ret = a / b;
		break;
	case RP_MOD:
		*ret = a % b;
		break;
	case RP_EQ:
		*ret = a == b;
		break;
	case RP_NE:
		*ret = a != b;
		break;
	case RP_LT:
		*ret = a < b;
		break;
	case RP_LE:
		*ret = a <= b;
		break;
	case RP_GT:
		*ret = a > b;
		break;
	case RP_GE:
		*ret = a >= b;
		break;
	case RP_PLAIN:
		*ret = a;
		break;
	}
	return true;
}

static bool assign(struct rp_run *r, const struct rp_op *op, int64_t value)
{
	int64_t *place, ignored;

	if (op->dst.var == RP_NONE)
		return true;
	place = fl_rp_state_place(&r->state, r->p, &op->dst);
	if (!place)
		return value_of(r, op, &op->dst, &ignored);
	*place = value;
	return true;
}

static bool new_node(struct rp_run *r, const struct rp_op *op)
{
	size_t n = r->p->records.data[op->type].fields.size;
	struct rp_node node = { op->type, false, malloc((n + 1) * sizeof(int64_t)) };

	for (size_t i = 0; node.fields && i < n; i++)
		node.fields[i] = RP_UNKNOWN;
	if (!node.fields || vec_add(&r->state.nodes, node)) {
		free(node.fields);
		r->has_failed = true;
		stop(r, RP_CRASHED, op->line, "out of memory");
		return false;
	}
	tell(r, RP_EV_NODE, 0, (int64_t)r->state.nodes.size);
	return assign(r, op, (int64_t)r->state.nodes.size);
}

static bool free_node(struct rp_run *r, const struct rp_op *op)
{
	int64_t value;

	if (!value_of(r, op, &op->a, &value) || !known(r, op, value))
		return false;
	if (!value)
		return true;
	if (r->state.nodes.data[value - 1].is_freed) {
		stop(r, RP_CRASHED, op->line, "this node was freed before");
		return false;
	}
	r->state.nodes.data[value - 1].is_freed = true;
	return true;
}

static bool run_call(struct rp_run *r, const struct rp_op *op)
{
	const struct rp_function *fn = &r->p->functions.data[op->callee];
	__typeof__(r->state.frame) outer = r->state.frame, inner = {};
	int64_t value = RP_UNKNOWN;
	int outer_function = r->function;

	for (size_t i = 0; i < r->p->variables.size; i++)
		if (vec_add(&inner, RP_UNKNOWN))
			r->has_failed = true;
	for (size_t i = 0; i < fn->parameters.size && !r->has_failed; i++) {
		if (!value_of(r, op, &op->args[i], &value)) {
			vec_deinit(&inner);
			return false;
		}
		inner.data[fn->parameters.data[i]] = value;
	}
	if (r->has_failed) {
		vec_deinit(&inner);
		return stop(r, RP_CRASHED, op->line, "out of memory") == ON;
	}
	r->state.frame = inner;
	fl_rp_run(r, op->callee);
	value = fn->result == RP_NONE ? RP_UNKNOWN : r->state.frame.data[fn->result];
	if (r->end != RP_RAN) {
		vec_deinit(&outer); // the innermost frame stays, to be looked at
		return false;
	}
	vec_deinit(&r->state.frame);
	r->state.frame = outer;
	r->function = outer_function;
	return assign(r, op, value);
}

static bool run_input(struct rp_run *r, const struct rp_op *op)
{
	int64_t value = r->next_input < r->n_inputs ? r->inputs[r->next_input++] : 0;

	tell(r, RP_EV_INPUT, 0, value);
	return assign(r, op, value);
}

/* @p ret: of a test, its outcome. @return false: the run ended. */
static bool run_op(struct rp_run *r, int number, int64_t *ret)
{
	const struct rp_op *op = &r->p->ops.data[number];
	int64_t a, b = 0;
	bool is_on = true;

	if (op->is_removed)
		return true;
	switch (op->kind) {
	case RP_ALLOC:
		is_on = new_node(r, op);
		break;
	case RP_FREE:
		is_on = free_node(r, op);
		break;
	case RP_INPUT:
		is_on = run_input(r, op);
		break;
	case RP_CALL:
		is_on = run_call(r, op);
		break;
	case RP_ASSIGN:
	case RP_TEST:
		is_on = value_of(r, op, &op->a, &a) &&
			(op->sign == RP_PLAIN || value_of(r, op, &op->b, &b)) &&
			compute(r, op, a, b, ret);
		if (is_on && op->kind == RP_ASSIGN)
			is_on = assign(r, op, *ret);
		break;
	}
	if (is_on && r->watch.done)
		r->watch.done(r, number);
	return is_on;
}

static bool run_ops(struct rp_run *r, const int *ops, size_t n, int64_t *ret)
{
	for (size_t i = 0; i < n; i++)
		if (!run_op(r, ops[i], ret))
			return false;
	return true;
}

/* ---- statements --------------------------------------------------------------------------- */

/* @return whether there is an answer. */
static bool holds(struct rp_run *r, const struct rp_condition *c, bool *ret)
{
	int64_t value = 0;

	if (c->logic == RP_ATOM) {
		if (!run_ops(r, c->ops.data, c->ops.size, &value))
			return false;
		*ret = value;
		return true;
	}
	if (!holds(r, c->left, ret))
		return false;
	if (c->logic == RP_NOT) {
		*ret = !*ret;
		return true;
	}
	return (c->logic == RP_AND) == *ret ? holds(r, c->right, ret) : true;
}

static bool before(struct rp_run *r, const struct rp_statement *s)
{
	unsigned long most = r->most_steps ? r->most_steps : MOST_STEPS;

	if (++r->steps > most) {
		stop(r, RP_ENDLESS, s->line, "still running after so many steps");
		return false;
	}
	if (r->watch.before && !r->watch.before(r, s)) {
		r->end = RP_STOPPED;
		return false;
	}
	return true;
}

/* A branch or loop goes the way of the watch, crash or not, when that has its own will. */
static bool decide(struct rp_run *r, const struct rp_statement *s, bool *ret)
{
	bool is_known = holds(r, s->condition, ret);

	if (r->watch.force && r->watch.force(r, s, ret) &&
	    (is_known || r->end == RP_CRASHED)) {
		r->end = RP_RAN;
		return true;
	}
	return is_known;
}

static enum flow run_loop(struct rp_run *r, const struct rp_statement *s)
{
	bool again = true, is_first = true;
	int64_t value;
	enum flow flow;

	for (;;) {
		if (!s->is_do || !is_first) {
			if (!is_first && !before(r, s))
				return ENDED;
			if (!decide(r, s, &again))
				return ENDED;
			tell(r, RP_EV_LOOP, s->id, again);
			if (!again)
				return ON;
		}
		is_first = false;
		flow = run_block(r, s->body);
		if (flow == BROKE)
			return ON;
		if (flow == RETURNED || flow == ENDED)
			return flow;
		if (!run_ops(r, s->step.data, s->step.size, &value))
			return ENDED;
	}
}

static enum flow run_if(struct rp_run *r, const struct rp_statement *s)
{
	bool is_true;

	if (!decide(r, s, &is_true))
		return ENDED;
	if (s->is_heavy)
		tell(r, RP_EV_IF, s->id, is_true);
	if (is_true)
		return run_block(r, s->body);
	return s->otherwise ? run_block(r, s->otherwise) : ON;
}

static enum flow run_statement(struct rp_run *r, const struct rp_statement *s)
{
	int64_t value;

	if (!before(r, s))
		return ENDED;
	switch (s->shape) {
	case RP_OPS:
		return run_ops(r, s->ops.data, s->ops.size, &value) ? ON : ENDED;
	case RP_RETURN:
		return run_ops(r, s->ops.data, s->ops.size, &value) ? RETURNED : ENDED;
	case RP_IF:
		return run_if(r, s);
	case RP_LOOP:
		return run_loop(r, s);
	case RP_BLOCK:
		return run_block(r, s->body);
	case RP_BREAK:
		return BROKE;
	case RP_CONTINUE:
		return CONTINUED;
	case RP_END:
		break;
	}
	return ON;
}

static enum flow run_block(struct rp_run *r, const struct rp_block *b)
{
	enum flow flow = ON;

	for (size_t i = 0; i < b->list.size && flow == ON; i++) {
		const struct rp_statement *s = b->list.data[i];

		flow = run_statement(r, s);
		// The watch may have put something before it.
		while (i + 1 < b->list.size && b->list.data[i] != s)
			i++;
	}
	return flow;
}

enum rp_end fl_rp_run(struct rp_run *r, int function)
{
	const struct rp_function *fn = &r->p->functions.data[function];
	char why[256];

	r->end = RP_RAN;
	if (fn->refused || !fn->body) {
		snprintf(why, sizeof(why), "%s() cannot be looked into: %s", fn->name,
			 fn->refused ? fn->refused : "it has no body");
		stop(r, RP_CRASHED, fn->line, why);
		return r->end;
	}
	if (r->depth >= MOST_DEPTH) {
		stop(r, RP_ENDLESS, fn->line, "calls go deeper than 200");
		return r->end;
	}
	r->depth++;
	tell(r, RP_EV_CALL, function, 0);
	r->function = function;
	if (r->watch.entered)
		r->watch.entered(r, function);
	if (run_block(r, fn->body) != ENDED && before(r, &fn->end)) {
		tell(r, RP_EV_RETURN, function, 0);
		if (r->watch.left)
			r->watch.left(r, function);
	}
	r->depth--;
	return r->end;
}

void fl_rp_run_deinit(struct rp_run *r)
{
	fl_rp_state_deinit(&r->state);
}
