// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Statements about nodes: attributes with their rules, and constraints (m, c and c' of the
 * grammar in paper 001, Figure 2.3).
 */
#include <string.h>

#include "specdsl/spec_parser.h"

/* ---- variables: d of the grammar ------------------------------------------------------- */

/** Behind the type of `f x ;` or `f x, x ;`. */
static void parse_variables(struct parser *p, int type)
{
	do {
		struct spec_span at = p->tok.span;
		const char *name;

		if (!spec_parse_new_name(p, "a variable", &name))
			return;
		for (size_t i = 0; i < p->n_vars; i++)
			if (!strcmp(p->vars[i].name, name))
				spec_parse_error(p, at, NULL, "'%s' is declared twice",
						 name);
		if (p->n_vars == SPEC_MAX_VARS)
			spec_parse_error(p, at, "split it into several constraints",
					 "a constraint has at most %d variables",
					 SPEC_MAX_VARS);
		if (p->is_panicking)
			return;
		p->var_spans[p->n_vars] = at;
		p->vars[p->n_vars++] = (struct spec_var){ .name = name, .type = type };
		if (!spec_parse_is_char(p, ','))
			break;
		spec_parse_advance(p);
	} while (true);
	spec_parse_end(p, "declaration");
	p->is_complete = false;
}

bool spec_parse_is_declaration(const struct parser *p)
{
	return spec_token_is_type(&p->tok) && p->next.kind == TOK_NAME &&
	       !spec_parse_is_word(p, "for");
}

/** `..(c1)` */
const char *spec_parse_label(struct parser *p)
{
	const char *name = NULL;

	spec_parse_advance(p);
	if (!spec_parse_expect_char(p, '(', "behind '..', as in ..(c1)") ||
	    !spec_parse_new_name(p, "a constraint's name", &name) ||
	    !spec_parse_expect_char(p, ')', "behind the constraint's name"))
		return NULL;
	if (spec_parse_is_char(p, ';'))
		spec_parse_advance(p);
	return name;
}

/* ---- user-defined attributes: m of the grammar ------------------------------------------- */

/** a: `x.h = ve` */
static struct ast *parse_assignment(struct parser *p, const struct spec_attr *attr)
{
	const char *hint = spec_printf(p->s, "as in: %s.%s = ...",
				       p->n_vars ? p->vars[0].name : "X", attr->name);

	if (!(p->n_vars && spec_parse_is_word(p, p->vars[0].name) &&
	      spec_token_is_char(&p->next, '.'))) {
		spec_parse_error(p, p->tok.span, hint, "expected an assignment to %s",
				 attr->name);
		return NULL;
	}
	spec_parse_advance(p);
	spec_parse_advance(p);
	if (!spec_parse_is_word(p, attr->name)) {
		spec_parse_error(p, p->tok.span, hint, "the rule is about %s",
				 attr->name);
		return NULL;
	}
	spec_parse_advance(p);
	if (p->tok.kind != TOK_ASSIGN) {
		spec_parse_error(p, p->tok.span, hint, "expected '='");
		return NULL;
	}
	spec_parse_advance(p);
	return spec_parse_value(p);
}

/** Is the current statement `x.h = ..`, so that there is no guard? */
static bool is_assignment(const struct parser *p)
{
	struct token t = spec_lex(p->f, p->next.span.offset + p->next.span.length);

	t = spec_lex(p->f, t.span.offset + t.span.length);
	return p->tok.kind == TOK_NAME && spec_token_is_char(&p->next, '.') &&
	       t.kind == TOK_ASSIGN;
}

/** r: `d r | g => a || a ;`; `a ;` alone where the attribute of NULL ends the recursion. */
static void parse_rule(struct parser *p, struct spec_attr *attr)
{
	while (spec_parse_is_declaration(p)) {
		struct spec_span at = p->tok.span;
		int type;

		p->is_in_header = true;
		type = spec_parse_known_type(p);
		if (type >= 0 && (uint32_t)type != attr->type)
			spec_parse_error(p, at, NULL,
					 "the rule of %s is about nodes of type %s",
					 attr->name, p->s->types.data[attr->type].name);
		if (p->is_panicking)
			return;
		parse_variables(p, type);
		p->is_in_header = p->is_panicking && !spec_parse_is_behind_semicolon(p);
	}
	if (!p->is_panicking && p->n_vars != 1) {
		spec_parse_error(p, p->tok.span, "as in: avltree.HEIGHT; avltree X; ...",
				 "the rule of an attribute has exactly one variable");
		return;
	}
	if (p->is_panicking)
		return;
	if (!is_assignment(p)) {
		attr->guard = spec_parse_condition(p);
		if (p->is_panicking)
			return;
		if (p->tok.kind != TOK_ARROW) {
			spec_parse_error(p, p->tok.span,
					 "guard => X.H = end || X.H = step;",
					 "expected '=>' behind the guard");
			return;
		}
		spec_parse_advance(p);
		attr->terminal = parse_assignment(p, attr);
		if (p->is_panicking)
			return;
		if (p->tok.kind != TOK_BARS) {
			spec_parse_error(p, p->tok.span,
					 "guard => X.H = end || X.H = step;",
					 "expected '||' between the two assignments");
			return;
		}
		spec_parse_advance(p);
	}
	attr->nonterminal = parse_assignment(p, attr);
}

/** `f . h ;` or `f . h NULL n ;`, then its rule. */
void spec_parse_attribute_declaration(struct parser *p)
{
	struct spec_attr attr = { .null_value = -1, .file = p->f, .span = p->tok.span },
			 *new;
	int type;

	p->is_in_header = true;
	type = spec_parse_known_type(p);
	if (type < 0)
		return;
	attr.type = type;
	spec_parse_advance(p);
	attr.span = p->tok.span;
	if (!spec_parse_new_name(p, "the attribute's name", &attr.name))
		return;
	if (spec_parse_is_standard_attr(attr.name)) {
		spec_parse_error(p, attr.span, "give yours another name",
				 "'%s' is an attribute of every node", attr.name);
		return;
	}
	if (spec_parse_accept_word(p, "NULL") &&
	    !spec_parse_integer(p, "the attribute of NULL", INT32_MIN, INT32_MAX,
				&attr.null_value))
		return;
	if (!spec_parse_end(p, "attribute"))
		return;
	p->is_in_header = p->is_complete = false;
	p->is_in_attribute = true;
	parse_rule(p, &attr);
	if (!spec_parse_end(p, "attribute's rule"))
		return;
	for (size_t i = 0; i < p->s->attrs.size; i++)
		if (p->s->attrs.data[i].type == attr.type &&
		    !strcmp(p->s->attrs.data[i].name, attr.name))
			spec_parse_error(p, attr.span, NULL, "'%s' is declared twice",
					 attr.name);
	new = vec_push(&p->s->attrs);
	if (new)
		*new = attr;
	p->is_out_of_memory |= !new;
}

/* ---- constraints: c and c' of the grammar ------------------------------------------------ */

/** q: `for I in n to n ,` */
static void parse_range(struct parser *p, struct spec_rule *r)
{
	struct spec_span at;

	spec_parse_advance(p);
	if (!spec_parse_new_name(p, "the index's name", &p->index_name))
		return;
	if (!spec_parse_accept_word(p, "in")) {
		spec_parse_error(p, p->tok.span, "for I in 0 to 7, ...", "expected 'in'");
		return;
	}
	at = p->tok.span;
	if (!spec_parse_integer(p, "the range's start", INT32_MIN, INT32_MAX, &r->from))
		return;
	if (!spec_parse_accept_word(p, "to")) {
		spec_parse_error(p, p->tok.span, "for I in 0 to 7, ...", "expected 'to'");
		return;
	}
	if (p->tok.kind == TOK_NAME && !spec_token_is_char(&p->next, ','))
		spec_parse_error(p, p->tok.span,
				 "a field goes into the guard: for I in 0 to 99, "
				 "I < X.n => ...",
				 "the range's end is a number");
	if (!spec_parse_integer(p, "the range's end", INT32_MIN, INT32_MAX, &r->to))
		return;
	if (r->to < r->from)
		spec_parse_error(p, spec_parse_until_here(p, at), "for I in 0 to 7, ...",
				 "the range is empty");
	if (!spec_parse_is_char(p, ','))
		spec_parse_error(p, (struct spec_span){ p->last_end, 1 },
				 "for I in 0 to 7, ...", "expected ',' behind the range");
	spec_parse_expect_char(p, ',', "behind the range");
	r->pub.is_intra = true;
	r->pub.index_name = p->index_name;
}

static void name_rule(struct parser *p, struct spec_rule *r, const char *label,
		      struct spec_span at)
{
	for (size_t i = 0; i < p->s->rules.size; i++)
		if (p->s->rules.data[i] != r && p->s->rules.data[i]->has_label &&
		    p->s->rules.data[i]->source == p->f &&
		    !strcmp(p->s->rules.data[i]->pub.name, label))
			spec_parse_error(p, at, NULL, "constraint '%s' exists already",
					 label);
	r->pub.name = label;
	r->has_label = true;
}

static void add_rule(struct parser *p, struct spec_rule *r, struct spec_span from)
{
	struct spec_rule *copy = arena_alloc(&p->s->arena, sizeof(*copy));
	struct spec_rule **slot = copy ? vec_push(&p->s->rules) : NULL;

	if (!slot) {
		p->is_out_of_memory = true;
		return;
	}
	r->source = p->f;
	r->pub.file = p->f->name;
	r->pub.line = spec_file_line(p->f, from.offset);
	r->pub.text = spec_parse_text(p, spec_parse_until_here(p, from));
	memcpy(r->vars, p->vars, sizeof(r->vars));
	memcpy(r->var_spans, p->var_spans, sizeof(r->var_spans));
	r->pub.n_vars = p->n_vars;
	if (!r->pub.name)
		r->pub.name = spec_printf(p->s, "c%u", p->f->n_constraints);
	*copy = *r;
	copy->pub.vars = copy->vars;
	spec_plan_rule(p->s, copy);
	*slot = copy;
	p->is_out_of_memory |= !r->pub.name || !r->pub.text;
}

/** `d.. [q ,] [g =>] g ;` */
void spec_parse_constraint(struct parser *p)
{
	struct spec_span from = p->tok.span, label_span = from;
	struct spec_rule r = {};
	const char *label = NULL;

	p->f->n_constraints++;
	while (!p->is_panicking && spec_parse_is_declaration(p)) {
		int type;

		p->is_in_header = true;
		type = spec_parse_known_type(p);
		parse_variables(p, type);
		p->is_in_header = p->is_panicking && !spec_parse_is_behind_semicolon(p);
		if (p->is_panicking || p->tok.kind != TOK_DOTS)
			continue;
		label_span = p->tok.span;
		label = spec_parse_label(p);
	}
	r.pub.body_line = spec_file_line(p->f, p->tok.span.offset);
	if (!p->is_panicking && spec_parse_is_word(p, "for"))
		parse_range(p, &r);
	if (p->is_panicking)
		return;
	r.body = spec_parse_condition(p);
	if (!p->is_panicking && p->tok.kind == TOK_ARROW) {
		spec_parse_advance(p);
		r.guard = r.body;
		r.pub.has_guard = true;
		r.body = spec_parse_condition(p);
		if (!p->is_panicking && p->tok.kind == TOK_ARROW)
			spec_parse_error(p, p->tok.span, "join the guards by 'and'",
					 "a constraint has one '=>'");
	}
	if (!spec_parse_end(p, "constraint"))
		return;
	if (!r.body->vars && !(r.guard && r.guard->vars)) {
		spec_parse_error(p, r.body->span, NULL,
				 "this constraint is about no node");
		return;
	}
	if (label)
		name_rule(p, &r, label, label_span);
	add_rule(p, &r, from);
}

/** `..(c1)` behind a constraint names that one. */
void spec_parse_trailing_label(struct parser *p)
{
	struct spec_span at = p->tok.span;
	struct spec_rule *last =
		p->s->rules.size ? p->s->rules.data[p->s->rules.size - 1] : NULL;
	const char *label = spec_parse_label(p);

	if (!label)
		return;
	if (!last || last->source != p->f || last->has_label)
		spec_parse_error(p, at,
				 "a label stands behind its constraint or declaration",
				 "there is no constraint to name here");
	else
		name_rule(p, last, label, at);
	p->is_complete = true;
}
