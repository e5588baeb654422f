// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Names to fields. `X.pos.x` and `X.child[2]` are written as chains but name one flattened
 * field each; `X.next.value` is two fields with a pointer between them. Which is which is
 * known once the layouts are.
 */
#include <assert.h>
#include <string.h>

#include "specdsl/spec_ast.h"

struct resolver {
	struct spec *s;
	struct spec_file *file;
	const struct spec_var *vars;
	bool is_out_of_memory;
};

/** @return the number (from 1) of the field called @p name, 0 for none. */
static uint32_t find_field(const struct dec_struct *l, const char *name)
{
	for (uint32_t i = 0; l && i < l->n_fields; i++)
		if (!strcmp(l->fields[i].name, name))
			return i + 1;
	return 0;
}

/** Is @p name a nested struct or array of @p l, so that fields begin with it? */
static bool is_prefix_of_field(const struct dec_struct *l, const char *name)
{
	size_t n = strlen(name);

	for (uint32_t i = 0; l && i < l->n_fields; i++)
		if (!strncmp(l->fields[i].name, name, n) &&
		    (l->fields[i].name[n] == '.' || l->fields[i].name[n] == '['))
			return true;
	return false;
}

/** @return how many of the fields after @p first are `name[0]`, `name[1]`, ... */
static uint32_t array_run(struct resolver *r, const struct dec_struct *l, uint32_t first,
			  const char *name)
{
	uint32_t n = 0;

	while (first && first + n <= l->n_fields) {
		const char *want = spec_printf(r->s, "%s[%u]", name, n);

		r->is_out_of_memory |= !want;
		if (!want || strcmp(l->fields[first - 1 + n].name, want))
			break;
		n++;
	}
	return n;
}

/** What type of node does @p n most likely stand for? Evaluation goes by the node itself;
 * this serves diagnostics and the attributes of NULL. */
static uint32_t static_type(const struct resolver *r, const struct ast *n)
{
	const struct dec_struct *l;
	uint32_t type, field = 0;
	int to;

	if (n->kind == AST_VAR)
		return r->vars[n->number].type;
	type = static_type(r, n->base);
	l = r->s->types.data[type].layout;
	if (n->by_type)
		field = n->by_type[type].field;
	else if (n->b && n->b->kind == AST_NUMBER && l && n->b->number <= l->n_fields &&
		 n->b->number > 0)
		field = n->b->number;
	to = l && field ? spec_type_find(r->s, l->fields[field - 1].points_to) : -1;
	return to < 0 ? type : (uint32_t)to;
}

static int find_attr(const struct spec *s, const char *name, uint32_t type)
{
	int other = -1;

	for (size_t i = 0; i < s->attrs.size; i++) {
		if (strcmp(s->attrs.data[i].name, name))
			continue;
		if (s->attrs.data[i].type == type)
			return (int)i;
		other = (int)i;
	}
	return other;
}

/** @return the names of some fields of @p l, for a hint. */
static const char *list_fields(struct spec *s, const struct dec_struct *l)
{
	const char *text = "its fields are";

	for (uint32_t i = 0; text && i < l->n_fields && i < 12; i++)
		text = spec_printf(s, "%s%s %s", text, i ? "," : "", l->fields[i].name);
	return text && l->n_fields > 12 ? spec_printf(s, "%s, ...", text) : text;
}

static void report_unknown(struct resolver *r, struct ast *n, uint32_t type)
{
	const struct spec_type *t = &r->s->types.data[type];

	n->is_bad = true;
	if (t->layout)
		spec_diag_add(r->s, r->file, n->span, list_fields(r->s, t->layout),
			      "'%s' has no field or attribute '%s'", t->name, n->name);
	else
		spec_diag_add(r->s, r->file, n->span,
			      "the program has no debug information about it: write the field's "
			      "number, as in X[2]",
			      "the fields of '%s' have no names here", t->name);
}

/** Find what @p n->name means on each type; @p want_run for `name[I]`. */
static void look_up(struct resolver *r, struct ast *n, bool want_run)
{
	struct spec *s = r->s;
	uint32_t type = static_type(r, n->base);
	struct ast_meaning *table = arena_alloc(&s->arena, s->types.size * sizeof(*table));
	const char *name = want_run ? spec_printf(s, "%s[0]", n->name) : n->name;

	if (!table || !name) {
		r->is_out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < s->types.size; i++) {
		const struct dec_struct *l = s->types.data[i].layout;

		table[i].field = find_field(l, name);
		if (want_run)
			table[i].run = array_run(r, l, table[i].field, n->name);
	}
	n->by_type = table;
	if (table[type].field)
		return;
	if (!want_run && is_prefix_of_field(s->types.data[type].layout, n->name))
		n->is_prefix = true;
	else
		report_unknown(r, n, type);
}

static void resolve(struct resolver *r, struct ast *n);

/** Resolve @p n where a whole value, vertex or condition is needed. */
static void resolve_use(struct resolver *r, struct ast *n)
{
	if (!n)
		return;
	resolve(r, n);
	if (n->is_prefix && !n->is_bad)
		spec_diag_add(r->s, r->file, n->span, NULL,
			      "'%s' is a struct or an array: name one of its fields", n->name);
}

/** Is @p base, whose parent needs a node, no number? */
static bool check_base(struct resolver *r, struct ast *base)
{
	if (base->is_bad || base->kind != AST_NAMED || base->user_attr < 0)
		return !base->is_bad;
	base->is_bad = true;
	spec_diag_add(r->s, r->file, base->span, NULL, "attribute '%s' is a number, not a node",
		      base->name);
	return false;
}

static void resolve_named(struct resolver *r, struct ast *n)
{
	resolve(r, n->a);
	n->base = n->a;
	n->is_bad = !check_base(r, n->a);
	if (n->is_bad)
		return;
	if (n->a->is_prefix) {
		n->base = n->a->base;
		n->name = spec_printf(r->s, "%s.%s", n->a->name, n->name);
		r->is_out_of_memory |= !n->name;
	} else {
		n->user_attr = find_attr(r->s, n->name, static_type(r, n->base));
	}
	if (n->user_attr < 0 && n->name)
		look_up(r, n, false);
}

static void resolve_field(struct resolver *r, struct ast *n)
{
	resolve(r, n->a);
	resolve_use(r, n->b);
	n->base = n->a;
	n->is_bad = !check_base(r, n->a);
	if (n->is_bad || !n->a->is_prefix)
		return;
	n->base = n->a->base;
	n->name = n->a->name;
	if (n->b->kind == AST_NUMBER)
		n->name = spec_printf(r->s, "%s[%lld]", n->name, (long long)n->b->number);
	r->is_out_of_memory |= !n->name;
	if (n->name)
		look_up(r, n, n->b->kind != AST_NUMBER);
}

static void resolve(struct resolver *r, struct ast *n)
{
	if (r->is_out_of_memory)
		return;
	if (n->kind == AST_NAMED) {
		resolve_named(r, n);
	} else if (n->kind == AST_FIELD) {
		resolve_field(r, n);
	} else {
		resolve_use(r, n->a);
		resolve_use(r, n->b);
		resolve_use(r, n->c);
	}
	if (n->kind == AST_STANDARD)
		check_base(r, n->a);
	if ((n->kind == AST_EDGE || (n->kind == AST_COMPARE && n->compare == CMP_VERTICES)) &&
	    check_base(r, n->a))
		check_base(r, n->b);
}

struct err *spec_resolve(struct spec *s)
{
	struct resolver r = {.s = s};

	assert(!s->is_resolved);
	s->is_resolved = true;
	// Statements with a mistake were not added, so what is there is whole.
	for (size_t i = 0; i < s->attrs.size; i++) {
		struct spec_attr *a = &s->attrs.data[i];
		struct spec_var var = {.name = "", .type = a->type};

		r.file = a->file;
		r.vars = &var;
		resolve_use(&r, a->guard);
		resolve_use(&r, a->terminal);
		resolve_use(&r, a->nonterminal);
	}
	for (size_t i = 0; i < s->rules.size; i++) {
		r.file = s->rules.data[i]->source;
		r.vars = s->rules.data[i]->vars;
		resolve_use(&r, s->rules.data[i]->guard);
		resolve_use(&r, s->rules.data[i]->body);
	}
	return r.is_out_of_memory ? &err_nomem : NULL;
}
