// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * All inconsistencies of a view (paper 001, Definition 1).
 */
#include <assert.h>
#include <string.h>

#include "specdsl/spec_eval.h"

// So few are compared with each other; more are sorted.
#define FEW_CANDIDATES 16

struct err *spec_eval_create(const struct spec *s, const struct hg_graph *g,
			     const struct hg_view *v, struct spec_eval **ret)
{
	_cleanup_(spec_eval_destroyp) struct spec_eval *e = NULL;
	struct err *err;

	if (spec_errors(s))
		return err_new(ERR_SPEC,
			       "cannot check: the specification has %zu mistakes",
			       spec_errors(s));
	assert(s->is_resolved);
	e = calloc(1, sizeof(*e));
	if (!e)
		return &err_nomem;
	e->asked = calloc(s->rules.size + 1, sizeof(*e->asked));
	if (!e->asked)
		return &err_nomem;
	e->s = s;
	e->g = g;
	e->v = v;
	err = spec_edges_init(&e->edges, s, g, v);
	if (err)
		return err;
	*ret = take_ptr(&e);
	return NULL;
}

void spec_eval_destroy(struct spec_eval *e)
{
	if (!e)
		return;
	if (e->s)
		spec_edges_deinit(&e->edges);
	spec_same_deinit(e);
	spec_track_deinit(&e->track);
	map_deinit(&e->memo_of);
	vec_deinit(&e->memos);
	vec_deinit(&e->free_memos);
	spec_args_deinit(&e->attr_deps);
	vec_deinit(&e->tasks);
	vec_deinit(&e->texts[0].chars);
	vec_deinit(&e->texts[1].chars);
	for (size_t i = 0; i < 2 * SPEC_MAX_VARS; i++)
		vec_deinit(&e->candidates[i]);
	free(e->asked);
	free(e);
}

void spec_eval_destroyp(struct spec_eval **e)
{
	spec_eval_destroy(*e);
}

uint64_t spec_eval_asked(const struct spec_eval *e, uint32_t constraint)
{
	return e->asked[constraint];
}

/* ---- loops ----------------------------------------------------------------------------- */

/* Are all conjuncts of @p bits true? */
static bool plan_check(struct scope *sc, const struct plan *plan, uint64_t bits)
{
	for (; bits; bits &= bits - 1)
		if (!spec_eval_condition(sc, plan->conjuncts[__builtin_ctzll(bits)]))
			return false;
	return true;
}

static void add_candidate(struct spec_eval *e, uint32_t level, uint32_t id)
{
	uint32_t *new = vec_push(&e->candidates[level]);

	if (new)
		*new = id;
	e->is_out_of_memory |= !new;
}

static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void add_targets(struct spec_eval *e, uint32_t level, const struct edge_node *from)
{
	const struct edge_slot *slots = e->edges.slots.data + from->first_slot;

	for (uint32_t k = 0; k < from->n_slots; k++)
		if (slots[k].target)
			add_candidate(e, level, slots[k].target);
}

struct candidate_list {
	struct spec_eval *e;
	uint32_t level;
};

static void add_source(void *ctx, uint32_t id)
{
	const struct candidate_list *l = ctx;

	add_candidate(l->e, l->level, id);
}

static void add_sources(struct spec_eval *e, uint32_t level, const struct edge_node *to)
{
	struct candidate_list l = { e, level };

	spec_edges_sources(&e->edges, to, add_source, &l);
}

static void add_reached(struct spec_eval *e, uint32_t level, const struct edge_node *from)
{
	const uint64_t *row = spec_edges_reach(&e->edges, from);
	size_t n_words = (e->edges.nodes.size + 63) / 64;

	e->is_out_of_memory |= !row;
	for (size_t w = 0; row && w < n_words; w++)
		for (uint64_t bits = row[w]; bits; bits &= bits - 1)
			add_candidate(
				e, level,
				e->edges.nodes.data[w * 64 + __builtin_ctzll(bits)].id.v);
}

/** The candidates of @p step are what they are because of node @p from. */
static void add_candidates_dep(struct scope *sc, const struct plan_step *step,
			       struct hg_node_id from)
{
	if (step->source == PLAN_OUT)
		spec_eval_add_dep(sc, SPEC_DEP_NODE, from);
	if (step->source == PLAN_IN)
		spec_eval_add_dep(sc, SPEC_DEP_INTO, from);
	if (step->source == PLAN_REACH) {
		spec_eval_add_dep(sc, SPEC_DEP_EDGES, from);
		sc->path_root = from;
	}
}

static bool is_repeated(const uint32_t *ids, size_t n, uint32_t id)
{
	for (size_t i = 0; i < n; i++)
		if (ids[i] == id)
			return true;
	return false;
}

static void keep_each_once(struct spec_eval *e, uint32_t level)
{
	uint32_t *ids = e->candidates[level].data;
	size_t n_all = e->candidates[level].size, n = 0;
	bool is_many = n_all > FEW_CANDIDATES;

	if (is_many)
		qsort(ids, n_all, sizeof(*ids), compare_ids);
	for (size_t i = 0; i < n_all; i++)
		if (is_many ? !n || ids[i] != ids[n - 1] : !is_repeated(ids, n, ids[i]))
			ids[n++] = ids[i];
	e->candidates[level].size = n;
}

/** The node that lies where the address of the variable of @p step makes its equation true. */
static void add_solution(struct scope *sc, uint32_t level, const struct plan_step *step)
{
	const struct ast *c = step->from, *n = c->a->vars & 1u << step->var ? c->a : c->b;
	struct value at = spec_eval_number(sc, n == c->a ? c->b : c->a), known;
	struct hg_node_id id;

	for (; n->kind != AST_ADDRESS && at.kind != VALUE_NONE;) {
		bool is_a = n->a->vars & 1u << step->var;

		known = spec_eval_number(sc, is_a ? n->b : n->a);
		if (n->kind == AST_BIT_XOR)
			at = spec_eval_calculate(sc, AST_BIT_XOR, at, known);
		else if (n->kind == AST_ADD)
			at = spec_eval_calculate(sc, AST_SUB, at, known);
		else if (is_a)
			at = spec_eval_calculate(sc, AST_ADD, at, known);
		else
			at = spec_eval_calculate(sc, AST_SUB, known, at);
		n = is_a ? n->a : n->b;
	}
	// What lives at an address is told of to those alone who ask about everything.
	spec_eval_add_dep(sc, SPEC_DEP_ALL, (struct hg_node_id){ 0 });
	if (at.kind != VALUE_INT || at.i < 0 || at.i > UINT64_MAX)
		return;
	id = hg_view_find(sc->e->v, (uint64_t)at.i);
	if (id.v)
		add_candidate(sc->e, level, id.v);
}

/** The nodes of a root: one, or one for each call under way. */
static void add_roots(struct scope *sc, uint32_t type, uint32_t level)
{
	struct hg_node_id id = { 0 };

	spec_eval_add_dep(sc, SPEC_DEP_SAME, (struct hg_node_id){ spec_root_list(type) });
	while ((id = hg_view_next(sc->e->v, type + 1, id)).v)
		add_candidate(sc->e, level, id.v);
}

/** Roots of one thread, or of one call, are asked about together: is that so of node @p id of
 * root @p var and those that have nodes already? */
static bool is_of_the_same(const struct scope *sc, const struct spec_rule *r,
			   uint32_t var, struct hg_node_id id)
{
	for (size_t i = 0; i < r->pub.n_vars; i++)
		if (i != var && r->vars[i].is_root && sc->nodes[i].v &&
		    !hg_graph_is_together(sc->e->g, sc->nodes[i], id,
					  spec_roots_share_scope(sc->e->s,
								 r->vars[i].type,
								 r->vars[var].type)))
			return false;
	return true;
}

/** List what the variable of @p step can be, each node once. */
static void find_candidates(struct scope *sc, const struct spec_rule *r,
			    const struct plan *plan, const struct plan_step *step,
			    uint32_t level)
{
	struct spec_eval *e = sc->e;
	struct spec_args *args = sc->args;
	const struct edge_node *from;
	struct vertex v = { .kind = VERTEX_NONE };

	e->candidates[level].size = 0;
	// In a body it matters which fields cannot be read on the way.
	if (step->source == PLAN_ALL && plan == &r->all &&
	    spec_same_candidates(sc, plan, step, r->vars[step->var].type, add_source,
				 &(struct candidate_list){ e, level }))
		return;
	if (step->source == PLAN_ALL && r->vars[step->var].is_root) {
		add_roots(sc, r->vars[step->var].type, level);
		return;
	}
	if (step->source == PLAN_ALL) {
		spec_eval_add_dep(sc, SPEC_DEP_ALL, (struct hg_node_id){ 0 });
		for (size_t i = 0; i < e->edges.nodes.size; i++)
			if (e->edges.nodes.data[i].is_live)
				add_candidate(e, level, e->edges.nodes.data[i].id.v);
		return;
	}
	sc->args = NULL;
	if (step->source == PLAN_SOLVE)
		add_solution(sc, level, step);
	else
		v = spec_eval_vertex(sc, step->from);
	sc->args = args;
	if (step->source == PLAN_SOLVE)
		return;
	from = v.kind == VERTEX_NODE ? spec_edges_node(&e->edges, v.node) : NULL;
	if (!from)
		return;
	add_candidates_dep(sc, step, v.node);
	if (step->source == PLAN_EQUAL)
		add_candidate(e, level, v.node.v);
	else if (step->source == PLAN_OUT)
		add_targets(e, level, from);
	else if (step->source == PLAN_IN)
		add_sources(e, level, from);
	else
		add_reached(e, level, from);
	// Several fields may lead to the same node.
	keep_each_once(e, level);
}

/* Set the variables of @p plan from step @p step on in every way that makes its conjuncts
 * true, and call @p fn for each until it returns true. Loops use candidates[level..].
 * @return whether @p fn did. */
static bool plan_walk(struct scope *sc, const struct spec_rule *r,
		      const struct plan *plan, uint32_t step, uint32_t level,
		      bool (*fn)(struct scope *sc, void *ctx), void *ctx)
{
	const struct plan_step *s = &plan->steps[step];
	bool is_stopped = false;

	if (step == plan->n_steps)
		return fn(sc, ctx);
	find_candidates(sc, r, plan, s, level);
	for (size_t i = 0; i < sc->e->candidates[level].size && !is_stopped; i++) {
		struct hg_node_id id = { sc->e->candidates[level].data[i] };
		const struct edge_node *n = spec_edges_node(&sc->e->edges, id);

		if (!n || !spec_type_is(sc->e->s, n->type, r->vars[s->var].type))
			continue;
		if (r->vars[s->var].is_root && !is_of_the_same(sc, r, s->var, id))
			continue;
		sc->nodes[s->var] = id;
		if (plan_check(sc, plan, s->checks))
			is_stopped = plan_walk(sc, r, plan, step + 1, level + 1, fn, ctx);
	}
	sc->nodes[s->var] = (struct hg_node_id){ 0 };
	return is_stopped || sc->e->is_out_of_memory;
}

static bool found_one(struct scope *sc, void *ctx)
{
	(void)sc;
	*(bool *)ctx = true;
	return true;
}

bool spec_rule_body(struct scope *sc, const struct spec_rule *r)
{
	bool is_found = false;

	if (!r->some_vars)
		return spec_eval_condition(sc, r->body);
	if (!plan_check(sc, &r->some, r->some.first_checks))
		return false;
	plan_walk(sc, r, &r->some, 0, r->all.n_steps, found_one, &is_found);
	return is_found;
}

/* ---- checks ----------------------------------------------------------------------------- */

struct check {
	const struct spec_rule *rule;
	uint32_t constraint;
	const struct rule_part *part;
	size_t max, first; ///< first: where this constraint's begin in found
	spec_violations *found;
};

/** The guard is true: does the body hold? */
static bool check_body(struct scope *sc, void *ctx)
{
	struct check *c = ctx;
	struct spec_violation *v;

	sc->e->asked[c->constraint]++;
	sc->is_unreadable = sc->is_cyclic = false;
	if (spec_rule_body(sc, c->rule))
		return false;
	v = vec_push(c->found);
	if (!v) {
		sc->e->is_out_of_memory = true;
		return true;
	}
	v->constraint = c->constraint;
	memcpy(v->binding.node, sc->nodes, sizeof(sc->nodes));
	v->binding.index = sc->index;
	v->is_unreadable = sc->is_unreadable;
	v->is_cyclic = sc->is_cyclic;
	return c->max && c->found->size - c->first >= c->max;
}

/** @return whether index @p n of `X[e]`, `X.name[e]` or `X.name[e].part`, which is @p whole,
 * makes it no field of X. */
static bool is_past_end(struct scope *sc, const struct ast *whole, const struct ast *n)
{
	const struct hg_node *h = hg_graph_node(sc->e->g, sc->nodes[whole->base->number]);
	struct value i = spec_eval_number(sc, n->b);
	const struct ast_step *step;
	struct dec_field f;

	if (i.kind != VALUE_INT || !h->type)
		return false;
	if (!whole->by_type)
		return i.i < 1 ||
		       i.i > spec_type_node_fields(sc->e->s, h->type - 1, h->size);
	step = &whole->by_type[h->type - 1].steps[n->n_steps - 1];
	if (i.i < 0 || i.i >= step->run)
		return true;
	return step->run == UINT32_MAX &&
	       (!spec_field_at(&sc->e->s->types.data[h->type - 1],
			       whole->by_type[h->type - 1].field + i.i * step->stride,
			       &f) ||
		f.offset + f.size > h->size);
}

/** The same for all of its indices that I selects. */
static bool is_field_past_end(struct scope *sc, const struct ast *whole)
{
	for (const struct ast *n = whole; n != whole->base; n = n->a)
		if (n->kind == AST_FIELD && (n->is_step || !whole->by_type) &&
		    n->b->has_index && is_past_end(sc, whole, n))
			return true;
	return false;
}

/** @return whether some field in @p n that I selects does not exist: I is past the end. */
static bool is_out_of_range(struct scope *sc, const struct ast *n)
{
	if (!n || !n->has_index)
		return false;
	if ((n->kind == AST_FIELD || n->kind == AST_NAMED) && !n->is_prefix &&
	    n->user_attr < 0 && n->base->kind == AST_VAR &&
	    sc->nodes[n->base->number]
		    .v && // else it stands for some node: there may be one
	    is_field_past_end(sc, n))
		return true;
	return is_out_of_range(sc, n->a) || is_out_of_range(sc, n->b) ||
	       is_out_of_range(sc, n->c);
}

bool spec_rule_is_out_of_range(struct scope *sc, const struct spec_rule *r)
{
	return r->pub.is_intra &&
	       (sc->index < r->from || sc->index > r->to ||
		is_out_of_range(sc, r->guard) || is_out_of_range(sc, r->body));
}

/** An intra-node constraint, the node being known: each value of the index. */
static bool check_range(struct scope *sc, void *ctx)
{
	const struct check *c = ctx;
	const struct spec_rule *r = c->rule;
	int64_t to = c->part ? c->part->to : r->to;

	for (sc->index = c->part ? c->part->from : r->from; sc->index <= to;
	     sc->index++) {
		// The guard first: mostly it is false, and then the body's fields do not matter.
		if (is_out_of_range(sc, r->guard) ||
		    (r->guard && !spec_eval_condition(sc, r->guard)) ||
		    is_out_of_range(sc, r->body))
			continue;
		if (check_body(sc, ctx) || sc->e->is_out_of_memory)
			return true;
	}
	sc->index = 0;
	return false;
}

static int compare_violations(const void *a, const void *b)
{
	const struct spec_violation *x = a, *y = b;

	for (size_t i = 0; i < SPEC_MAX_VARS; i++)
		if (x->binding.node[i].v != y->binding.node[i].v)
			return x->binding.node[i].v < y->binding.node[i].v ? -1 : 1;
	return (x->binding.index > y->binding.index) -
	       (x->binding.index < y->binding.index);
}

const struct plan *spec_rule_plan(const struct spec_rule *r)
{
	return r->pub.is_intra ? &r->nodes : &r->all;
}

void spec_rule_check(struct scope *sc, uint32_t constraint, const struct rule_part *part,
		     size_t max, spec_violations *found)
{
	const struct spec_rule *r = sc->e->s->rules.data[constraint];
	const struct plan *plan = spec_rule_plan(r);
	struct check c = { .rule = r,
			   .constraint = constraint,
			   .part = part,
			   .max = max,
			   .found = found,
			   .first = found->size };
	bool has_root = part && part->root.v;

	if (!plan_check(sc, plan, plan->first_checks))
		return;
	if (has_root) {
		sc->nodes[plan->steps[0].var] = part->root;
		if (!plan_check(sc, plan, plan->steps[0].checks))
			return;
	}
	plan_walk(sc, r, plan, has_root, has_root,
		  r->pub.is_intra ? check_range : check_body, &c);
}

void spec_rule_sort(struct spec_violation *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_violations);
}

struct err *spec_check_constraint(struct spec_eval *e, uint32_t constraint, size_t max,
				  spec_violations *ret)
{
	struct scope sc = { .e = e };
	struct err *err = spec_eval_refresh(e);
	size_t first = ret->size;

	if (err)
		return err;
	e->is_out_of_memory = false;
	spec_rule_check(&sc, constraint, NULL, max, ret);
	if (e->is_out_of_memory)
		return &err_nomem;
	if (ret->size - first > 1)
		spec_rule_sort(ret->data + first, ret->size - first);
	return NULL;
}

struct err *spec_check(struct spec_eval *e, size_t max, spec_violations *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < e->s->rules.size && !err; i++)
		err = spec_check_constraint(e, i, max, ret);
	return err;
}
