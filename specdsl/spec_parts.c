// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which field of a layout has a name, which begins with one, and how indices move it.
 */
#include <string.h>

#include "specdsl/spec_resolve.h"

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

uint32_t spec_parts_count(const struct dec_struct *l, const char *name, uint32_t *ret)
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

const char *spec_parts_name(struct resolver *r, const char *pattern, uint32_t step,
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
	const char *second = spec_parts_name(r, pattern, step, 1);
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
		const char *want = spec_parts_name(r, pattern, step, s.run);

		if (!want || !is_field(l, first + s.run * s.stride, want))
			return s;
	}
}

struct ast_meaning spec_parts_find(struct resolver *r, const char *pattern,
				   uint32_t n_steps, const struct dec_struct *l)
{
	const char *name = spec_parts_name(r, pattern, 0, 0);
	struct ast_meaning m = { .field = name ? find_any(l, name) : 0 };

	for (uint32_t i = 0; i < n_steps && m.field; i++)
		m.steps[i] = find_step(r, l, pattern, i, m.field);
	return m;
}

const char *spec_parts_first(const struct dec_struct *l, const char *name)
{
	size_t n = strlen(name);
	uint64_t at;

	for (uint32_t i = 0; l && i < l->n_fields; i++) {
		const char *field = l->fields[i].name;

		if (!strncmp(field, name, n) && (field[n] == '.' || field[n] == '['))
			return field + n;
	}
	if (!l || !l->n_tail)
		return NULL;
	if (!strcmp(name, l->tail))
		return l->fields[l->n_fields].name + n;
	return tail_part(l, name, &at) ? tail_part(l, l->fields[l->n_fields].name, &at) :
					 NULL;
}

uint32_t spec_parts_chars(struct resolver *r, const struct dec_struct *l,
			  const char *name)
{
	uint32_t last = 0, n_parts = spec_parts_count(l, name, &last), first = 0;

	for (uint32_t i = 0; i < n_parts; i++) {
		const char *part = spec_printf(r->s, "%s[%u]", name, i);
		const struct dec_field *f;

		r->is_out_of_memory |= !part;
		if (!part)
			return 0;
		first = i ? first : find_any(l, part);
		if (!first || first + i > l->n_fields + l->n_tail)
			return 0;
		f = &l->fields[first - 1 + i];
		if (f->size != 1 || f->bit_size || f->is_pointer || strcmp(f->name, part))
			return 0;
		if (n_parts == UINT32_MAX)
			return l->n_tail == 1 ? n_parts : 0;
	}
	return n_parts;
}
