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

#include "specdsl/spec_resolve.h"

/** What type of node does @p n most likely stand for? Evaluation goes by the node itself;
 * this serves diagnostics and the attributes of NULL. */
static uint32_t static_type(const struct resolver *r, const struct ast *n);

/** @return the struct that the pointer @p n, no variable, is to; NULL: not known. */
static const char *points_to(const struct resolver *r, const struct ast *n)
{
	uint32_t type = static_type(r, n->base);
	struct dec_field f = {};
	uint64_t field = 0;

	if (n->by_type)
		field = n->by_type[type].field;
	else if (n->b && n->b->kind == AST_NUMBER && n->b->number > 0)
		field = n->b->number;
	return spec_field_at(&r->s->types.data[type], field, &f) ? f.points_to : NULL;
}

static uint32_t static_type(const struct resolver *r, const struct ast *n)
{
	const char *name;
	int to;

	if (n->kind == AST_VAR)
		return r->vars[n->number].type;
	name = points_to(r, n);
	to = name ? spec_type_find(r->s, name) : -1;
	return to < 0 ? static_type(r, n->base) : (uint32_t)to;
}

static int find_attr(const struct spec *s, const char *name, uint32_t type)
{
	int other = -1;

	for (size_t i = 0; i < s->attrs.size; i++) {
		if (strcmp(s->attrs.data[i].name, name))
			continue;
		if (spec_type_is(s, type, s->attrs.data[i].type))
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

/** Is it not known what type @p type is? */
static bool is_unknown(const struct spec *s, size_t type)
{
	const struct spec_type *t = &s->types.data[type];

	return s->type_places.data[type].why ||
	       (!t->layout && !t->n_fields && !t->is_array && !t->is_root);
}

static void report_unknown(struct resolver *r, struct ast *n, uint32_t type)
{
	const struct spec_type *t = &r->s->types.data[type];
	const char *to = n->base->kind == AST_VAR ? NULL : points_to(r, n->base);

	n->is_bad = true;
	if (is_unknown(r->s, type))
		return; // said already
	if (to && spec_type_find(r->s, to) < 0)
		spec_diag_add(
			r->s, r->file, n->span,
			spec_printf(r->s, "declare it: '%s;'", to),
			"'%s' is behind a pointer to '%s', a type that is not declared",
			n->name, to);
	else if (t->layout)
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

/** Let @p n, a struct or an array, stand for its first field, and say which texts begin there.
 */
static void take_first_part(struct resolver *r, struct ast *n)
{
	const struct spec *s = r->s;
	const char *name = spec_parts_name(r, n->name, 0, 0);

	for (size_t i = 0; name && i < s->types.size; i++) {
		const struct dec_struct *l = s->types.data[i].layout;
		const char *rest = spec_parts_first(l, name), *pattern;

		if (!rest)
			continue;
		pattern = spec_printf(r->s, "%s%s", n->name, rest);
		r->is_out_of_memory |= !pattern;
		if (!pattern)
			return;
		n->by_type[i] = spec_parts_find(r, pattern, n->n_steps, l);
		n->by_type[i].n_chars = spec_parts_chars(r, l, name);
	}
	n->is_prefix = false;
}

/** Find what @p n->name means on each type. @return whether it is a field, or the
 * beginning of some (n->is_prefix), where it stands. */
static bool look_up(struct resolver *r, struct ast *n)
{
	struct spec *s = r->s;
	uint32_t type = static_type(r, n->base), last;
	struct ast_meaning *table =
		arena_alloc(&s->arena, s->types.size * sizeof(*table));
	const char *name = spec_parts_name(r, n->name, 0, 0);

	if (!table || !name) {
		r->is_out_of_memory = true;
		return true;
	}
	for (size_t i = 0; i < s->types.size; i++)
		table[i] =
			spec_parts_find(r, n->name, n->n_steps, s->types.data[i].layout);
	n->by_type = table;
	n->is_prefix = !table[type].field &&
		       spec_parts_count(s->types.data[type].layout, name, &last);
	return table[type].field || n->is_prefix;
}

/** `X.left`, a struct with one field in it, as std::unique_ptr: that field. */
static bool take_only_part(struct resolver *r, struct ast *n)
{
	const struct spec *s = r->s;
	const char *name = spec_parts_name(r, n->name, 0, 0);
	uint32_t field = 0;

	if (!name || n->n_steps ||
	    spec_parts_count(s->types.data[static_type(r, n->base)].layout, name,
			     &field) != 1)
		return false;
	for (size_t i = 0; i < s->types.size; i++)
		if (spec_parts_count(s->types.data[i].layout, name, &field) == 1)
			n->by_type[i].field = field;
	n->is_prefix = false;
	return true;
}

static void resolve(struct resolver *r, struct ast *n);

/** A whole value, vertex or condition is needed where @p n, which is resolved, stands. */
static void use(struct resolver *r, struct ast *n)
{
	if (n->is_prefix && !n->is_bad && !take_only_part(r, n))
		spec_diag_add(r->s, r->file, n->span, NULL,
			      "'%s' is a struct or an array: name one of its fields",
			      n->name);
}

/** Resolve @p n where a whole value, vertex or condition is needed. */
static void resolve_use(struct resolver *r, struct ast *n)
{
	if (!n)
		return;
	resolve(r, n);
	use(r, n);
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

/** X[9] of a node whose fields were not counted before: the parser knows the others. */
static bool check_number(struct resolver *r, const struct ast *n)
{
	const struct spec_type *t;

	if (n->a->kind != AST_VAR || n->b->kind != AST_NUMBER)
		return true;
	t = &r->s->types.data[r->vars[n->a->number].type];
	if (t->is_array || !t->layout || t->layout->n_tail ||
	    n->b->number <= t->layout->n_fields)
		return true;
	spec_diag_add(r->s, r->file, n->b->span, list_fields(r->s, t->layout),
		      "'%s' has %u fields", t->name, t->layout->n_fields);
	return false;
}

static void resolve_field(struct resolver *r, struct ast *n)
{
	const char *more = "[*]";

	resolve(r, n->a);
	resolve_use(r, n->b);
	n->base = n->a;
	n->is_bad = !check_pointer(r, n->a) || !check_number(r, n);
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

/** `&X.link`, which may be a struct or an array. */
static void resolve_address(struct resolver *r, struct ast *n)
{
	struct dec_field f;
	uint32_t type;

	resolve(r, n->a);
	if (n->a->is_bad || n->a->kind == AST_VAR || !check_base(r, n->a))
		return;
	if (n->a->is_prefix)
		take_first_part(r, n->a);
	type = static_type(r, n->a->base);
	if (!n->a->by_type ||
	    !spec_field_at(&r->s->types.data[type], n->a->by_type[type].field, &f) ||
	    !f.bit_size)
		return;
	n->a->is_bad = true;
	spec_diag_add(r->s, r->file, n->span, NULL,
		      "'%s' is a bit-field: it has no address", n->a->name);
}

/** Does @p n, which is resolved, stand for an array of char? */
static bool is_text(struct resolver *r, const struct ast *n)
{
	const char *name;

	if (!n->is_prefix || n->is_bad)
		return false;
	name = spec_parts_name(r, n->name, 0, 0);
	return name && spec_parts_chars(
			       r, r->s->types.data[static_type(r, n->base)].layout, name);
}

/** Take @p n, an operand of CMP_TEXTS, as text. */
static void use_text(struct resolver *r, struct ast *n)
{
	if (n->is_bad || n->kind == AST_STRING)
		return;
	if (is_text(r, n)) {
		take_first_part(r, n);
		return;
	}
	n->is_bad = true;
	spec_diag_add(r->s, r->file, n->span,
		      "what a pointer leads to is compared by its address alone",
		      "a text is compared with an array of char");
}

static void resolve_comparison(struct resolver *r, struct ast *n)
{
	resolve(r, n->a);
	resolve(r, n->b);
	if (n->compare == CMP_NUMBERS && is_text(r, n->a) && is_text(r, n->b))
		n->compare = CMP_TEXTS;
	if (n->compare == CMP_TEXTS) {
		use_text(r, n->a);
		use_text(r, n->b);
	} else {
		use(r, n->a);
		use(r, n->b);
	}
}

static void resolve(struct resolver *r, struct ast *n)
{
	if (r->is_out_of_memory)
		return;
	if (n->kind == AST_NAMED) {
		resolve_named(r, n);
	} else if (n->kind == AST_FIELD) {
		resolve_field(r, n);
	} else if (n->kind == AST_ADDRESS) {
		resolve_address(r, n);
	} else if (n->kind == AST_COMPARE) {
		resolve_comparison(r, n);
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

/** Report the types of which it is not known what they are. */
static void check_types(struct spec *s)
{
	for (size_t i = 0; i < s->types.size; i++) {
		const struct spec_type *t = &s->types.data[i];
		const struct spec_type_place *p = &s->type_places.data[i];

		if (p->why)
			spec_diag_add(s, p->file, p->name, p->hint, "%s", p->why);
		else if (is_unknown(s, i))
			spec_diag_add(s, p->file, p->name,
				      spec_printf(s,
						  "count its fields, and those that are "
						  "pointers: '%s FIELD n EDGE n;'",
						  t->name),
				      "no debug information says what '%s' is", t->name);
	}
}

static void follow_name(const struct spec *s, uint32_t *type)
{
	if (s->types.data[*type].same_as >= 0)
		*type = s->types.data[*type].same_as;
}

/** What is said about a type by its second name is said about it. */
static void join_types(struct spec *s)
{
	for (size_t i = 0; i < s->rules.size; i++)
		for (size_t k = 0; k < s->rules.data[i]->pub.n_vars; k++)
			follow_name(s, &s->rules.data[i]->vars[k].type);
	for (size_t i = 0; i < s->attrs.size; i++)
		follow_name(s, &s->attrs.data[i].type);
	for (size_t i = 0; i < s->cpoints.size; i++)
		if (s->cpoints.data[i].type >= 0)
			follow_name(s, (uint32_t *)&s->cpoints.data[i].type);
}

struct err *spec_resolve(struct spec *s)
{
	struct resolver r = { .s = s };
	struct err *err = spec_roots_resolve(s);

	if (err)
		return err;
	assert(!s->is_resolved);
	s->is_resolved = true;
	check_types(s);
	join_types(s);
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
		spec_plan_rule(s, s->rules.data[i]);
	}
	return r.is_out_of_memory ? &err_nomem : NULL;
}
