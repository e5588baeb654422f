// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Two integers are compared and differ: what had each field that was read to be, all others
 * staying, for them to be equal? Operators are inverted on the way down; where several operands
 * do (`h / 8`, `h % 8`, `h >> 3`, `h & 7`), the one nearest to what is there.
 */
#include "specdsl/spec_eval.h"

static bool is_no_number(const struct value *v)
{
	return v->kind != VALUE_INT || v->i != (int64_t)v->i;
}

// Of a quotient, shift or mask: the bits and the rest that the operator drops stay.
static bool invert_left(enum ast_kind kind, __int128 want, __int128 left, __int128 right,
			__int128 *ret)
{
	__int128 rest;

	switch (kind) {
	case AST_DIV:
		if (!right)
			return false;
		rest = left % right;
		*ret = want * right + ((rest < 0) == (want < 0) || !want ? rest : 0);
		return true;
	case AST_REST:
		*ret = right ? left - left % right + want : 0;
		return right != 0;
	case AST_SHIFT_LEFT:
		*ret = right >= 0 && right < 64 ? want >> right : 0;
		return right >= 0 && right < 64 && *ret << right == want;
	case AST_SHIFT_RIGHT:
		if (right < 0 || right > 63)
			return false;
		*ret = want << right | (left & (((__int128)1 << right) - 1));
		return true;
	default:
		return false;
	}
}

// What had the left (or right) operand to be for the operation to come to want?
static bool invert(enum ast_kind kind, __int128 want, __int128 own, __int128 other,
		   bool is_left, __int128 *ret)
{
	switch (kind) {
	case AST_ADD:
		*ret = want - other;
		return true;
	case AST_SUB:
		*ret = is_left ? want + other : other - want;
		return true;
	case AST_MUL:
		*ret = other ? want / other : 0;
		return other && *ret * other == want;
	case AST_BIT_XOR:
		*ret = want ^ other;
		return true;
	case AST_BIT_AND:
		*ret = (own & ~other) | want;
		return !(want & ~other);
	case AST_BIT_OR:
		*ret = (want & ~other) | (own & other);
		return (want & other) == other;
	default:
		return is_left && invert_left(kind, want, own, other, ret);
	}
}

static void add_want(struct scope *sc, struct spec_args *to, const struct ast *n,
		     __int128 want, bool is_equality)
{
	struct spec_want w = { .value = (uint64_t)want, .is_equality = is_equality };
	struct dec_field f;

	if (want != (int64_t)want || !spec_eval_place(sc, n, &w.node, &f) || f.bit_size ||
	    f.is_float)
		return;
	w.offset = f.offset;
	if (vec_add(&to->wants, w))
		sc->e->is_out_of_memory = true;
}

static void solve(struct scope *sc, struct spec_args *to, const struct ast *n,
		  __int128 want, bool is_equality)
{
	struct value a, b;
	__int128 x;

	switch (n->kind) {
	case AST_FIELD:
		add_want(sc, to, n, want, is_equality);
		return;
	case AST_NAMED:
		if (n->user_attr < 0)
			add_want(sc, to, n, want, is_equality);
		return;
	case AST_NEGATE:
	case AST_INVERT:
		solve(sc, to, n->a, n->kind == AST_NEGATE ? -want : ~want, is_equality);
		return;
	case AST_ABS:
		a = spec_eval_number(sc, n->a);
		if (want >= 0 && !is_no_number(&a))
			solve(sc, to, n->a, a.i < 0 ? -want : want, is_equality);
		return;
	case AST_COND:
		solve(sc, to, spec_eval_condition(sc, n->a) ? n->b : n->c, want,
		      is_equality);
		return;
	default:
		if (n->kind < AST_ADD || n->kind > AST_SHIFT_RIGHT)
			return;
	}
	a = spec_eval_number(sc, n->a);
	b = spec_eval_number(sc, n->b);
	if (is_no_number(&a) || is_no_number(&b))
		return;
	if (n->a->vars && invert(n->kind, want, a.i, b.i, true, &x))
		solve(sc, to, n->a, x, is_equality);
	if (n->b->vars && invert(n->kind, want, b.i, a.i, false, &x))
		solve(sc, to, n->b, x, is_equality);
}

void spec_eval_solve(struct scope *sc, const struct ast *n, struct value a,
		     struct value b)
{
	bool is_equality = n->op == OP_EQ;
	struct scope quiet = *sc;

	quiet.args = quiet.deps = quiet.reads = NULL;
	quiet.ranged = NULL;
	if (is_no_number(&a) || is_no_number(&b) || a.i == b.i)
		return;
	solve(&quiet, sc->reads, n->a, b.i, is_equality);
	solve(&quiet, sc->reads, n->b, a.i, is_equality);
}
