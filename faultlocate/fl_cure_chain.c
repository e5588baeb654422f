// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One statement that stores what is wrong several times, and a wrong value that others were
 * computed from: violations are put right one after the other, by what was stored in the operation
 * and nothing else. The first of those stores in time is the one to blame. So it is when that went
 * to a wrong place where something else was stored since: `lists[i] = u->next`, then u is put at the
 * head of list i.
 */
#include "faultlocate/fl_cure.h"

// Heaps made anew, in nodes.
#define ROUND_NODES_MAX 4000000
// .. so often for stores that went elsewhere.
#define ELSEWHERE_ROUNDS_MAX 16
// Statements asked.
#define STATEMENTS_MAX 16

/** Stores altered one after the other. */
struct chain {
	const struct dec_place *of; ///< the statement; NULL: any
	uint64_t since;		    ///< none before that operation
	uint64_t first;		    ///< the earliest of them
	struct fl_alteration as;    ///< what it had got
	enum fl_cure_grade
		grade; ///< the worst of theirs; NONE: it did not come to an end
};

// Does try i put something right, and break nothing?
static bool is_step(const struct fl_cures *c, const struct chain *h, size_t i)
{
	const struct fl_outcome *o = &c->s.outcomes.data[i];
	const struct fl_candidate *f = fl_cure_field(c, i);
	struct dec_place place;

	if (!f->is_written || o->n_new || o->n_left >= c->s.errors.size)
		return false;
	if (f->last_op < h->since)
		return false;
	if (!h->of)
		return true;
	place = fl_cure_place(c, f->last_op);
	return fl_is_same_statement(&place, h->of);
}

// The step that leaves the fewest violations, one by which something is asked for still if there
// is any. @p ret: tries.size: there is none.
static struct err *next_step(struct fl_cures *c, const struct chain *h, size_t *ret,
			     enum fl_cure_grade *grade)
{
	struct err *err = NULL;

	*ret = c->s.tries.size;
	for (size_t i = 0; i < c->s.tries.size && !err; i++) {
		enum fl_cure_grade g;

		if (!is_step(c, h, i))
			continue;
		err = fl_cure_grade(c, i, &g);
		if (*ret < c->s.tries.size &&
		    (g < *grade ||
		     (g == *grade &&
		      c->s.outcomes.data[i].n_left >= c->s.outcomes.data[*ret].n_left)))
			continue;
		*ret = i;
		*grade = g;
	}
	return err;
}

static struct err *take_step(struct fl_cures *c, struct chain *h, size_t i,
			     enum fl_cure_grade grade)
{
	uint64_t op = fl_cure_field(c, i)->last_op;

	if (grade > FL_CURE_EVADED && (!h->grade || grade < h->grade))
		h->grade = grade;
	if (op < h->first) {
		h->first = op;
		h->as = c->s.tries.data[i];
	}
	return vec_add(&c->s.made, c->s.tries.data[i]);
}

// Alter one after the other until nothing is violated, c->s.made being made.
static struct err *follow(struct fl_cures *c, struct chain *h, uint32_t *rounds)
{
	struct err *err = NULL;

	for (; !err && *rounds; --*rounds) {
		enum fl_cure_grade grade = FL_CURE_NONE;
		size_t i = 0;

		err = fl_search_left(&c->s);
		if (!err && !c->s.errors.size) {
			if (fl_cure_is_void(c, NULL, 0))
				h->grade = FL_CURE_NONE;
			return NULL;
		}
		if (!err)
			err = fl_search_fields(&c->s);
		if (!err)
			err = fl_search_try(&c->s);
		if (!err)
			err = next_step(c, h, &i, &grade);
		if (err || i == c->s.tries.size)
			break;
		err = take_step(c, h, i, grade);
	}
	h->grade = FL_CURE_NONE;
	return err;
}

// What operation op stored had gone to the field of @p to instead.
static struct err *begin_elsewhere(struct fl_cures *c, uint64_t op,
				   const struct fl_candidate *to, uint32_t *rounds)
{
	struct hg_op o = hg_graph_op(c->s.t->graph, op);
	struct fl_alteration x = { to->node, to->at.offset, to->at.size, o.after };
	struct chain h = { .since = op, .first = op, .as = x };
	struct err *err;
	uint64_t now;

	// What leads nowhere was meant for nothing.
	if (o.size != x.size ||
	    (to->at.is_pointer && !hg_view_find(c->s.view, o.after).v) ||
	    !hg_view_read(c->s.view, x.node, x.offset, x.size, &now) || now == x.value)
		return NULL;
	c->s.made.size = 0;
	err = vec_add(&c->s.made, x);
	if (!err)
		err = follow(c, &h, rounds);
	return err || !h.grade ?
		       err :
		       fl_cure_give(c, op, FL_CURE_FIRST, &x, c->s.made.size - 1);
}

// What was stored over since, to another element of the array. A table has few lists; a wrong guess
// is given up soon.
static struct err *chain_elsewhere(struct fl_cures *c, uint32_t rounds)
{
	VEC(struct fl_candidate) fields = {};
	uint64_t from = c->s.span.from, n = c->s.span.ops.size, last = c->s.t->n_ops;
	struct err *err = NULL;

	c->s.made.size = 0;
	err = fl_search_left(&c->s);
	if (!err)
		err = fl_search_fields(&c->s);
	for (size_t i = 0; i < c->s.fields.size && !err; i++)
		if (!c->s.fields.data[i].is_written)
			err = vec_add(&fields, c->s.fields.data[i]);
	for (uint64_t op = from; op < from + n && op < last && !err; op++) {
		struct hg_op o = hg_graph_op(c->s.t->graph, op);
		uint64_t shape;

		if (o.kind != HG_OP_STORE || !hg_view_is_live(c->before, o.node) ||
		    !fl_search_node(&c->s, o.node)->type ||
		    !fl_cure_is_overwritten(c, op))
			continue;
		shape = fl_field_shape(c->s.t->spec, c->s.t->graph, o.node,
				       o.addr - fl_search_node(&c->s, o.node)->start);
		for (size_t i = 0; i < fields.size && !err; i++)
			if (fields.data[i].shape == shape &&
			    fields.data[i].node.v == o.node.v)
				err = begin_elsewhere(c, op, &fields.data[i], &rounds);
	}
	vec_deinit(&fields);
	return err;
}

struct err *fl_cure_chain(struct fl_cures *c)
{
	uint32_t rounds = ROUND_NODES_MAX / (hg_graph_nodes(c->s.t->graph) + 1) + 1;
	VEC(struct dec_place) statements = {};
	struct err *err = NULL;
	struct chain any = {};
	bool has_any = false;

	if (rounds > 4 * FL_ROUNDS_MAX)
		rounds = 4 * FL_ROUNDS_MAX;
	// Of those by which something is put right at once.
	for (size_t i = 0; i < c->s.tries.size && !err; i++) {
		struct dec_place p;

		if (statements.size >= STATEMENTS_MAX || !is_step(c, &any, i))
			continue;
		p = fl_cure_place(c, fl_cure_field(c, i)->last_op);
		if (!vec_find(&statements, k, fl_is_same_statement(k, &p)))
			err = vec_add(&statements, p);
	}
	for (size_t i = 0; i <= statements.size && statements.size && !err; i++) {
		bool is_any = i == statements.size;
		struct chain h = { .of = is_any ? NULL : &statements.data[i],
				   .first = UINT64_MAX };

		if (is_any && has_any)
			break;
		c->s.made.size = 0;
		err = follow(c, &h, &rounds);
		if (err || !h.grade)
			continue;
		has_any = true;
		err = fl_cure_give(c, h.first, is_any ? FL_CURE_FIRST : h.grade, &h.as,
				   c->s.made.size - 1);
	}
	vec_deinit(&statements);
	if (rounds > ELSEWHERE_ROUNDS_MAX)
		rounds = ELSEWHERE_ROUNDS_MAX;
	return err || has_any ? err : chain_elsewhere(c, rounds);
}
