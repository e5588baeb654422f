// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/fields.h"

/** A field, and those before and behind it. Both go forward with the number. */
struct reach {
	uint64_t end;	///< the furthest of it and all before it
	uint64_t start; ///< the nearest of it and all behind it
};

struct fl_fields_of {
	uint64_t most_bytes;	 ///< that a node may have for what is in reach
	VEC(struct reach) reach; ///< of such a node's fields
};

struct err *report_fields_init(struct fl_fields *f, const struct fl_namer *n)
{
	f->n = n;
	f->types = calloc(spec_types(n->spec) + 1, sizeof(*f->types));
	return f->types ? NULL : &err_nomem;
}

void report_fields_deinit(struct fl_fields *f)
{
	for (size_t i = 0; f->types && i < spec_types(f->n->spec); i++)
		vec_deinit(&f->types[i].reach);
	free(f->types);
}

/* For nodes of @p bytes, and twice as large ones: so it is seldom. */
static struct err *measure(const struct fl_fields *f, size_t type, uint64_t bytes)
{
	struct fl_fields_of *of = &f->types[type];
	uint64_t end = 0, start = UINT64_MAX;
	struct err *err = NULL;
	struct dec_field at;

	of->most_bytes = 2 * bytes;
	of->reach.size = 0;
	for (uint64_t i = 1; !err && spec_type_field(f->n->spec, type, i, &at) &&
			     at.offset + at.size <= of->most_bytes;
	     i++) {
		if (at.offset + at.size > end)
			end = at.offset + at.size;
		err = vec_add(&of->reach, (struct reach){ end, at.offset });
	}
	for (size_t i = of->reach.size; i--;) {
		if (of->reach.data[i].start < start)
			start = of->reach.data[i].start;
		of->reach.data[i].start = start;
	}
	return err;
}

struct err *report_fields_between(struct fl_fields *f, struct hg_node_id id,
				  uint64_t from, uint64_t to, uint64_t *first,
				  uint64_t *end)
{
	uint64_t bytes = hg_graph_node(f->n->graph, id)->size, fit;
	const struct reach *r;
	struct err *err = NULL;
	size_t type, n;

	*first = *end = 1;
	if (!report_name_type(f->n, id, &type))
		return NULL;
	if (bytes > f->types[type].most_bytes)
		err = measure(f, type, bytes);
	r = f->types[type].reach.data;
	n = f->types[type].reach.size;
	// A node has the fields before the first one that it has no room for.
	fit = vec_rank(n, i, r[i].end <= bytes);
	*first = 1 + vec_rank(n, i, r[i].end <= from);
	*end = 1 + vec_rank(fit, i, r[i].start < to);
	return err;
}
