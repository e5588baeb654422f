// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Operands: literals, names, parentheses, absolute values, and the fields and attributes
 * behind them; and what an operand may be in its place.
 */
#include <ctype.h>
#include <string.h>

#include "specdsl/spec_parser.h"

struct ast *spec_ast_new(struct parser *p, enum ast_kind kind, struct ast *a,
			 struct ast *b, struct spec_span span)
{
	struct ast *n = p->is_panicking ? NULL : arena_alloc(&p->s->arena, sizeof(*n));

	if (!n) {
		p->is_out_of_memory |= !p->is_panicking;
		p->is_panicking = true;
		return NULL;
	}
	n->kind = kind;
	n->a = a;
	n->b = b;
	n->span = span;
	n->user_attr = -1;
	n->vars = (a ? a->vars : 0) | (b ? b->vars : 0);
	n->has_index = (a && a->has_index) || (b && b->has_index);
	if (++p->n_nodes > SPEC_MAX_EXPR_NODES)
		spec_parse_error(p, span, "split it into several constraints",
				 "this statement is too long");
	return p->is_panicking ? NULL : n;
}

/* ---- what an operand is ------------------------------------------------------------- */

bool spec_ast_is_condition(const struct ast *n)
{
	switch (n->kind) {
	case AST_BOOL:
	case AST_COMPARE:
	case AST_AND:
	case AST_OR:
	case AST_EDGE:
		return true;
	case AST_STANDARD:
		return n->attr != ATTR_INDEGREE && n->attr != ATTR_OUTDEGREE;
	default:
		return false;
	}
}

bool spec_ast_is_field(const struct ast *n)
{
	return n->kind == AST_FIELD || n->kind == AST_NAMED;
}

static bool is_vertex_like(const struct ast *n)
{
	return n->kind == AST_VAR || spec_ast_is_field(n);
}

bool spec_want_condition(struct parser *p, const struct ast *n)
{
	if (p->is_panicking || spec_ast_is_condition(n))
		return !p->is_panicking;
	spec_parse_error(p, n->span,
			 n->kind == AST_VAR ?
				 "a condition compares attributes or fields, or says "
				 "X -> Y" :
				 "compare it with something, as in X[1] == 0",
			 "expected a condition, this is a %s",
			 n->kind == AST_VAR ? "node" : "value");
	return false;
}

bool spec_want_number(struct parser *p, const struct ast *n)
{
	if (p->is_panicking)
		return false;
	if (spec_ast_is_condition(n)) {
		spec_parse_error(p, n->span, "conditions are joined by 'and' and 'or'",
				 "expected a number, this is a condition");
		return false;
	}
	if (n->kind == AST_VAR && !spec_ast_is_root(p, n)) {
		spec_parse_error(p, n->span,
				 "a field of it is written X[1], an attribute X.INDEGREE",
				 "expected a number, this is a node");
		return false;
	}
	if (n->kind == AST_STRING) {
		spec_parse_error(p, n->span, "as in: X.name == \"abc\"",
				 "expected a number, this is a text");
		return false;
	}
	return true;
}

bool spec_want_vertex(struct parser *p, const struct ast *n)
{
	if (p->is_panicking || is_vertex_like(n))
		return !p->is_panicking;
	spec_parse_error(
		p, n->span,
		n->kind == AST_ADDRESS ?
			"an address is compared with a field or an address: "
			"X.next == &Y, or &X == &Y" :
			"a node is a declared variable, as X, or a field that points "
			"to it, as (X[2])",
		"expected a node");
	return false;
}

/* ---- primaries ----------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum ast_attr attr;
} standard_attrs[] = {
	{ "INDEGREE", ATTR_INDEGREE }, { "OUTDEGREE", ATTR_OUTDEGREE },
	{ "EXTERNAL", ATTR_EXTERNAL }, { "INTERNAL", ATTR_INTERNAL },
	{ "ISROOT", ATTR_ISROOT },     { "ISLEAF", ATTR_ISLEAF },
};

_Static_assert(sizeof(standard_attrs) / sizeof(*standard_attrs) == SPEC_STANDARD_ATTRS,
	       "");

const char *spec_standard_attr(size_t i)
{
	return standard_attrs[i].name;
}

bool spec_parse_is_standard_attr(const char *name)
{
	for (size_t i = 0; i < sizeof(standard_attrs) / sizeof(*standard_attrs); i++)
		if (!strcmp(name, standard_attrs[i].name))
			return true;
	return false;
}

static struct ast *parse_literal(struct parser *p, enum ast_kind kind, int64_t number)
{
	struct ast *n = spec_ast_new(p, kind, NULL, NULL, p->tok.span);

	if (n)
		n->number = number;
	spec_parse_advance(p);
	return n;
}

/** @return the index of the variable, constant, ... that the current word names, or -1. */
static int find_var(const struct parser *p)
{
	for (size_t i = 0; i < p->n_vars; i++)
		if (spec_parse_is_word(p, p->vars[i].name))
			return (int)i;
	return -1;
}

static int find_const(const struct parser *p)
{
	for (size_t i = 0; i < p->s->consts.size; i++)
		if (spec_parse_is_word(p, p->s->consts.data[i].name))
			return (int)i;
	return -1;
}

/** What to do about @p name, the current token, that is not declared. */
static const char *hint_undeclared(struct parser *p, const char *name)
{
	struct spec_nearest nearest = { .word = name };
	const char *foreign = spec_hint_foreign(name);
	uint32_t at = p->tok.span.offset;

	if (foreign)
		return foreign;
	if (!p->n_vars && ((p->next.kind == TOK_COMPARE && p->next.op == OP_LT) ||
			   spec_token_is_char(&p->next, ':')))
		return spec_printf(
			p->s, "a type whose name is no word stands in quotes: \"%s%s",
			name,
			spec_token_is_char(&p->next, ':') ? "::node\" X;" : "<int>\" X;");
	if (spec_token_is_char(&p->next, '('))
		return "there are no functions; an attribute of one's own computes a value of a "
		       "node";
	if (at >= 2 && !strncmp(p->f->text + at - 2, "->", 2) &&
	    spec_type_find(p->s, name) < 0 && islower((unsigned char)*name))
		return spec_printf(p->s,
				   "a field is X.%s; X -> Y says that X points to node Y",
				   name);
	for (size_t i = 0; i < p->n_vars; i++)
		spec_nearest_try(&nearest, strlen(name) > 2 ? p->vars[i].name : NULL);
	for (size_t i = 0; i < p->s->consts.size; i++)
		spec_nearest_try(&nearest,
				 strlen(name) > 2 ? p->s->consts.data[i].name : NULL);
	for (size_t i = 0; i < p->s->roots.size; i++)
		spec_nearest_try(&nearest,
				 strlen(name) > 2 ? p->s->roots.data[i].name : NULL);
	if (nearest.name)
		return spec_printf(p->s, "did you mean '%s'?", nearest.name);
	return spec_printf(
		p->s,
		"declare it: 'TYPE %s;' before the constraint for a node, 'CONST "
		"%s 1;' for a number, 'for %s in 0 to 9,' for an index, 'ROOT %s;' for a "
		"variable of the program",
		name, name, name, name);
}

static struct ast *parse_var(struct parser *p, int var)
{
	struct ast *n = parse_literal(p, AST_VAR, var);

	if (n)
		n->vars = 1u << var;
	return n;
}

static struct ast *parse_name(struct parser *p)
{
	int var = find_var(p), constant = find_const(p);
	struct ast *n;
	char *name;

	if (spec_parse_is_word(p, "and") || spec_parse_is_word(p, "or")) {
		spec_parse_error(p, p->tok.span, NULL, "expected an operand");
		return NULL;
	}
	if (var >= 0)
		return parse_var(p, var);
	if (p->index_name && spec_parse_is_word(p, p->index_name)) {
		n = parse_literal(p, AST_INDEX, 0);
		if (n)
			n->has_index = true;
		return n;
	}
	if (constant >= 0)
		return parse_literal(p, AST_NUMBER, p->s->consts.data[constant].value);
	if (spec_parse_is_word(p, "NULL"))
		return parse_literal(p, AST_NULL, 0);
	if (spec_parse_is_word(p, "TRUE") || spec_parse_is_word(p, "true"))
		return parse_literal(p, AST_BOOL, 1);
	if (spec_parse_is_word(p, "FALSE") || spec_parse_is_word(p, "false"))
		return parse_literal(p, AST_BOOL, 0);
	name = spec_parse_text(p, p->tok.span);
	if (spec_root_find(p->s, name) >= 0) {
		var = spec_parse_root_var(p, spec_root_find(p->s, name));
		return var < 0 ? NULL : parse_var(p, var);
	}
	if (spec_type_find(p->s, name) >= 0) {
		spec_parse_error(p, p->tok.span, NULL,
				 "expected an operand, '%s' is a type", name);
		p->is_complete = spec_parse_is_declaration(p); // of the next constraint
		return NULL;
	}
	spec_parse_error(p, p->tok.span, name ? hint_undeclared(p, name) : NULL,
			 "'%s' is not declared", name ? name : "?");
	return NULL;
}

/** `|e|`; the bars of `||` open or close two. */
static struct ast *parse_absolute(struct parser *p)
{
	struct spec_span from = p->tok.span;
	bool is_double = p->tok.kind == TOK_BARS, is_in_bars = p->is_in_bars;
	struct ast *n;

	if (is_double) {
		// Take the first bar and leave the second as the current token.
		p->tok.kind = TOK_CHAR;
		p->tok.ch = '|';
		p->tok.span.offset++;
		p->tok.span.length = 1;
	} else {
		spec_parse_advance(p);
	}
	p->is_in_bars = true;
	n = spec_parse_sum(p);
	p->is_in_bars = is_in_bars;
	if (p->is_panicking || !spec_want_number(p, n))
		return NULL;
	if (p->tok.kind == TOK_BARS) {
		p->tok.kind = TOK_CHAR;
		p->tok.ch = '|';
		p->tok.span.offset++;
		p->tok.span.length = 1;
		p->last_end = p->tok.span.offset;
	} else if (!spec_parse_expect_char(p, '|', "to close the absolute value")) {
		return NULL;
	}
	return spec_ast_new(p, AST_ABS, n, NULL, spec_parse_until_here(p, from));
}

struct ast *spec_parse_conditional(struct parser *p, struct ast *condition)
{
	struct ast *b, *c, *n;

	if (!spec_want_condition(p, condition))
		return NULL;
	spec_parse_advance(p);
	b = spec_parse_sum(p);
	if (p->is_panicking || !spec_want_number(p, b) ||
	    !spec_parse_expect_char(p, ':', "between the two values of '?'"))
		return NULL;
	c = spec_parse_sum(p);
	if (p->is_panicking || !spec_want_number(p, c))
		return NULL;
	n = spec_ast_new(p, AST_COND, condition, b,
			 spec_parse_until_here(p, condition->span));
	if (!n)
		return NULL;
	n->c = c;
	n->vars |= c->vars;
	n->has_index |= c->has_index;
	return n;
}

static struct ast *parse_parenthesis(struct parser *p)
{
	struct spec_span from = p->tok.span;
	bool is_in_bars = p->is_in_bars;
	struct ast *n;

	spec_parse_advance(p);
	p->is_in_bars = false;
	n = spec_parse_condition(p);
	if (!p->is_panicking && spec_parse_is_char(p, '?'))
		n = spec_parse_conditional(p, n);
	p->is_in_bars = is_in_bars;
	if (p->is_panicking ||
	    !spec_parse_expect_char(p, ')', "to close the parenthesis"))
		return NULL;
	n->is_paren = true;
	n->span = spec_parse_until_here(p, from);
	return spec_parse_is_char(p, '?') ? spec_parse_conditional(p, n) : n;
}

/** `"text"`, in which a quote is written \" and a backslash \\. */
static struct ast *parse_string(struct parser *p)
{
	struct spec_span inner = { p->tok.span.offset + 1, p->tok.span.length - 2 };
	struct ast *n = spec_ast_new(p, AST_STRING, NULL, NULL, p->tok.span);
	char *text = n ? spec_parse_text(p, inner) : NULL;

	if (!text)
		return NULL;
	n->name = text;
	for (const char *from = text; *from; from++) {
		from += *from == '\\' && (from[1] == '"' || from[1] == '\\');
		*text++ = *from;
	}
	*text = 0;
	spec_parse_advance(p);
	return n;
}

static struct ast *parse_primary(struct parser *p)
{
	if (p->tok.kind == TOK_STRING)
		return parse_string(p);
	if (p->tok.kind == TOK_NUMBER) {
		if (p->tok.hint) {
			spec_parse_error(p, p->tok.span, p->tok.hint,
					 "this number is too large");
			return NULL;
		}
		return parse_literal(p, AST_NUMBER, p->tok.number);
	}
	if (p->tok.kind == TOK_NAME)
		return parse_name(p);
	if (spec_parse_is_char(p, '('))
		return parse_parenthesis(p);
	if (spec_parse_is_char(p, '|') || p->tok.kind == TOK_BARS)
		return parse_absolute(p);
	spec_parse_error(p, p->tok.span, NULL, "expected an operand");
	return NULL;
}

/* ---- postfix: fields and attributes --------------------------------------------------- */

/** May `[0]` behind @p n be an index of C's, as in `X.m[0][0]`? */
static bool may_be_array(const struct parser *p, const struct ast *n)
{
	return n->kind == AST_NAMED || spec_ast_is_root(p, n) ||
	       (n->kind == AST_FIELD && may_be_array(p, n->a));
}

static struct ast *parse_field(struct parser *p, struct ast *base, char close)
{
	bool is_in_bars = p->is_in_bars;
	struct ast *index, *n;

	spec_parse_advance(p);
	p->is_in_bars = false;
	index = spec_parse_sum(p);
	p->is_in_bars = is_in_bars;
	if (p->is_panicking || !spec_want_number(p, index) ||
	    !spec_parse_expect_char(p, close, "behind the field number"))
		return NULL;
	n = spec_ast_new(p, AST_FIELD, base, index, spec_parse_until_here(p, base->span));
	if (n && index->kind == AST_NUMBER && index->number < 1 &&
	    !may_be_array(p, base)) {
		spec_parse_error(p, index->span, "the first field is X[1]",
				 "fields count from 1");
		return NULL;
	}
	if (n && base->kind == AST_VAR && index->kind == AST_NUMBER) {
		const struct spec_type *t = spec_type(p->s, p->vars[base->number].type);

		if (t->n_fields && index->number > (int64_t)t->n_fields)
			spec_parse_error(
				p, index->span,
				spec_printf(p->s,
					    "they are X[1] to X[%u], those of nested "
					    "structs counted",
					    t->n_fields),
				"'%s' has %u fields", t->name, t->n_fields);
	}
	return p->is_panicking ? NULL : n;
}

static struct ast *parse_attribute(struct parser *p, struct ast *base)
{
	struct ast *n = spec_ast_new(p, AST_NAMED, base, NULL, base->span);

	if (!n)
		return NULL;
	n->name = spec_parse_text(p, p->tok.span);
	for (size_t i = 0; i < sizeof(standard_attrs) / sizeof(*standard_attrs); i++) {
		if (!spec_parse_is_word(p, standard_attrs[i].name))
			continue;
		n->kind = AST_STANDARD;
		n->attr = standard_attrs[i].attr;
	}
	spec_parse_advance(p);
	n->span = spec_parse_until_here(p, base->span);
	return n->name ? n : NULL;
}

struct ast *spec_parse_postfix(struct parser *p)
{
	struct ast *n = parse_primary(p);

	while (!p->is_panicking) {
		bool is_dot = spec_parse_is_char(p, '.');

		if (n->kind == AST_NAMED && spec_parse_is_char(p, '('))
			spec_parse_error(p, p->tok.span,
					 "X.(2) is a field by its number, X.next.key "
					 "one of the node that a field points to",
					 "'%s' takes no arguments", n->name);
		if ((!is_dot && !spec_parse_is_char(p, '[')) || p->is_panicking)
			break;
		if (!spec_want_vertex(p, n))
			return NULL;
		if (is_dot)
			spec_parse_advance(p);
		if (spec_parse_is_char(p, '['))
			n = parse_field(p, n, ']');
		else if (spec_parse_is_char(p, '('))
			n = parse_field(p, n, ')');
		else if (p->tok.kind == TOK_NAME)
			n = parse_attribute(p, n);
		else
			spec_parse_error(p, p->tok.span,
					 "X.INDEGREE, X.next, X.[2] or X.(2)",
					 "expected a field or an attribute");
	}
	return p->is_panicking ? NULL : n;
}
