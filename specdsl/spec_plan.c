// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The order of the loops. `X -> Y and X[1] > 0 => ...` must walk the edges, not all pairs
 * of nodes: each variable takes its nodes from an equality, edge or path that ties it to
 * variables before it, and each conjunct is checked as soon as its variables are known.
 */
#include "specdsl/spec_ast.h"

// More pointers than in a tree's or skip list's node: a table.
#define WIDE_EDGES 16

static void add_conjuncts(struct plan *plan, const struct ast *n)
{
	// The last place takes whatever is left, joined as it is.
	if (n->kind == AST_AND && plan->n_conjuncts < SPEC_MAX_CONJUNCTS - 1) {
		add_conjuncts(plan, n->a);
		if (plan->n_conjuncts < SPEC_MAX_CONJUNCTS) {
			add_conjuncts(plan, n->b);
			return;
		}
		plan->n_conjuncts--; // n stands for all that did not fit
	}
	plan->conjuncts[plan->n_conjuncts++] = n;
}

static bool is_free_var(const struct ast *n, uint32_t free_vars)
{
	return n->kind == AST_VAR && (n->vars & free_vars);
}

/** `X.next == &Y.link`: Y, one of @p free_vars, is the node that X.next leads into. */
static bool find_addressed(const struct ast *c, uint32_t free_vars, struct plan_step *ret)
{
	if (c->kind != AST_COMPARE || c->compare != CMP_NUMBERS || c->op != OP_EQ)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct ast *address = i ? c->b : c->a, *field = i ? c->a : c->b;
		const struct ast *of = address->kind == AST_ADDRESS ? address->a : NULL;

		// What is a field of Y, and what of a node behind it, resolving says.
		if (of && of->kind != AST_VAR)
			of = of->base;
		if (!of || !is_free_var(of, free_vars) || (field->vars & free_vars) ||
		    (field->kind != AST_FIELD && field->kind != AST_NAMED) ||
		    !field->base || field->user_attr >= 0)
			continue;
		*ret = (struct plan_step){ .source = PLAN_EQUAL,
					   .var = of->number,
					   .from = field };
		return true;
	}
	return false;
}

/** @return the variable of @p free_vars whose address alone @p n adds, subtracts or takes the
 * exclusive or of; NULL: it is none, or not that alone. */
static const struct ast *find_solvable(const struct ast *n, uint32_t free_vars)
{
	while (n->kind == AST_BIT_XOR || n->kind == AST_ADD || n->kind == AST_SUB) {
		if (n->a->vars & n->b->vars & free_vars)
			return NULL;
		n = n->a->vars & free_vars ? n->a : n->b;
	}
	return n->kind == AST_ADDRESS && is_free_var(n->a, free_vars) ? n->a : NULL;
}

/** `X.link == (&Y ^ &Z)`: Z is at `X.link ^ &Y`. */
static bool find_equation(const struct ast *c, uint32_t free_vars, struct plan_step *ret)
{
	const struct ast *var;

	if (c->kind != AST_COMPARE || c->compare != CMP_NUMBERS || c->op != OP_EQ ||
	    __builtin_popcount(c->vars & free_vars) != 1 ||
	    (c->a->vars & c->b->vars & free_vars))
		return false;
	var = find_solvable(c->a->vars & free_vars ? c->a : c->b, free_vars);
	if (var)
		*ret = (struct plan_step){ .source = PLAN_SOLVE,
					   .var = var->number,
					   .from = c };
	return var;
}

/** Can conjunct @p c give the nodes of a variable of @p free_vars, the others known? */
static bool find_source(const struct ast *c, uint32_t free_vars, struct plan_step *ret)
{
	bool is_equal = c->kind == AST_COMPARE && c->compare == CMP_VERTICES &&
			c->op == OP_EQ;
	bool is_edge = c->kind == AST_EDGE && c->op == OP_EDGE;
	bool is_path = c->kind == AST_EDGE && c->op == OP_PATH;
	bool is_a_free, is_b_free;

	if (!is_equal && !is_edge && !is_path)
		return find_addressed(c, free_vars, ret) ||
		       find_equation(c, free_vars, ret);
	is_a_free = is_free_var(c->a, free_vars) && !(c->b->vars & free_vars);
	is_b_free = is_free_var(c->b, free_vars) && !(c->a->vars & free_vars);
	if (is_equal && (is_a_free || is_b_free)) {
		ret->source = PLAN_EQUAL;
		ret->var = (is_a_free ? c->a : c->b)->number;
		ret->from = is_a_free ? c->b : c->a;
		return true;
	}
	if (!is_equal && is_b_free) {
		ret->source = is_edge ? PLAN_OUT : PLAN_REACH;
		ret->var = c->b->number;
		ret->from = c->a;
		return true;
	}
	if (is_edge && is_a_free) {
		ret->source = PLAN_IN;
		ret->var = c->a->number;
		ret->from = c->b;
		return true;
	}
	return false;
}

/** Do nodes of type @p t have very many pointers? */
static bool is_wide(const struct spec_type *t)
{
	return t->is_array || t->n_edges > WIDE_EDGES;
}

/** @return the free variable to walk in full: the first on the left of a connection, as
 * the others then follow from it, else the first. If it may be connected to very many, which
 * then would all be looked at when one of them changes, better that on the right. */
static uint32_t first_var(const struct spec *s, const struct spec_rule *r,
			  const struct plan *plan, uint32_t free_vars)
{
	for (uint32_t i = 0; i < plan->n_conjuncts; i++) {
		const struct ast *c = plan->conjuncts[i];

		if (c->kind != AST_EDGE || (c->op != OP_EDGE && c->op != OP_PATH) ||
		    !(c->a->vars & free_vars))
			continue;
		if (c->op == OP_EDGE && is_free_var(c->a, free_vars) &&
		    is_free_var(c->b, free_vars) &&
		    is_wide(&s->types.data[r->vars[c->a->number].type]) &&
		    !is_wide(&s->types.data[r->vars[c->b->number].type]))
			return c->b->number;
		return __builtin_ctz(c->a->vars & free_vars);
	}
	return __builtin_ctz(free_vars);
}

/** The conjuncts that can be evaluated once @p known are known, without @p done. */
static uint64_t checkable(const struct plan *plan, uint32_t free_vars, uint64_t done)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < plan->n_conjuncts; i++)
		if (!(plan->conjuncts[i]->vars & free_vars))
			bits |= UINT64_C(1) << i;
	return bits & ~done;
}

/** Does conjunct @p c say which number a field of variable @p var has, the others known? */
static bool is_same(const struct ast *c, uint32_t var, uint32_t free_vars)
{
	if (c->kind != AST_COMPARE || c->compare != CMP_NUMBERS || c->op != OP_EQ)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct ast *field = i ? c->b : c->a, *other = i ? c->a : c->b;

		if ((field->kind == AST_FIELD || field->kind == AST_NAMED) &&
		    field->vars == 1u << var && !(other->vars & free_vars))
			return true;
	}
	return false;
}

static void make_plan(const struct spec *s, const struct spec_rule *r, struct plan *plan,
		      const struct ast *condition, uint32_t free_vars)
{
	uint64_t done;

	if (condition)
		add_conjuncts(plan, condition);
	plan->first_checks = done = checkable(plan, free_vars, 0);
	while (free_vars) {
		struct plan_step *step = &plan->steps[plan->n_steps++];

		step->source = PLAN_ALL;
		step->var = first_var(s, r, plan, free_vars);
		for (uint32_t i = 0; i < plan->n_conjuncts; i++) {
			struct plan_step found;

			if (find_source(plan->conjuncts[i], free_vars, &found) &&
			    (step->source == PLAN_ALL || found.source < step->source))
				*step = found;
		}
		for (uint32_t i = 0; i < plan->n_conjuncts; i++)
			if (step->source == PLAN_ALL && plan->n_steps > 1 &&
			    is_same(plan->conjuncts[i], step->var, free_vars))
				step->sames |= UINT64_C(1) << i;
		free_vars &= ~(1u << step->var);
		step->checks = checkable(plan, free_vars, done);
		done |= step->checks;
	}
}

void spec_plan_rule(const struct spec *s, struct spec_rule *r)
{
	uint32_t all = r->guard ? r->guard->vars : r->body->vars;

	for (size_t i = 0; i < r->pub.n_vars; i++)
		if (r->vars[i].is_root) // what is said of it is said of each
			all |= 1u << i;
	r->some_vars = r->body->vars & ~all;
	for (size_t i = 0; i < r->pub.n_vars; i++)
		r->vars[i].kind = all & (1u << i)	   ? SPEC_VAR_ALL :
				  r->some_vars & (1u << i) ? SPEC_VAR_SOME :
							     SPEC_VAR_UNUSED;
	r->all = r->nodes = r->some = (struct plan){};
	make_plan(s, r, &r->all, r->guard, all);
	make_plan(s, r, &r->nodes, NULL, all);
	make_plan(s, r, &r->some, r->body, r->some_vars);
}
