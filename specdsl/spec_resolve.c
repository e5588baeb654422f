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

/** @return what follows `next[3]` in @p name, which is in a flexible array, and which
 * element it is; NULL when it is not. */
static const char *tail_part(const struct dec_struct *l, const char *name, uint64_t *i)
{
	size_t n = l && l->n_tail ? strlen(l->tail) : 0;
	char *rest;

	if (!n || strncmp(name, l->tail, n) || name[n] != '[')
		return NULL;
	*i = strtoul(name + n + 1, &rest, 10);
	return *rest == ']' && *i <= UINT32_MAX / 2 / l->n_tail ? rest + 1 : NULL;
}

/** @return the number of the field called @p name, if it is in a flexible array; else 0. */
static uint32_t find_in_tail(const struct dec_struct *l, const char *name)
{
	uint64_t i, first;
	const char *part = tail_part(l, name, &i);

	for (uint32_t k = 0; part && k < l->n_tail; k++)
		if (!strcmp(tail_part(l, l->fields[l->n_fields + k].name, &first), part))
			return l->n_fields + i * l->n_tail + k + 1;
	return 0;
}

static uint32_t find_any(const struct dec_struct *l, const char *name)
{
	uint32_t field = find_field(l, name);

	return field ? field : find_in_tail(l, name);
}

/** Is @p name that of field @p field? */
static bool is_field(const struct dec_struct *l, uint32_t field, const char *name)
{
	return field <= l->n_fields ? !strcmp(l->fields[field - 1].name, name) :
				      find_any(l, name) == field;
}

/** How many fields begin with @p name, that of a nested struct or array of @p l? @p ret:
 * the last one's number. */
static uint32_t count_parts(const struct dec_struct *l, const char *name, uint32_t *ret)
{
	size_t n = strlen(name);
	uint32_t found = 0;
	uint64_t at;

	for (uint32_t i = 0; l && i < l->n_fields; i++) {
		const char *field = l->fields[i].name;

		if (strncmp(field, name, n) || (field[n] != '.' && field[n] != '['))
			continue;
		*ret = i + 1;
		found++;
	}
	if (l && l->n_tail && (!strcmp(name, l->tail) || tail_part(l, name, &at)))
		return UINT32_MAX; // however many fit
	return found;
}

/** @p pattern with its @p step-th `[*]`, from 0, as `[at]` and the others as `[0]`. */
static const char *name_at(struct resolver *r, const char *pattern, uint32_t step,
			   uint32_t at)
{
	const char *text = "", *star;

	for (uint32_t i = 0; text && (star = strstr(pattern, "[*]")); i++) {
		text = spec_printf(r->s, "%s%.*s[%u]", text, (int)(star - pattern),
				   pattern, i == step ? at : 0);
		pattern = star + 3;
	}
	text = text ? spec_printf(r->s, "%s%s", text, pattern) : NULL;
	r->is_out_of_memory |= !text;
	return text;
}

/** What index @p step of @p pattern does on @p l, where with zeros it is field @p first. */
static struct ast_step find_step(struct resolver *r, const struct dec_struct *l,
				 const char *pattern, uint32_t step, uint32_t first)
{
	const char *second = name_at(r, pattern, step, 1);
	struct ast_step s = { .run = 1 };
	uint32_t to;

	if (!second)
		return s;
	if (first > l->n_fields && !step && !strncmp(pattern + strlen(l->tail), "[*]", 3))
		return (struct ast_step){ .run = UINT32_MAX, .stride = l->n_tail };
	to = find_any(l, second);
	if (to <= first)
		return s;
	for (s.stride = to - first;; s.run++) {
		const char *want = name_at(r, pattern, step, s.run);

		if (!want || !is_field(l, first + s.run * s.stride, want))
			return s;
	}
}

/** What type of node does @p n most likely stand for? Evaluation goes by the node itself;
 * this serves diagnostics and the attributes of NULL. */
static uint32_t static_type(const struct resolver *r, const struct ast *n)
{
	struct dec_field f = {};
	uint32_t type;
	uint64_t field = 0;
	int to;

	if (n->kind == AST_VAR)
		return r->vars[n->number].type;
	type = static_type(r, n->base);
	if (n->by_type)
		field = n->by_type[type].field;
	else if (n->b && n->b->kind == AST_NUMBER && n->b->number > 0)
		field = n->b->number;
	to = spec_field_at(&r->s->types.data[type], field, &f) && f.points_to ?
		     spec_type_find(r->s, f.points_to) :
		     -1;
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

/** What @p name may mean on @p l. */
static const char *hint_unknown(struct spec *s, const struct dec_struct *l,
				const char *name)
{
	struct spec_nearest nearest = { .word = name };

	for (uint32_t i = 0; i < l->n_fields; i++)
		spec_nearest_try(&nearest, l->fields[i].name);
	for (size_t i = 0; i < s->attrs.size; i++)
		spec_nearest_try(&nearest, s->attrs.data[i].name);
	for (size_t i = 0; i < SPEC_STANDARD_ATTRS; i++)
		spec_nearest_try(&nearest, spec_standard_attr(i));
	if (!nearest.name)
		return list_fields(s, l);
	return spec_printf(s, "did you mean '%s'? %s", nearest.name, list_fields(s, l));
}

static void report_unknown(struct resolver *r, struct ast *n, uint32_t type)
{
	const struct spec_type *t = &r->s->types.data[type];

	n->is_bad = true;
	if (t->layout)
		spec_diag_add(r->s, r->file, n->span,
			      hint_unknown(r->s, t->layout, n->name),
			      "'%s' has no field or attribute '%s'", t->name, n->name);
	else
		spec_diag_add(
			r->s, r->file, n->span,
			"the program has no debug information about it: write the field's "
			"number, as in X[2]",
			"the fields of '%s' have no names here", t->name);
}

/** What @p n->name, with n->n_steps indices that are no constants, is on @p l. */
static struct ast_meaning find_meaning(struct resolver *r, const struct ast *n,
				       const struct dec_struct *l)
{
	const char *name = name_at(r, n->name, 0, 0);
	struct ast_meaning m = { .field = name ? find_any(l, name) : 0 };

	for (uint32_t i = 0; i < n->n_steps && m.field; i++)
		m.steps[i] = find_step(r, l, n->name, i, m.field);
	return m;
}

/** Find what @p n->name means on each type. @return whether it is a field, or the
 * beginning of some (n->is_prefix), where it stands. */
static bool look_up(struct resolver *r, struct ast *n)
{
	struct spec *s = r->s;
	uint32_t type = static_type(r, n->base), last;
	struct ast_meaning *table =
		arena_alloc(&s->arena, s->types.size * sizeof(*table));
	const char *name = name_at(r, n->name, 0, 0);

	if (!table || !name) {
		r->is_out_of_memory = true;
		return true;
	}
	for (size_t i = 0; i < s->types.size; i++)
		table[i] = find_meaning(r, n, s->types.data[i].layout);
	n->by_type = table;
	n->is_prefix = !table[type].field &&
		       count_parts(s->types.data[type].layout, name, &last);
	return table[type].field || n->is_prefix;
}

/** `X.left`, a struct with one field in it, as std::unique_ptr: that field. */
static bool take_only_part(struct resolver *r, struct ast *n)
{
	const struct spec *s = r->s;
	const char *name = name_at(r, n->name, 0, 0);
	uint32_t field = 0;

	if (!name || n->n_steps ||
	    count_parts(s->types.data[static_type(r, n->base)].layout, name, &field) != 1)
		return false;
	for (size_t i = 0; i < s->types.size; i++)
		if (count_parts(s->types.data[i].layout, name, &field) == 1)
			n->by_type[i].field = field;
	n->is_prefix = false;
	return true;
}

static void resolve(struct resolver *r, struct ast *n);

/** Resolve @p n where a whole value, vertex or condition is needed. */
static void resolve_use(struct resolver *r, struct ast *n)
{
	if (!n)
		return;
	resolve(r, n);
	if (n->is_prefix && !n->is_bad && !take_only_part(r, n))
		spec_diag_add(r->s, r->file, n->span, NULL,
			      "'%s' is a struct or an array: name one of its fields",
			      n->name);
}

/** Is @p base, whose parent needs a node, no number? */
static bool check_base(struct resolver *r, struct ast *base)
{
	if (base->is_bad || base->kind != AST_NAMED || base->user_attr < 0)
		return !base->is_bad;
	base->is_bad = true;
	spec_diag_add(r->s, r->file, base->span, NULL,
		      "attribute '%s' is a number, not a node", base->name);
	return false;
}

/** The names of the pointers of @p l, for a hint. */
static const char *list_pointers(struct spec *s, const struct dec_struct *l)
{
	const char *text = "its pointers are", *between = "";

	for (uint32_t i = 0; text && i < l->n_fields; i++) {
		if (!l->fields[i].is_pointer)
			continue;
		text = spec_printf(s, "%s%s %s", text, between, l->fields[i].name);
		between = ",";
	}
	return *between ? text : "it has no pointers";
}

/** As check_base(); nor may it be a field that is known to be no pointer. */
static bool check_pointer(struct resolver *r, struct ast *base)
{
	const struct spec_type *t;
	uint64_t field = 0;
	struct dec_field f;

	if (!check_base(r, base))
		return false;
	if ((base->kind != AST_NAMED && base->kind != AST_FIELD) || base->is_prefix ||
	    base->base->kind != AST_VAR || base->n_steps)
		return true;
	t = &r->s->types.data[r->vars[base->base->number].type];
	if (base->by_type)
		field = base->by_type[t - r->s->types.data].field;
	else if (base->b && base->b->kind == AST_NUMBER && base->b->number > 0)
		field = base->b->number;
	// An address may be kept in an integer as wide, if the user says so.
	if (!t->layout || !spec_field_at(t, field, &f) || f.is_pointer || f.size >= 8)
		return true;
	base->is_bad = true;
	spec_diag_add(
		r->s, r->file, base->span, list_pointers(r->s, t->layout),
		"field '%s' of '%s' has %u bytes and is no pointer: no node is behind it",
		f.name, t->name, f.size);
	return false;
}

/** @p n continues the name of n->a by @p more. @return false: there is no such field. */
static bool continue_name(struct resolver *r, struct ast *n, const char *more)
{
	n->base = n->a->base;
	n->name = spec_printf(r->s, "%s%s", n->a->name, more);
	n->n_steps = n->a->n_steps + n->is_step;
	r->is_out_of_memory |= !n->name;
	return !n->name || look_up(r, n);
}

static void resolve_named(struct resolver *r, struct ast *n)
{
	const char *name = n->name, *more;

	resolve(r, n->a);
	n->base = n->a;
	n->is_bad = !check_base(r, n->a);
	if (n->is_bad)
		return;
	if (n->a->is_prefix) {
		more = spec_printf(r->s, ".%s", name);
		r->is_out_of_memory |= !more;
		if (!more || continue_name(r, n, more))
			return;
		if (!take_only_part(r, n->a)) {
			report_unknown(r, n, static_type(r, n->base));
			return;
		}
		n->base = n->a;
		n->name = name;
		n->n_steps = 0;
		n->by_type = NULL;
	}
	n->is_bad = !check_pointer(r, n->base);
	if (n->is_bad)
		return;
	n->user_attr = find_attr(r->s, name, static_type(r, n->base));
	if (n->user_attr < 0 && !look_up(r, n))
		report_unknown(r, n, static_type(r, n->base));
}

static void resolve_field(struct resolver *r, struct ast *n)
{
	const char *more = "[*]";

	resolve(r, n->a);
	resolve_use(r, n->b);
	n->base = n->a;
	n->is_bad = !check_pointer(r, n->a);
	if (n->is_bad || !n->a->is_prefix)
		return;
	n->is_step = n->b->kind != AST_NUMBER;
	if (!n->is_step)
		more = spec_printf(r->s, "[%lld]", (long long)n->b->number);
	r->is_out_of_memory |= !more;
	if (n->is_step && n->a->n_steps == SPEC_MAX_INDICES) {
		n->is_bad = true;
		spec_diag_add(r->s, r->file, n->span, NULL,
			      "at most %d indices that are no constants",
			      SPEC_MAX_INDICES);
		return;
	}
	if (more && !continue_name(r, n, more))
		report_unknown(r, n, static_type(r, n->base));
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
		check_pointer(r, n->a);
	if (n->kind == AST_EDGE && check_pointer(r, n->a))
		check_pointer(r, n->b);
	if (n->kind == AST_COMPARE && n->compare == CMP_VERTICES && check_base(r, n->a))
		check_base(r, n->b);
}

struct err *spec_resolve(struct spec *s)
{
	struct resolver r = { .s = s };

	assert(!s->is_resolved);
	s->is_resolved = true;
	// Statements with a mistake were not added, so what is there is whole.
	for (size_t i = 0; i < s->attrs.size; i++) {
		struct spec_attr *a = &s->attrs.data[i];
		struct spec_var var = { .name = "", .type = a->type };

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
