// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "specdsl/spec_pointers.h"

#include <stdlib.h>

#include "specdsl/spec_ast.h"

// The pointers among fields @p from up to @p to, from 0.
static void add_pointers(const struct spec_type *t, uint32_t from, uint32_t to,
			 struct pointers *ret)
{
	for (uint32_t i = from; i < to; i++) {
		struct dec_field f;

		if (spec_field_at(t, i + 1, &f) && f.is_pointer &&
		    f.size == POINTER_BYTES)
			ret->offsets[ret->n_offsets++] = f.offset;
	}
}

struct err *spec_pointers_make(const struct spec_type *t, struct pointers *ret)
{
	const struct dec_struct *l = t->layout;
	uint32_t n = l ? l->n_fields : t->is_array ? 0 : t->n_fields;
	uint32_t n_tail = l && !t->is_array ? l->n_tail : 0;

	if (t->is_array && l && !l->size)
		return NULL; // an array of an incomplete struct: no pointers known
	ret->offsets = calloc(n + n_tail + 1, sizeof(*ret->offsets));
	if (!ret->offsets)
		return &err_nomem;
	add_pointers(t, 0, n, ret);
	if (t->is_array) {
		ret->element_bytes = l ? l->size : 0;
		return NULL;
	}
	ret->n_once = ret->n_offsets;
	add_pointers(t, n, n + n_tail, ret);
	if (ret->n_offsets > ret->n_once) {
		ret->element_bytes = l->tail_bytes;
		ret->first_element = l->tail_offset;
	}
	return NULL;
}

void spec_pointers_deinit(struct pointers *p)
{
	free(p->offsets);
}

uint64_t spec_pointers_offset(const struct pointers *p, uint64_t slot)
{
	uint32_t n = p->n_offsets - p->n_once;

	if (slot < p->n_offsets)
		return p->offsets[slot];
	slot -= p->n_once;
	return slot / n * p->element_bytes + p->offsets[p->n_once + slot % n];
}

uint64_t spec_pointers_count(const struct pointers *p, uint64_t bytes)
{
	uint64_t n = p->n_offsets - p->n_once;

	if (!n || !p->element_bytes || bytes < p->first_element)
		return p->n_once;
	return p->n_once + (bytes - p->first_element) / p->element_bytes * n;
}

void spec_pointers_range(const struct pointers *p, uint64_t offset, uint32_t size,
			 uint64_t *first, uint64_t *end)
{
	uint32_t n = p->n_offsets - p->n_once;

	*first = 0;
	*end = p->n_once;
	if (!n || !p->element_bytes || offset + size <= p->first_element)
		return;
	if (offset >= p->first_element)
		*first = p->n_once + (offset - p->first_element) / p->element_bytes * n;
	offset += size - 1;
	*end = p->n_once + ((offset - p->first_element) / p->element_bytes + 1) * n;
}
