// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Types and the program's structs: what a field number is in bytes, and whether the
 * specification and the debug information agree.
 */
#include <string.h>

#include "specdsl/spec_ast.h"

/** Field @p i (from 0) behind those of the struct: of its flexible array. */
static bool tail_field(const struct dec_struct *l, uint64_t i, struct dec_field *ret)
{
	uint64_t offset;

	if (!l || !l->n_tail)
		return false;
	*ret = l->fields[l->n_fields + i % l->n_tail];
	if (__builtin_mul_overflow(i / l->n_tail, (uint64_t)l->tail_bytes, &offset) ||
	    offset + ret->offset > UINT32_MAX)
		return false;
	ret->offset += offset;
	return true;
}

bool spec_field_at(const struct spec_type *t, uint64_t index, struct dec_field *ret)
{
	const struct dec_struct *l = t->layout;
	uint64_t n = l ? l->n_fields : t->n_fields;

	if (!index)
		return false;
	if (!t->is_array && index > n)
		return tail_field(l, index - 1 - n, ret);
	if (l && l->n_fields) {
		uint64_t element = (index - 1) / l->n_fields;
		uint64_t offset;

		*ret = l->fields[(index - 1) % l->n_fields];
		if (__builtin_mul_overflow(element, (uint64_t)l->size, &offset) ||
		    offset + ret->offset > UINT32_MAX)
			return false;
		ret->offset += offset;
		return true;
	}
	if (index - 1 > UINT32_MAX / t->slot_bytes)
		return false;
	*ret = (struct dec_field){ .name = "",
				   .offset = (index - 1) * t->slot_bytes,
				   .size = t->slot_bytes,
				   .is_pointer = !t->is_array && t->slot_bytes == 8,
				   .is_signed = true };
	return true;
}

bool spec_type_field(const struct spec *s, size_t type, uint64_t index,
		     struct dec_field *ret)
{
	return spec_field_at(&s->types.data[type], index, ret);
}

uint64_t spec_type_node_fields(const struct spec *s, size_t type, uint64_t node_bytes)
{
	const struct spec_type *t = &s->types.data[type];
	const struct dec_struct *l = t->layout;

	if (!t->is_array && l && l->n_tail && node_bytes > l->tail_offset)
		return l->n_fields +
		       (node_bytes - l->tail_offset) / l->tail_bytes * l->n_tail;
	if (!t->is_array)
		return l ? l->n_fields : t->n_fields;
	if (l && l->n_fields && l->size)
		return node_bytes / l->size * l->n_fields;
	return node_bytes / t->slot_bytes;
}

uint32_t spec_layout_pointers(const struct dec_struct *l, uint32_t n_fields)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < n_fields; i++)
		n += l->fields[i].is_pointer;
	return n;
}

struct err *spec_bind_type(struct spec *s, size_t type, const struct dec_struct *layout)
{
	struct spec_type *t = &s->types.data[type];
	const struct spec_type_place *place = &s->type_places.data[type];
	uint32_t n_fields = layout->n_fields, n_pointers;
	char *hint;

	// Who divides a struct's nodes by where they are allocated has types of his own.
	for (size_t i = 0; i < type && t->same_as < 0 && !t->n_sites && !t->is_array; i++)
		if (s->types.data[i].layout == layout && !s->types.data[i].n_sites &&
		    !s->types.data[i].is_array && !s->types.data[i].is_root)
			t->same_as = i;
	t->layout = layout;
	if (t->is_array)
		return NULL;
	if (!t->n_fields) {
		t->n_fields = n_fields;
		t->n_edges = spec_layout_pointers(layout, n_fields);
		return NULL;
	}
	// `next[]` may be counted as one element, or not at all.
	if (t->n_fields == n_fields + layout->n_tail)
		n_fields = t->n_fields;
	n_pointers = spec_layout_pointers(layout, n_fields);
	hint = spec_printf(s, "write '%s FIELD %u EDGE %u;'", t->name, n_fields,
			   n_pointers);
	if (!hint)
		return &err_nomem;
	if (t->n_fields != n_fields)
		spec_diag_add(
			s, place->file, place->fields, hint,
			"FIELD %u, but struct %s has %u fields (nested ones counted)",
			t->n_fields, t->name, n_fields);
	else if (t->n_edges != n_pointers)
		spec_diag_add(s, place->file, place->edges, hint,
			      "EDGE %u, but struct %s has %u pointer fields", t->n_edges,
			      t->name, n_pointers);
	return NULL;
}

struct err *spec_bind_nothing(struct spec *s, size_t type, const char *why,
			      const char *hint)
{
	struct spec_type_place *place = &s->type_places.data[type];

	place->why = spec_printf(s, "%s", why);
	place->hint = hint ? spec_printf(s, "%s", hint) : NULL;
	return !place->why || (hint && !place->hint) ? &err_nomem : NULL;
}
