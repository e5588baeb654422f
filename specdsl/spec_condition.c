// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whether a condition is true when its variables stand for nodes (spec_eval.c says what
 * happens to what cannot be read).
 */
#include <math.h>

#include "specdsl/spec_eval.h"

/* ---- conditions ------------------------------------------------------------------------------ */

static int compare_values(struct value a, struct value b)
{
	double x, y;

	if (a.kind == VALUE_INT && b.kind == VALUE_INT)
		return (a.i > b.i) - (a.i < b.i);
	x = a.kind == VALUE_REAL ? a.real : (double)a.i;
	y = b.kind == VALUE_REAL ? b.real : (double)b.i;
	return (x > y) - (x < y);
}

static bool is_nan(struct value v)
{
	return v.kind == VALUE_REAL && isnan(v.real);
}

static bool is_true(enum ast_op op, int order)
{
	switch (op) {
	case OP_EQ:
		return order == 0;
	case OP_NE:
		return order != 0;
	case OP_LE:
		return order <= 0;
	case OP_GE:
		return order >= 0;
	case OP_LT:
		return order < 0;
	default:
		return order > 0;
	}
}

/* ---- comparisons with what does not change --------------------------------------------------- */

/** @return the field of a node that @p n is, or is but for something fixed that is added;
 * NULL when it is something else. */
static const struct ast *find_field(const struct ast *n)
{
	while ((n->kind == AST_ADD || n->kind == AST_SUB) &&
	       (!n->a->vars || !n->b->vars)) {
		if (n->kind == AST_SUB && !n->a->vars)
			return NULL;
		n = n->a->vars ? n->a : n->b;
	}
	return n->vars && (n->kind == AST_FIELD ||
			   (n->kind == AST_NAMED && n->user_attr < 0)) ?
		       n :
		       NULL;
}

static uint64_t to_unsigned(__int128 i, bool is_signed)
{
	__int128 first = is_signed ? INT64_MIN : 0;
	__int128 last = is_signed ? INT64_MAX : (__int128)UINT64_MAX;

	return (i < first ? first : i > last ? last : i) - first;
}

/** The field that is worth @p value was compared with @p limit: as long as it stays on the
 * same side of it, nothing is different. */
static void set_range(struct spec_bytes *bytes, enum ast_op op, __int128 value,
		      __int128 limit)
{
	// The least and the most that count as the value does.
	__int128 least = value, most = value;
	const __int128 far = (__int128)1 << 100;

	if (op == OP_EQ || op == OP_NE) {
		if (value != limit) {
			least = value < limit ? -far : limit + 1;
			most = value < limit ? limit - 1 : far;
		}
	} else if (op == OP_LE || op == OP_GT) {
		least = value <= limit ? -far : limit + 1;
		most = value <= limit ? limit : far;
	} else {
		least = value < limit ? -far : limit;
		most = value < limit ? limit - 1 : far;
	}
	bytes->least = to_unsigned(least, bytes->is_signed);
	bytes->most = to_unsigned(most, bytes->is_signed);
}

/** Comparison @p n of @p a, with the field sc->ranged in it, and @p b, which is fixed, was
 * made: what does it depend on? */
static void add_ranged_dep(struct scope *sc, enum ast_op op, struct value a,
			   struct value b)
{
	struct spec_dep dep = sc->ranged_dep;
	const __int128 far = (__int128)1 << 80;

	if (dep.bytes.size && sc->ranged_value.kind == VALUE_INT && a.kind == VALUE_INT &&
	    b.kind == VALUE_INT && b.i < far && b.i > -far && a.i < far && a.i > -far)
		set_range(&dep.bytes, op, sc->ranged_value.i,
			  b.i - (a.i - sc->ranged_value.i));
	spec_eval_add_any_dep(sc, dep);
}

static enum ast_op turn(enum ast_op op)
{
	return op == OP_LE ? OP_GE :
	       op == OP_GE ? OP_LE :
	       op == OP_LT ? OP_GT :
	       op == OP_GT ? OP_LT :
			     op;
}

/** Evaluate the operands of comparison @p n, and say what the comparison depends on. */
static void eval_operands(struct scope *sc, const struct ast *n, struct value *a,
			  struct value *b)
{
	const struct ast *outer = sc->ranged, *field = NULL;

	if (sc->deps && !sc->args && !n->a->vars != !n->b->vars)
		field = find_field(n->a->vars ? n->a : n->b);
	// Within another such comparison this is on the way to its field, not read yet.
	if (field) {
		sc->ranged = field;
		sc->ranged_dep.node.v = 0;
	}
	*a = spec_eval_number(sc, n->a);
	*b = spec_eval_number(sc, n->b);
	if (!field)
		return;
	sc->ranged = outer;
	if (sc->ranged_dep.node.v && n->a->vars)
		add_ranged_dep(sc, n->op, *a, *b);
	else if (sc->ranged_dep.node.v)
		add_ranged_dep(sc, turn(n->op), *b, *a);
	sc->ranged_dep.node.v = 0;
}

static void add_gap(struct scope *sc, const struct ast *n, struct value a, struct value b)
{
	__int128 gap = b.i - a.i;

	if (!sc->reads || a.kind != VALUE_INT || b.kind != VALUE_INT ||
	    gap != (int64_t)gap)
		return;
	if (vec_add(&sc->reads->gaps, (struct spec_gap){ gap, n->op == OP_EQ }))
		sc->e->is_out_of_memory = true;
	if (sc->e->attr_reads && !sc->is_in_attr)
		spec_eval_solve(sc, n, a, b);
}

static bool compare_numbers(struct scope *sc, const struct ast *n)
{
	struct value a, b;

	eval_operands(sc, n, &a, &b);
	add_gap(sc, n, a, b);
	if (a.kind == VALUE_NONE || b.kind == VALUE_NONE)
		return false;
	if (is_nan(a) || is_nan(b))
		return n->op == OP_NE;
	return is_true(n->op, compare_values(a, b));
}

/* ---- other comparisons ----------------------------------------------------------------------- */

/** A vertex as one number: nodes by id, wild pointers by address. */
static uint64_t vertex_key(struct vertex v)
{
	return v.kind == VERTEX_NODE ? v.node.v : v.addr;
}

static struct vertex eval_vertex_arg(struct scope *sc, const struct ast *n)
{
	struct spec_args *args = sc->args;
	struct vertex v;

	sc->args = NULL; // fields on the way to the vertex are not arguments, it is
	v = spec_eval_vertex(sc, n);
	sc->args = args;
	return v;
}

struct vertex spec_eval_record_vertex(struct scope *sc, const struct ast *n)
{
	struct vertex v = eval_vertex_arg(sc, n);

	spec_eval_add_arg(sc, v.kind == VERTEX_NONE, vertex_key(v), false);
	return v;
}

static bool compare_vertices(struct scope *sc, const struct ast *n)
{
	struct vertex a = spec_eval_record_vertex(sc, n->a),
		      b = spec_eval_record_vertex(sc, n->b);
	bool is_equal;

	if (a.kind == VERTEX_NONE || b.kind == VERTEX_NONE) {
		sc->is_unreadable = true;
		return false;
	}
	is_equal = a.kind == b.kind && vertex_key(a) == vertex_key(b);
	return is_equal == (n->op == OP_EQ);
}

/** The truth of a boolean operand: true, false, an attribute, or a condition. */
static enum truth eval_truth(struct scope *sc, const struct ast *n)
{
	struct value v;

	if (n->kind == AST_BOOL)
		return n->number ? TRUTH_TRUE : TRUTH_FALSE;
	if (n->kind != AST_STANDARD)
		return spec_eval_condition(sc, n) ? TRUTH_TRUE : TRUTH_FALSE;
	v = spec_eval_number(sc, n);
	return v.kind == VALUE_NONE ? TRUTH_NONE : v.i ? TRUTH_TRUE : TRUTH_FALSE;
}

static bool compare_truths(struct scope *sc, const struct ast *n)
{
	enum truth a = eval_truth(sc, n->a), b = eval_truth(sc, n->b);

	if (a == TRUTH_NONE || b == TRUTH_NONE)
		return false;
	return (a == b) == (n->op == OP_EQ);
}

/** The answer depends on the paths from @p from; unless they are part of paths that the
 * nodes being looked at were found by, which it depends on already. */
static void add_path_dep(struct scope *sc, const struct edge_node *from)
{
	const struct edge_node *root = spec_edges_node(&sc->e->edges, sc->path_root);

	if (!sc->deps || (root && (root == from ||
				   spec_edges_find_path(&sc->e->edges, root, from) > 0)))
		return;
	spec_eval_add_dep(sc, SPEC_DEP_EDGES, from->id);
}

/** `a -> b` and its three kin. Where there is no node there is no edge and no path. */
static bool eval_connection(struct scope *sc, const struct ast *n)
{
	struct vertex a = eval_vertex_arg(sc, n->a), b = eval_vertex_arg(sc, n->b);
	bool is_path = n->op == OP_PATH || n->op == OP_NO_PATH, is_there = false;
	struct edges *edges = &sc->e->edges;
	const struct edge_node *from, *to;

	from = a.kind == VERTEX_NODE ? spec_edges_node(edges, a.node) : NULL;
	to = b.kind == VERTEX_NODE ? spec_edges_node(edges, b.node) : NULL;
	if (is_path && from && from == to)
		spec_eval_add_dep(sc, SPEC_DEP_RING, a.node);
	else if (is_path && from)
		add_path_dep(sc, from);
	else if (from && to && from->n_slots > to->n_slots)
		spec_eval_add_dep(sc, SPEC_DEP_INTO,
				  b.node); // the same, and changes less often
	else if (from)
		spec_eval_add_dep(sc, SPEC_DEP_NODE, a.node);
	if (from && !is_path && b.kind == VERTEX_NODE)
		is_there = spec_edges_has(edges, from, b.node);
	if (from && to && is_path) {
		int found = from == to ? spec_edges_find_ring(edges, from) :
					 spec_edges_find_path(edges, from, to);

		sc->e->is_out_of_memory |= found < 0;
		is_there = found > 0;
	}
	spec_eval_add_arg(sc, a.kind == VERTEX_NONE || b.kind == VERTEX_NONE, is_there,
			  true);
	return is_there == (n->op == OP_EDGE || n->op == OP_PATH);
}

bool spec_eval_condition(struct scope *sc, const struct ast *n)
{
	int order;
	bool a;

	switch (n->kind) {
	case AST_AND:
		a = spec_eval_condition(sc, n->a);
		return (a || sc->args) && spec_eval_condition(sc, n->b) && a;
	case AST_OR:
		a = spec_eval_condition(sc, n->a);
		return (a && !sc->args) || spec_eval_condition(sc, n->b) || a;
	case AST_EDGE:
		return eval_connection(sc, n);
	case AST_COMPARE:
		if (n->compare == CMP_NUMBERS)
			return compare_numbers(sc, n);
		if (n->compare == CMP_TEXTS)
			return spec_eval_texts(sc, n, &order) && is_true(n->op, order);
		return n->compare == CMP_VERTICES ? compare_vertices(sc, n) :
						    compare_truths(sc, n);
	default:
		return eval_truth(sc, n) == TRUTH_TRUE;
	}
}

void spec_eval_record(struct scope *sc, const struct ast *n)
{
	if (n->kind == AST_BOOL || n->kind == AST_COMPARE || n->kind == AST_AND ||
	    n->kind == AST_OR || n->kind == AST_EDGE)
		spec_eval_condition(sc, n);
	else
		spec_eval_number(sc, n);
}
