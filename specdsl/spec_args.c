// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One constraint over one subgraph: whether it holds, and its arguments (paper 001,
 * definitions 2 and 3).
 */
#include <string.h>

#include "specdsl/spec_eval.h"

/** @return whether the nodes of the "all" variables are alive and of their types. */
static bool is_binding_live(struct spec_eval *e, const struct spec_rule *r,
			    const struct spec_binding *b)
{
	for (size_t i = 0; i < r->pub.n_vars; i++) {
		const struct edge_node *n;

		if (r->vars[i].kind != SPEC_VAR_ALL)
			continue;
		n = spec_edges_node(&e->edges, b->node[i]);
		if (!n || !spec_type_is(e->s, n->type, r->vars[i].type))
			return false;
	}
	return true;
}

static void set_nodes(struct scope *sc, const struct spec_rule *r,
		      const struct spec_binding *b)
{
	sc->index = b->index;
	for (size_t i = 0; i < r->pub.n_vars; i++)
		if (r->vars[i].kind == SPEC_VAR_ALL &&
		    spec_edges_node(&sc->e->edges, b->node[i]))
			sc->nodes[i] = b->node[i];
}

/* Ask about @p r over @p b from here on, in @p sc, which has its evaluator. */
static struct err *begin(struct scope *sc, const struct spec_rule *r,
			 const struct spec_binding *b)
{
	struct err *err = spec_eval_refresh(sc->e);

	if (err)
		return err;
	sc->e->is_out_of_memory = false;
	set_nodes(sc, r, b);
	return NULL;
}

struct err *spec_check_one(struct spec_eval *e, uint32_t constraint,
			   const struct spec_binding *b, bool *holds)
{
	const struct spec_rule *r = e->s->rules.data[constraint];
	struct scope sc = { .e = e };
	struct err *err = begin(&sc, r, b);

	if (err)
		return err;
	*holds = !is_binding_live(e, r, b) || spec_rule_is_out_of_range(&sc, r) ||
		 (r->guard && !spec_eval_condition(&sc, r->guard)) ||
		 spec_rule_body(&sc, r);
	return e->is_out_of_memory ? &err_nomem : NULL;
}

static bool is_vertex_comparison(const struct ast *n)
{
	return n->kind == AST_EDGE ||
	       (n->kind == AST_COMPARE && n->compare == CMP_VERTICES);
}

/** Collect what @p n says about the "all" variables alone; what it says about the others
 * is in the body's truth. */
static void record_body(struct scope *sc, const struct ast *n, uint32_t some_vars)
{
	if (!n)
		return;
	if (!(n->vars & some_vars)) {
		spec_eval_record(sc, n);
	} else if (is_vertex_comparison(n)) {
		if (!(n->a->vars & some_vars))
			spec_eval_record_vertex(sc, n->a);
		if (!(n->b->vars & some_vars))
			spec_eval_record_vertex(sc, n->b);
	} else {
		record_body(sc, n->a, some_vars);
		record_body(sc, n->b, some_vars);
		record_body(sc, n->c, some_vars);
	}
}

void spec_rule_args(struct spec_eval *e, uint32_t constraint,
		    const struct spec_binding *b, struct spec_args *ret)
{
	const struct spec_rule *r = e->s->rules.data[constraint];
	struct scope sc = { .e = e, .args = ret, .deps = ret, .reads = ret };
	bool is_true;

	set_nodes(&sc, r, b);
	for (size_t i = 0; i < r->pub.n_vars; i++)
		if (r->vars[i].kind == SPEC_VAR_ALL)
			spec_eval_add_dep(&sc, SPEC_DEP_NODE, b->node[i]);
	if (r->guard)
		spec_eval_condition(&sc, r->guard);
	record_body(&sc, r->body, r->some_vars);
	if (!r->some_vars)
		return;
	sc.args = sc.reads = NULL;
	is_true = spec_rule_body(&sc, r);
	sc.args = ret;
	spec_eval_add_arg(&sc, false, is_true, true);
}

struct err *spec_args(struct spec_eval *e, uint32_t constraint,
		      const struct spec_binding *b, struct spec_args *ret)
{
	struct err *err = spec_eval_refresh(e);

	ret->args.size = ret->deps.size = ret->reads.size = ret->gaps.size = 0;
	ret->wants.size = 0;
	if (err)
		return err;
	e->is_out_of_memory = false;
	spec_rule_args(e, constraint, b, ret);
	return e->is_out_of_memory ? &err_nomem : NULL;
}

struct err *spec_args_deep(struct spec_eval *e, uint32_t constraint,
			   const struct spec_binding *b, struct spec_args *ret)
{
	struct err *err;

	spec_eval_drop_memos(e);
	e->attr_reads = ret;
	err = spec_args(e, constraint, b, ret);
	e->attr_reads = NULL;
	return err;
}

struct err *spec_guard(struct spec_eval *e, uint32_t constraint,
		       const struct spec_binding *b, bool *is_true)
{
	const struct spec_rule *r = e->s->rules.data[constraint];
	struct scope sc = { .e = e };
	struct err *err = begin(&sc, r, b);

	if (err)
		return err;
	*is_true = is_binding_live(e, r, b) && !spec_rule_is_out_of_range(&sc, r) &&
		   (!r->guard || spec_eval_condition(&sc, r->guard));
	return e->is_out_of_memory ? &err_nomem : NULL;
}

void spec_on_read(struct spec_eval *e, void (*fn)(void *ctx, const struct spec_read *r),
		  void *ctx)
{
	e->on_read = fn;
	e->on_read_ctx = ctx;
}

void spec_args_deinit(struct spec_args *a)
{
	vec_deinit(&a->args);
	vec_deinit(&a->deps);
	vec_deinit(&a->reads);
	vec_deinit(&a->gaps);
	vec_deinit(&a->wants);
}

bool spec_args_equal(const struct spec_args *a, const struct spec_args *b)
{
	if (a->args.size != b->args.size)
		return false;
	for (size_t i = 0; i < a->args.size; i++)
		if (a->args.data[i].is_absent != b->args.data[i].is_absent ||
		    a->args.data[i].value != b->args.data[i].value)
			return false;
	return true;
}
