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

/** Is @p n a node, and no root, which may stand for its value? */
static bool is_node(const struct parser *p, const struct ast *n)
{
	return n->kind == AST_VAR && !spec_ast_is_root(p, n);
}

/** `!a`: of a condition `a == false`, of a number `a == 0`. */
static struct ast *make_not(struct parser *p, struct ast *a, struct spec_span from)
{
	bool is_condition = spec_ast_is_condition(a);
	struct ast *zero, *n;

	if (is_node(p, a))
		spec_parse_error(p, a->span, "write !(X -> Y), or X /-> Y",
				 "'!' is about conditions and numbers, this is a node");
	if (!is_condition && !spec_want_number(p, a))
		return NULL;
	zero = spec_ast_new(p, is_condition ? AST_BOOL : AST_NUMBER, NULL, NULL, from);
	n = spec_ast_new(p, AST_COMPARE, a, zero, spec_parse_until_here(p, from));
	if (!n)
		return NULL;
	n->op = OP_EQ;
	n->compare = is_condition ? CMP_BOOLS : CMP_NUMBERS;
	return n;
}

/** `-a`, `~a`, `!a`, `&a` */
static struct ast *parse_sign(struct parser *p, struct ast *(*operand)(struct parser *p))
{
	struct spec_span from = p->tok.span;
	char sign = p->tok.ch;
	struct ast *n;

	spec_parse_advance(p);
	n = operand(p);
	if (p->is_panicking)
		return NULL;
	if (sign == '!')
		return make_not(p, n, from);
	if (sign == '&' ? !spec_want_vertex(p, n) : !spec_want_number(p, n))
		return NULL;
	return spec_ast_new(p,
			    sign == '&' ? AST_ADDRESS :
			    sign == '-' ? AST_NEGATE :
					  AST_INVERT,
			    n, NULL, spec_parse_until_here(p, from));
}

static struct ast *parse_unary(struct parser *p)
{
	struct ast *n;

	if (p->depth >= SPEC_MAX_DEPTH) {
		spec_parse_error(p, p->tok.span, "split it into several constraints",
				 "this is nested too deeply");
		return NULL;
	}
	p->depth++;
	if (spec_parse_is_char(p, '&'))
		n = parse_sign(p, spec_parse_postfix);
	else if (spec_parse_is_char(p, '-') || spec_parse_is_char(p, '~') ||
		 spec_parse_is_char(p, '!'))
		n = parse_sign(p, parse_unary);
	else
		n = spec_parse_postfix(p);
	p->depth--;
	return p->is_panicking ? NULL : n;
}

// C's order among themselves; but all bind stronger than comparisons do, which is what is
// meant by `X.flags & 1 == 0`.
static const struct {
	char ch;
	enum ast_kind kind;
	int level;
} operators[] = {
	{ '|', AST_BIT_OR, 0 },	    { '^', AST_BIT_XOR, 1 },	 { '&', AST_BIT_AND, 2 },
	{ '<', AST_SHIFT_LEFT, 3 }, { '>', AST_SHIFT_RIGHT, 3 }, { '+', AST_ADD, 4 },
	{ '-', AST_SUB, 4 },	    { '*', AST_MUL, 5 },	 { '/', AST_DIV, 5 },
	{ '%', AST_REST, 5 },
};

#define UNARY_LEVEL 6

/** Is the current token an operator of @p level? */
static bool is_operator(const struct parser *p, int level, enum ast_kind *ret)
{
	for (size_t i = 0; i < sizeof(operators) / sizeof(*operators); i++) {
		if (operators[i].level != level ||
		    !spec_parse_is_char(p, operators[i].ch))
			continue;
		*ret = operators[i].kind;
		return *ret != AST_BIT_OR || !p->is_in_bars;
	}
	return false;
}

static struct ast *parse_binary(struct parser *p, int level)
{
	struct ast *n, *b;
	enum ast_kind kind;

	if (level == UNARY_LEVEL)
		return parse_unary(p);
	n = parse_binary(p, level + 1);
	while (!p->is_panicking && is_operator(p, level, &kind)) {
		if (!spec_want_number(p, n))
			return NULL;
		spec_parse_advance(p);
		b = parse_binary(p, level + 1);
		if (p->is_panicking || !spec_want_number(p, b))
			return NULL;
		n = spec_ast_new(p, kind, n, b, spec_parse_until_here(p, n->span));
	}
	return p->is_panicking ? NULL : n;
}

struct ast *spec_parse_sum(struct parser *p)
{
	return parse_binary(p, 0);
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

static bool may_be_text(const struct parser *p, const struct ast *n)
{
	return spec_ast_is_field(n) || spec_ast_is_root(p, n);
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
	} else if (a->kind == AST_STRING || b->kind == AST_STRING) {
		n->compare = CMP_TEXTS;
		if (!may_be_text(p, a) && !may_be_text(p, b))
			spec_parse_error(p, n->span, "as in: X.name == \"abc\"",
					 "a text is compared with an array of char");
	} else if (is_node(p, a) || is_node(p, b) ||
		   (spec_ast_is_field(a) && a->is_paren && spec_ast_is_field(b) &&
		    b->is_paren)) {
		n->compare = CMP_VERTICES;
		if ((a->kind != AST_NULL && !spec_want_vertex(p, a)) ||
		    (b->kind != AST_NULL && !spec_want_vertex(p, b)))
			return false;
	} else {
		n->compare = CMP_NUMBERS;
	}
	if (!p->is_panicking && is_order &&
	    (n->compare == CMP_BOOLS || n->compare == CMP_VERTICES))
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
