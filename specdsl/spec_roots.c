// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Roots: variables of the program that are nodes. A constraint that names one has a variable
 * for it. A root that is no struct - a pointer, a number, an array - has one field, with its
 * own name; where its value may stand, that field is meant, which is known once it is bound.
 */
#include <stdarg.h>
#include <string.h>

#include "specdsl/spec_parser.h"

size_t spec_roots(const struct spec *s)
{
	return s->roots.size;
}

const struct spec_root *spec_root(const struct spec *s, size_t i)
{
	return &s->roots.data[i];
}

int spec_root_find(const struct spec *s, const char *name)
{
	for (size_t i = 0; name && i < s->roots.size; i++)
		if (!strcmp(s->roots.data[i].name, name))
			return (int)i;
	return -1;
}

/** How long the scopes before the name are: of `main::list` "main". */
static size_t scope_length(const char *variable)
{
	const char *last = strrchr(variable, ':');

	return last ? (size_t)(last - variable) : 0;
}

bool spec_roots_share_scope(const struct spec *s, uint32_t a, uint32_t b)
{
	const struct spec_root *x = vec_find(&s->roots, r, r->type == a);
	const struct spec_root *y = vec_find(&s->roots, r, r->type == b);
	size_t n = x ? scope_length(x->variable) : 0;

	return x && y && n == scope_length(y->variable) &&
	       !strncmp(x->variable, y->variable, n);
}

/* ---- declarations ---------------------------------------------------------------------- */

/** `main::list`, or all of it in quotes. @p last: the part behind the last `::`. */
static void parse_variable(struct parser *p, const char **ret, const char **last)
{
	const char *name;

	if (!spec_parse_type_name(p, "the variable's name", ret))
		return;
	*last = strrchr(*ret, ':') ? strrchr(*ret, ':') + 1 : *ret;
	while (spec_parse_is_char(p, ':') && spec_token_is_char(&p->next, ':')) {
		spec_parse_advance(p);
		spec_parse_advance(p);
		if (!spec_parse_new_name(p, "a name behind '::'", &name))
			return;
		*ret = spec_printf(p->s, "%s::%s", *ret, name);
		*last = name;
		p->is_out_of_memory |= !*ret;
		p->is_panicking |= !*ret;
	}
}

/** `IN src/list.c`: p->tok is IN; what follows is read as a path, not as tokens. */
static void parse_source(struct parser *p, const char **ret)
{
	uint32_t at = p->tok.span.offset + p->tok.span.length;
	struct spec_span path;

	at = spec_lex_path(p->f, at, &path);
	if (!at) {
		spec_parse_advance(p);
		spec_parse_error(p, p->tok.span, "as in: ROOT head IN list.c;",
				 "expected a source file");
		return;
	}
	*ret = spec_parse_text(p, path);
	spec_parse_seek(p, at);
}

static bool is_same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

/** @return whether @p r may be added; several files may declare the same. */
static bool is_new_root(struct parser *p, const struct spec_root *r, struct spec_span at)
{
	int old = spec_root_find(p->s, r->name);
	const struct spec_root *o = old >= 0 ? &p->s->roots.data[old] : NULL;
	const char *hint = spec_printf(p->s, "give it another: ROOT %s AS %s2;",
				       r->variable, r->name);

	if (o && is_same_text(o->variable, r->variable) &&
	    is_same_text(o->source, r->source) && strcmp(o->file, r->file))
		return false;
	if (o)
		spec_parse_error(p, at, hint, "root '%s' was declared at %s:%d", r->name,
				 o->file, o->line);
	for (size_t i = 0; i < p->s->consts.size; i++)
		if (!strcmp(p->s->consts.data[i].name, r->name))
			spec_parse_error(p, at, hint, "'%s' is a constant", r->name);
	return !p->is_panicking;
}

/** A root has a type of its own. */
static void add_root(struct parser *p, struct spec_root *r,
		     const struct spec_root_rest *rest)
{
	const struct spec_type t = { .name = r->variable,
				     .slot_bytes = 8,
				     .same_as = -1,
				     .is_root = true,
				     .file = r->file,
				     .line = r->line };
	const struct spec_type_place place = { .file = rest->file,
					       .name = rest->span,
					       .fields = rest->span,
					       .edges = rest->span };

	r->type = p->s->types.size;
	p->is_out_of_memory |=
		vec_add(&p->s->types, t) || vec_add(&p->s->type_places, place) ||
		vec_add(&p->s->roots, *r) || vec_add(&p->s->root_rests, *rest);
}

/** `ROOT variable [IN file] [AS name] ;` */
void spec_parse_root(struct parser *p)
{
	struct spec_root r = { .file = p->f->name };
	struct spec_root_rest rest = { .file = p->f };

	r.line = spec_file_line(p->f, p->tok.span.offset);
	spec_parse_advance(p);
	rest.span = p->tok.span;
	parse_variable(p, &r.variable, &r.name);
	rest.span = spec_parse_until_here(p, rest.span);
	rest.member = r.name;
	if (!p->is_panicking && spec_parse_is_word(p, "IN"))
		parse_source(p, &r.source);
	if (spec_parse_accept_word(p, "AS"))
		spec_parse_new_name(p, "the root's name in constraints", &r.name);
	if (spec_parse_end(p, "root") && is_new_root(p, &r, rest.span))
		add_root(p, &r, &rest);
}

/* ---- in constraints ------------------------------------------------------------------------ */

int spec_parse_root_var(struct parser *p, int root)
{
	const struct spec_root *r = &p->s->roots.data[root];

	if (p->is_in_attribute) {
		spec_parse_error(p, p->tok.span, "compare the attribute in a constraint",
				 "root '%s' in the rule of an attribute, which is about "
				 "one node",
				 r->name);
		return -1;
	}
	if (p->n_vars == SPEC_MAX_VARS) {
		spec_parse_error(p, p->tok.span, "split it into several constraints",
				 "a constraint has at most %d variables, roots counted",
				 SPEC_MAX_VARS);
		return -1;
	}
	p->var_spans[p->n_vars] = p->tok.span;
	p->vars[p->n_vars] =
		(struct spec_var){ .name = r->name, .type = r->type, .is_root = true };
	return p->n_vars++;
}

bool spec_ast_is_root(const struct parser *p, const struct ast *n)
{
	return n->kind == AST_VAR && p->vars[n->number].is_root;
}

/* ---- binding --------------------------------------------------------------------------------- */

struct err *spec_bind_root(struct spec *s, size_t root, const struct dec_struct *layout,
			   bool is_struct, int base, const char *type)
{
	struct spec_type *t = &s->types.data[s->roots.data[root].type];

	t->layout = layout;
	t->n_edges = spec_layout_pointers(layout, layout->n_fields);
	t->base = base + 1;
	s->root_rests.data[root].is_bound = true;
	s->root_rests.data[root].is_struct = is_struct;
	t->name = spec_printf(s, "%s: %s", s->roots.data[root].variable, type);
	return t->name ? NULL : &err_nomem;
}

void spec_root_mistake(struct spec *s, size_t root, const char *hint, const char *fmt,
		       ...)
{
	const struct spec_root_rest *r = &s->root_rests.data[root];
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	spec_diag_add(s, r->file, r->span, hint ? spec_printf(s, "%s", hint) : NULL, "%s",
		      n < 0 ? "out of memory" : text);
}

/* ---- a root, or its value? --------------------------------------------------------------------- */

struct folding {
	struct spec *s;
	struct spec_rule *r;
	bool is_out_of_memory;
};

/** @return what is known of the root that @p n is, NULL when it is none. */
static const struct spec_root_rest *root_of(const struct folding *f, const struct ast *n)
{
	const struct spec_var *v = n->kind == AST_VAR ? &f->r->vars[n->number] : NULL;

	for (size_t i = 0; v && v->is_root && i < f->s->roots.size; i++)
		if (f->s->roots.data[i].type == v->type)
			return &f->s->root_rests.data[i];
	return NULL;
}

/** *@p n, a root that is no struct, becomes its field. */
static void take_value(struct folding *f, struct ast **n)
{
	const struct spec_root_rest *root = root_of(f, *n);
	struct ast *value;

	if (!root || !root->is_bound || root->is_struct)
		return;
	value = arena_alloc(&f->s->arena, sizeof(*value));
	f->is_out_of_memory |= !value;
	if (!value)
		return;
	*value = (struct ast){ .kind = AST_NAMED,
			       .span = (*n)->span,
			       .is_paren = (*n)->is_paren,
			       .vars = (*n)->vars,
			       .name = root->member,
			       .a = *n,
			       .user_attr = -1 };
	*n = value;
}

static void want_number(struct folding *f, const struct ast *n)
{
	const struct spec_root_rest *root = n ? root_of(f, n) : NULL;

	if (root && root->is_struct)
		spec_diag_add(f->s, f->r->source, n->span, "name one of its fields",
			      "expected a number, root '%s' is a struct", root->member);
}

static bool may_be_node(const struct ast *n)
{
	return n->kind == AST_VAR || n->kind == AST_NULL || spec_ast_is_field(n);
}

/** What @p n compares is known now: a struct is a node, else it is values. */
static void classify(struct folding *f, struct ast *n)
{
	bool has_node = n->a->kind == AST_VAR || n->b->kind == AST_VAR;

	if (n->compare != CMP_NUMBERS || !has_node)
		return;
	if ((n->op == OP_EQ || n->op == OP_NE) && may_be_node(n->a) &&
	    may_be_node(n->b)) {
		n->compare = CMP_VERTICES;
		return;
	}
	want_number(f, n->a);
	want_number(f, n->b);
}

static void fold(struct folding *f, struct ast *n)
{
	// As (X[2]) is the node that a field points to, (head) is what a root does.
	bool is_node = n && (n->kind == AST_EDGE || n->kind == AST_STANDARD);
	struct ast **parts[3];

	if (!n)
		return;
	parts[0] = &n->a;
	parts[1] = &n->b;
	parts[2] = &n->c;
	for (int i = 0; i < 3; i++) {
		if (!*parts[i])
			continue;
		fold(f, *parts[i]);
		if (!is_node || (*parts[i])->is_paren)
			take_value(f, parts[i]);
		// What is left is a struct: it has fields and an address, and is compared with nodes.
		if (!is_node && n->kind != AST_COMPARE && n->kind != AST_ADDRESS &&
		    !(i == 0 && spec_ast_is_field(n)))
			want_number(f, *parts[i]);
	}
	if (n->kind == AST_COMPARE)
		classify(f, n);
}

struct err *spec_roots_resolve(struct spec *s)
{
	for (size_t i = 0; i < s->rules.size; i++) {
		struct folding f = { .s = s, .r = s->rules.data[i] };

		fold(&f, f.r->guard);
		fold(&f, f.r->body);
		if (f.is_out_of_memory)
			return &err_nomem;
	}
	return NULL;
}
