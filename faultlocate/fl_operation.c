// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The operation on the structure that a violation is from.
 */
#include <string.h>

#include "faultlocate/fl_remedy.h"

// Operations looked at around what made a store necessary.
#define SPAN_MAX 4096

/* ---- the operation on the structure ------------------------------------------------------ */

static bool is_within(const struct fl_search *s, struct hg_node_id id, uint64_t addr)
{
	return addr >= fl_search_node(s, id)->start &&
	       addr - fl_search_node(s, id)->start < fl_search_node(s, id)->size;
}

// Did the operation change one of its nodes, or a pointer to one?
static bool is_about(const struct fl_search *s, const struct spec_violation *v,
		     const struct hg_op *op)
{
	for (size_t i = 0; i < SPEC_MAX_VARS; i++) {
		struct hg_node_id id = v->binding.node[i];

		if (id.v &&
		    (id.v == op->node.v ||
		     (op->kind == HG_OP_STORE && op->size == 8 &&
		      (is_within(s, id, op->before) || is_within(s, id, op->after)))))
			return true;
	}
	return false;
}

// The last operation that introduced one of the violations. Without a C-point before it there
// may be many that have nothing to do with each other: then one about its node.
static bool find_introduction(const struct fl_search *s, uint64_t *ret)
{
	for (size_t i = 0; i < s->q->found->size; i++) {
		const struct fl_contribution *c = &s->q->found->data[i];
		struct hg_op op = hg_graph_op(s->t->graph, c->op);

		if (c->introduces && (fl_search_has_start(s) ||
				      vec_find(&s->errors, v, is_about(s, v, &op)))) {
			*ret = c->op;
			return true;
		}
	}
	return false;
}

// The violation that the fewest fields were read for says the most.
static struct err *choose_about(struct fl_search *s, bool has_introduction)
{
	bool is_one = has_introduction && !fl_search_has_start(s);
	size_t fewest = SIZE_MAX, n = 0;
	struct err *err = NULL;
	struct hg_op op = {};

	if (is_one)
		op = hg_graph_op(s->t->graph, s->trigger);
	for (size_t i = 0; i < s->errors.size && n < FL_ROUNDS_MAX && !err; i++) {
		const struct spec_violation *v = &s->errors.data[i];

		if (is_one && !is_about(s, v, &op))
			continue;
		n++;
		err = spec_args(s->eval, v->constraint, &v->binding, &s->args);
		if (!s->about || (s->args.reads.size && s->args.reads.size < fewest))
			s->about = v;
		if (s->args.reads.size && s->args.reads.size < fewest)
			fewest = s->args.reads.size;
	}
	return err ? err :
		     spec_args(s->eval, s->about->constraint, &s->about->binding,
			       &s->args);
}

// What made a store necessary: what introduced a violation last, or, with a C-point before it and
// unless s->is_by_introduction, stored last what one is about.
static struct err *find_trigger(struct fl_search *s)
{
	bool has_any = find_introduction(s, &s->trigger);
	VEC(struct hg_written) w = {};
	struct err *err = choose_about(s, has_any);

	s->introduction = has_any ? s->trigger : UINT64_MAX;
	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = vec_add(&w, (struct hg_written){
					  .node = s->args.reads.data[i].node,
					  .offset = s->args.reads.data[i].offset });
	if (!err)
		err = hg_view_last_writes(s->view, w.data, w.size);
	for (size_t i = 0; i < w.size && !err; i++)
		if (!has_any || (fl_search_has_start(s) && !s->is_by_introduction &&
				 w.data[i].index > s->trigger)) {
			s->trigger = w.data[i].index;
			has_any = true;
		}
	vec_deinit(&w);
	return err;
}

static bool is_of(const struct fl_search *s, size_t i, const char *function)
{
	struct dec_place p = {};

	s->q->places->place(s->q->places->ctx, s->span.ops.data[i].rip, &p);
	return p.function && function && !strcmp(p.function, function);
}

// Without a C-point before it: as long as the same statement did not run, from the first to
// the last operation of its function.
static void bound_by_repeats(struct fl_search *s)
{
	uint64_t at = s->trigger - s->span.from, rip = s->span.ops.data[at].rip;
	struct dec_place p = {};
	size_t from = at, to = at + 1;

	s->q->places->place(s->q->places->ctx, rip, &p);
	while (from && s->span.ops.data[from - 1].rip != rip)
		from--;
	while (to < s->span.ops.size && s->span.ops.data[to].rip != rip)
		to++;
	// What is left of the time before, then what others did, then this time.
	for (size_t i = from; from && p.function && i < at; i++)
		if (!is_of(s, i, p.function)) {
			from = i;
			break;
		}
	while (p.function && from < at && !is_of(s, from, p.function))
		from++;
	while (p.function && to > at + 1 && !is_of(s, to - 1, p.function))
		to--;
	s->span.ops.size = to;
	s->since = s->span.from + from;
	memmove(s->span.ops.data, s->span.ops.data + from,
		(to - from) * sizeof(*s->span.ops.data));
	s->span.ops.size -= from;
	s->span.from += from;
}

static struct err *load_operation(struct fl_search *s)
{
	uint64_t from = fl_search_has_start(s) ? s->t->since_ops : 0, to = s->t->n_ops;
	struct err *err;

	if (s->trigger < from)
		from = s->trigger;
	s->since = from;
	if (s->trigger - from > SPAN_MAX)
		from = s->trigger - SPAN_MAX;
	if (to - s->trigger > SPAN_MAX)
		to = s->trigger + SPAN_MAX;
	err = fl_span_load(s->t->graph, from, to, &s->span);
	if (!err && !fl_search_has_start(s))
		bound_by_repeats(s);
	return err;
}

struct err *fl_search_operation(struct fl_search *s)
{
	struct err *err = NULL;

	s->about = NULL;
	fl_span_deinit(&s->span);
	err = find_trigger(s);
	return err ? err : load_operation(s);
}
