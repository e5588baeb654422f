// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_span.h"

#include <string.h>

struct err *fl_span_load(const struct hg_graph *g, uint64_t from, uint64_t to,
			 struct fl_span *ret)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(g, from, &v);
	struct hg_op op;

	ret->from = from;
	while (!err && hg_view_ops(v) < to && hg_view_forward(v, &op))
		err = vec_add(&ret->ops, op);
	return err;
}

void fl_span_deinit(struct fl_span *s)
{
	vec_deinit(&s->ops);
}

// How many fields a node of the type begins with, of those that repeat in an array, and how
// many bytes they take; 0: it is no array.
static uint64_t element_of(const struct spec_type *t, uint64_t *bytes)
{
	const struct dec_struct *l = t->layout;

	*bytes = 0;
	if (!t->is_array)
		return 0;
	*bytes = l && l->n_fields ? l->size : t->slot_bytes;
	return l && l->n_fields ? l->n_fields : 1;
}

static uint64_t offset_of(const struct spec *s, uint32_t type, uint64_t i)
{
	struct dec_field f;

	return spec_type_field(s, type, i, &f) ? f.offset : UINT64_MAX;
}

// By halves: fields are in the order of their offsets. Of a union's it is the last.
static uint64_t field_number(const struct spec *s, const struct hg_node *n,
			     uint64_t offset, struct dec_field *ret)
{
	const struct spec_type *t = spec_type(s, n->type - 1);
	uint64_t bytes, per = element_of(t, &bytes), first = 0, last;

	last = spec_type_node_fields(s, n->type - 1, n->size);
	if (per && bytes) {
		first = offset / bytes * per;
		last = first + per < last ? first + per : last;
	}
	if (last < first)
		return 0;
	first += vec_rank(last - first, i,
			  offset_of(s, n->type - 1, first + i + 1) <= offset);
	if (first && spec_type_field(s, n->type - 1, first, ret) &&
	    offset >= ret->offset && offset - ret->offset < ret->size)
		return first;
	return 0;
}

bool fl_field_at(const struct spec *s, const struct hg_graph *g, struct hg_node_id node,
		 uint64_t offset, struct dec_field *ret)
{
	const struct hg_node *n = hg_graph_node(g, node);

	return n->type && n->type <= spec_types(s) && field_number(s, n, offset, ret);
}

// Is field i of the same array as the one called name?
static bool is_element(const struct spec *s, uint32_t type, uint64_t i, const char *name,
		       size_t length)
{
	struct dec_field f;

	return spec_type_field(s, type, i, &f) && f.name &&
	       !strncmp(f.name, name, length + 1) && strchr(f.name, ']');
}

uint64_t fl_field_shape(const struct spec *s, const struct hg_graph *g,
			struct hg_node_id node, uint64_t offset)
{
	const struct hg_node *n = hg_graph_node(g, node);
	struct dec_field f, first;
	uint64_t i, bytes;
	size_t length, first_of;

	if (!n->type || n->type > spec_types(s))
		return UINT64_MAX;
	i = field_number(s, n, offset, &f);
	if (!i)
		return UINT64_MAX;
	if (element_of(spec_type(s, n->type - 1), &bytes) && bytes)
		return (uint64_t)n->type << 32 | f.offset % bytes;
	length = f.name ? strcspn(f.name, "[") : 0;
	if (!length || !f.name[length])
		return (uint64_t)n->type << 32 | f.offset;
	// The elements of an array follow one another; the first that has the same behind its
	// index stands for all.
	first_of = vec_rank(i, k, !is_element(s, n->type - 1, k + 1, f.name, length));
	for (uint64_t k = first_of + 1; k < i; k++)
		if (spec_type_field(s, n->type - 1, k, &first) &&
		    !strcmp(strchr(first.name, ']'), strchr(f.name, ']')))
			return (uint64_t)n->type << 32 | first.offset;
	return (uint64_t)n->type << 32 | f.offset;
}
