// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/repair/changes.h"

struct err *fl_rp_changes_refs(const struct rp_program *p, int function, int number,
			       int type, unsigned at, bool with_constants, rp_refs *ret)
{
	for (size_t i = 0; i < p->variables.size; i++) {
		const struct rp_variable *v = &p->variables.data[i];
		struct rp_ref r = { .var = (int)i, .field = RP_NONE };

		if (!fl_rp_in_scope(p, (int)i, function, at) &&
		    !fl_rp_is_loaded(p, (int)i, number))
			continue;
		if (v->type == type && vec_add(ret, r))
			return &err_nomem;
		for (size_t k = 0;
		     v->type >= 0 && k < p->records.data[v->type].fields.size; k++) {
			r.field = (int)k;
			if (p->records.data[v->type].fields.data[k].type == type &&
			    vec_add(ret, r))
				return &err_nomem;
		}
	}
	for (int64_t c = 0; with_constants && c < (type == RP_INT ? 2 : 1); c++)
		if (vec_add(ret, ((struct rp_ref){ RP_NONE, RP_NONE, c, {} })))
			return &err_nomem;
	return NULL;
}

static struct err *change_part(const struct rp_program *p, int number, int part,
			       fl_rp_change *each, void *ctx)
{
	const struct rp_op op = p->ops.data[number];
	const struct rp_ref *is[] = { &op.dst, &op.a, &op.b };
	rp_refs to = {};
	struct err *err = fl_rp_changes_refs(p, op.function, number, op.type, op.at.from,
					     part > 0, &to);

	for (size_t i = 0; !err && i < to.size; i++) {
		struct rp_edit e = { RP_EDIT_CHANGE, number, 0, 0, op, {} };
		struct rp_ref *now[] = { &e.now.dst, &e.now.a, &e.now.b };
		bool is_near = to.data[i].var == is[part]->var;

		if (is_near && to.data[i].field == is[part]->field)
			continue;
		to.data[i].at = is[part]->at;
		*now[part] = to.data[i];
		each(ctx, e, is_near ? 1 : to.data[i].var == RP_NONE ? 3 : 2);
	}
	vec_deinit(&to);
	return err;
}

struct err *fl_rp_changes_each(const struct rp_program *p, int number, fl_rp_change *each,
			       void *ctx)
{
	const struct rp_op op = p->ops.data[number];
	bool is_test = op.kind == RP_TEST;
	bool is_hidden = !is_test && p->variables.data[op.dst.var].is_hidden;
	struct err *err = NULL;

	for (enum rp_sign s = RP_EQ; is_test && s <= (op.type == RP_INT ? RP_GE : RP_NE);
	     s++) {
		struct rp_edit e = { RP_EDIT_CHANGE, number, 0, 0, op, {} };

		e.now.sign = s;
		if (s != op.sign)
			each(ctx, e, 1);
	}
	for (int part = is_test || is_hidden; !err && part < 2 + (op.sign != RP_PLAIN);
	     part++)
		err = change_part(p, number, part, each, ctx);
	if (!err && !is_test && !is_hidden && !op.is_kept)
		each(ctx, (struct rp_edit){ RP_EDIT_REMOVE, number, 0, 0, op, {} }, 4);
	return err;
}
