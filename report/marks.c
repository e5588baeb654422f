// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/marks.h"

#define MARKS_MAX 32

struct marking {
	struct fl_fields *fields;
	fl_marks *ret;
	size_t first; ///< of this violation's
	struct err *err;
};

static void add(struct marking *m, struct hg_node_id node, uint64_t field)
{
	for (size_t i = m->first; i < m->ret->size; i++)
		if (m->ret->data[i].node.v == node.v && m->ret->data[i].field == field)
			return;
	if (!m->err && m->ret->size - m->first < MARKS_MAX)
		m->err = vec_add(m->ret, (struct fl_mark){ node, field });
}

/* @p of_pointers: only these. */
static void add_bytes(struct marking *m, struct hg_node_id node, uint64_t from,
		      uint64_t to, bool of_pointers)
{
	uint64_t i = 0, end = 0;
	struct dec_field f;
	char name[8];

	if (!report_name_type(m->fields->n, node, NULL))
		return;
	if (!m->err)
		m->err = report_fields_between(m->fields, node, from, to, &i, &end);
	for (; !m->err && i < end; i++)
		if (report_name_field(m->fields->n, node, i, &f, name, sizeof(name)) &&
		    f.offset < to && f.offset + f.size > from &&
		    (f.is_pointer || !of_pointers))
			add(m, node, i);
}

static void add_pointer(void *ctx, uint32_t owner, uint64_t offset)
{
	add_bytes(ctx, (struct hg_node_id){ owner }, offset, offset + 8, true);
}

struct err *report_marks_add(struct fl_fields *fields, struct spec_eval *e,
			     const struct spec_violation *v, fl_marks *ret)
{
	struct marking m = { .fields = fields, .ret = ret, .first = ret->size };
	struct spec_args args = {};
	bool has_any;

	m.err = spec_args(e, v->constraint, &v->binding, &args);
	has_any = args.reads.size;
	for (size_t i = 0; !m.err && i < args.reads.size; i++)
		add_bytes(&m, args.reads.data[i].node, args.reads.data[i].offset,
			  args.reads.data[i].offset + args.reads.data[i].size, false);
	for (size_t i = 0; !m.err && i < args.deps.size; i++) {
		struct err *err = NULL;

		if (args.deps.data[i].kind != SPEC_DEP_INTO)
			continue;
		has_any = true;
		err = spec_pointers(e, args.deps.data[i].node, add_pointer, &m);
		m.err = m.err ? m.err : err;
	}
	for (size_t i = 0; !has_any && !m.err && i < SPEC_MAX_VARS; i++)
		if (v->binding.node[i].v)
			add_bytes(&m, v->binding.node[i], 0, UINT64_MAX, true);
	spec_args_deinit(&args);
	return m.err;
}
