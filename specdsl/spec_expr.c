// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Arithmetic (ve, xe, e of the grammar in paper 001, Figure 2.3) and conditions (g). Both
 * are one grammar here, because `(` may open a condition, a value or a vertex; what each
 * operand must be is checked as the tree is built.
 */
#include <string.h>

#include "specdsl/spec_parser.h"

/* ---- arithmetic ------------------------------------------------------------------------ */

static struct ast *parse_unary(struct parser *p)
{
	struct spec_span from = p->tok.span;
	struct ast *n;

	if (p->depth >= SPEC_MAX_DEPTH) {
		spec_parse_error(p, from, "split it into several constraints",
				 "this is nested too deeply");
		return NULL;
	}
	p->depth++;
	if (spec_parse_is_char(p, '-')) {
		spec_parse_advance(p);
		n = parse_unary(p);
		if (!p->is_panicking && spec_want_number(p, n))
			n = spec_ast_new(p, AST_NEGATE, n, NULL,
					 spec_parse_until_here(p, from));
	} else {
		n = spec_parse_postfix(p);
	}
	p->depth--;
	return p->is_panicking ? NULL : n;
}

static struct ast *parse_binary(struct parser *p, enum ast_kind kind, struct ast *a,
				struct ast *(*operand)(struct parser *p))
{
	struct ast *b;

	if (!spec_want_number(p, a))
		return NULL;
	spec_parse_advance(p);
	b = operand(p);
	if (p->is_panicking || !spec_want_number(p, b))
		return NULL;
	return spec_ast_new(p, kind, a, b, spec_parse_until_here(p, a->span));
}

static struct ast *parse_product(struct parser *p)
{
	struct ast *n = parse_unary(p);

	while (!p->is_panicking &&
	       (spec_parse_is_char(p, '*') || spec_parse_is_char(p, '/')))
		n = parse_binary(p, p->tok.ch == '*' ? AST_MUL : AST_DIV, n, parse_unary);
	return p->is_panicking ? NULL : n;
}

struct ast *spec_parse_sum(struct parser *p)
{
	struct ast *n = parse_product(p);

	while (!p->is_panicking &&
	       (spec_parse_is_char(p, '+') || spec_parse_is_char(p, '-')))
		n = parse_binary(p, p->tok.ch == '+' ? AST_ADD : AST_SUB, n,
				 parse_product);
	return p->is_panicking ? NULL : n;
}

struct ast *spec_parse_value(struct parser *p)
{
	struct ast *n;

	p->depth++; // what is a condition, and what a value, is seen at a `?`
	n = spec_parse_condition(p);
	p->depth--;
	if (!p->is_panicking && spec_parse_is_char(p, '?'))
		n = spec_parse_conditional(p, n);
	return !p->is_panicking && spec_want_number(p, n) ? n : NULL;
}

/* ---- conditions -------------------------------------------------------------------------- */

/** `v -> x`, `v /-> x`, `v ->> x`, `v /->> x`; the vertex may be on both sides. */
static struct ast *parse_connection(struct parser *p, struct ast *a)
{
	enum ast_op op = p->tok.op;
	struct ast *b, *n;

	if (!spec_want_vertex(p, a))
		return NULL;
	spec_parse_advance(p);
	b = spec_parse_sum(p);
	if (p->is_panicking || !spec_want_vertex(p, b))
		return NULL;
	n = spec_ast_new(p, AST_EDGE, a, b, spec_parse_until_here(p, a->span));
	if (n)
		n->op = op;
	return n;
}

/** Decide what `a op b` compares, or say why it cannot. */
static bool classify_comparison(struct parser *p, struct ast *n, struct spec_span op_span)
{
	const struct ast *a = n->a, *b = n->b;
	bool is_order = n->op != OP_EQ && n->op != OP_NE;

	if (spec_ast_is_condition(a) || spec_ast_is_condition(b)) {
		n->compare = CMP_BOOLS;
		if (!spec_ast_is_condition(a) || !spec_ast_is_condition(b))
			spec_parse_error(
				p, spec_ast_is_condition(a) ? b->span : a->span,
				"true and false are compared with conditions, numbers with "
				"numbers",
				"a condition is compared with a value");
	} else if (a->kind == AST_VAR || b->kind == AST_VAR ||
		   (spec_ast_is_field(a) && a->is_paren && spec_ast_is_field(b) &&
		    b->is_paren)) {
		n->compare = CMP_VERTICES;
		if ((a->kind != AST_NULL && !spec_want_vertex(p, a)) ||
		    (b->kind != AST_NULL && !spec_want_vertex(p, b)))
			return false;
	} else {
		n->compare = CMP_NUMBERS;
	}
	if (!p->is_panicking && is_order && n->compare != CMP_NUMBERS)
		spec_parse_error(p, op_span, "write == or !=", "%s have no order",
				 n->compare == CMP_BOOLS ? "conditions" : "nodes");
	return !p->is_panicking;
}

static struct ast *parse_relation(struct parser *p)
{
	struct ast *a = spec_parse_sum(p), *b, *n;
	struct spec_span op_span = p->tok.span;
	enum ast_op op = p->tok.op;

	if (p->is_panicking)
		return NULL;
	if (p->tok.kind == TOK_EDGE)
		return parse_connection(p, a);
	if (p->tok.kind == TOK_ASSIGN) {
		spec_parse_error(p, p->tok.span, "write '=='",
				 "'=' assigns an attribute, it does not compare");
		return NULL;
	}
	if (p->tok.kind != TOK_COMPARE)
		return a;
	spec_parse_advance(p);
	b = spec_parse_sum(p);
	if (p->is_panicking)
		return NULL;
	n = spec_ast_new(p, AST_COMPARE, a, b, spec_parse_until_here(p, a->span));
	if (!n)
		return NULL;
	n->op = op;
	if (!classify_comparison(p, n, op_span))
		return NULL;
	if (p->tok.kind == TOK_COMPARE || p->tok.kind == TOK_EDGE)
		spec_parse_error(p, p->tok.span, "write 'a < b and b < c'",
				 "comparisons do not chain");
	return p->is_panicking ? NULL : n;
}

static struct ast *parse_join(struct parser *p, const char *word, enum ast_kind kind,
			      struct ast *(*operand)(struct parser *p))
{
	struct ast *n = operand(p), *b;

	while (!p->is_panicking && spec_parse_is_word(p, word)) {
		if (!spec_want_condition(p, n))
			return NULL;
		spec_parse_advance(p);
		b = operand(p);
		if (p->is_panicking || !spec_want_condition(p, b))
			return NULL;
		n = spec_ast_new(p, kind, n, b, spec_parse_until_here(p, n->span));
	}
	return p->is_panicking ? NULL : n;
}

static struct ast *parse_conjunction(struct parser *p)
{
	return parse_join(p, "and", AST_AND, parse_relation);
}

/** g: `or` binds weaker than `and`. The result may also be a bare value or vertex when it
 * stands in parentheses; who needs a condition asks spec_want_condition(). */
struct ast *spec_parse_condition(struct parser *p)
{
	struct ast *n;

	if (p->depth >= SPEC_MAX_DEPTH) {
		spec_parse_error(p, p->tok.span, "split it into several constraints",
				 "this is nested too deeply");
		return NULL;
	}
	p->depth++;
	n = parse_join(p, "or", AST_OR, parse_conjunction);
	p->depth--;
	if (!p->is_panicking && !p->depth && !spec_want_condition(p, n))
		return NULL;
	return p->is_panicking ? NULL : n;
}
