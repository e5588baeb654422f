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

/* A constant, or what is not the function's own: it fits more rarely by more than chance. */
static unsigned is_global(const struct rp_program *p, const struct rp_ref *r)
{
	return r->var == RP_NONE || p->variables.data[r->var].function == RP_NONE;
}

/* Each `d = a' of @p type, in the place of @p e. */
static struct err *insert_type(const struct rp_program *p, const struct rp_edit *e,
			       int type, fl_rp_change *each, void *ctx)
{
	rp_refs to = {}, from = {};
	struct err *err = fl_rp_changes_refs(p, e->now.function, RP_NONE, type,
					     e->now.at.from, false, &to);

	if (!err)
		err = fl_rp_changes_refs(p, e->now.function, RP_NONE, type,
					 e->now.at.from, true, &from);
	for (size_t i = 0; !err && i < to.size; i++)
		for (size_t k = 0; k < from.size; k++) {
			struct rp_edit new = *e;

			new.now.type = type;
			new.now.dst = to.data[i];
			new.now.a = from.data[k];
			each(ctx, new,
			     8 + is_global(p, &to.data[i]) +
				     2 * is_global(p, &from.data[k]));
		}
	vec_deinit(&to);
	vec_deinit(&from);
	return err;
}

static struct err *insert(const struct rp_program *p, int function,
			  const struct rp_block *b, size_t index, fl_rp_change *each,
			  void *ctx)
{
	const struct rp_statement *s = index < b->list.size ? b->list.data[index] : NULL;
	struct rp_edit e = { .kind = RP_EDIT_INSERT,
			     .op = RP_NONE,
			     .block = b->id,
			     .index = (int)index,
			     .now = { .kind = RP_ASSIGN,
				      .function = function,
				      .line = s ? s->line : 0,
				      .is_inserted = true } };
	struct err *err = NULL;

	e.now.at.from = e.now.at.to = s ? s->at.from : b->at.to - 1;
	for (int type = RP_INT; !err && type < (int)p->records.size; type++)
		err = insert_type(p, &e, type, each, ctx);
	return err;
}

static struct err *insert_all(const struct rp_program *p, int function,
			      const struct rp_block *b, fl_rp_change *each, void *ctx)
{
	struct err *err = NULL;

	for (size_t i = 0; b && !err && i <= b->list.size; i++) {
		enum rp_shape before = i ? b->list.data[i - 1]->shape : RP_OPS;
		bool is_in_for = i && i < b->list.size &&
				 b->list.data[i - 1]->at.from >= b->list.data[i]->at.from;

		if (b->is_braced && !is_in_for && before != RP_BREAK &&
		    before != RP_CONTINUE && before != RP_RETURN)
			err = insert(p, function, b, i, each, ctx);
		if (err || i == b->list.size)
			break;
		err = insert_all(p, function, b->list.data[i]->body, each, ctx);
		if (!err)
			err = insert_all(p, function, b->list.data[i]->otherwise, each,
					 ctx);
	}
	return err;
}

struct err *fl_rp_insertions_each(const struct rp_program *p, int function,
				  fl_rp_change *each, void *ctx)
{
	return insert_all(p, function, p->functions.data[function].body, each, ctx);
}
