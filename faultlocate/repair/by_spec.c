// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/repair/by_spec.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "faultlocate/repair/changes.h"
#include "specdsl/specdsl.h"

enum { MOST_STEPS = 20000, FIELD_BYTES = 8, MOST_CALLS = 64 };
#define BASE 0x10000ul

/* What the program left of all calls, one behind the other. */
struct ending {
	VEC(int64_t) values;
	unsigned n_violations, n_calls;
	bool has_crashed;
};

struct trial {
	struct rp_by_spec *b;
	struct spec *spec;
	struct arena arena;
	bool *executed; ///< one an operation, by the program as it is
	bool is_first;
	int depth; ///< calls of the function in each other
	struct ending *end;
	struct ending original;
	unsigned best; ///< cost of the best so far
	struct rp_patch *patch;
	double start;
	struct err *err;
};

/* ---- the specification ----------------------------------------------------------------------------- */

static const char *tag_of(const struct rp_record *r)
{
	return strncmp(r->name, "struct ", 7) ? r->name : r->name + 7;
}

/* As if each field had 8 bytes: values are this room's, not the program's. */
static const struct dec_struct *layout_of(struct trial *t, const struct rp_record *r)
{
	struct dec_struct *s = arena_alloc(&t->arena, sizeof(*s));
	struct dec_field *f = arena_alloc(&t->arena, (r->fields.size + 1) * sizeof(*f));

	if (!s || !f)
		return NULL;
	for (size_t k = 0; k < r->fields.size; k++) {
		int type = r->fields.data[k].type;

		f[k].name = r->fields.data[k].name;
		f[k].offset = (uint32_t)k * FIELD_BYTES;
		f[k].size = FIELD_BYTES;
		f[k].is_signed = type == RP_INT;
		f[k].is_pointer = type >= 0;
		if (type >= 0)
			f[k].points_to = tag_of(&t->b->p->records.data[type]);
	}
	s->name = tag_of(r);
	s->size = (uint32_t)r->fields.size * FIELD_BYTES;
	s->fields = f;
	s->n_fields = (uint32_t)r->fields.size;
	return s;
}

static struct err *bind(struct trial *t, size_t type)
{
	const char *name = spec_type(t->spec, type)->name;
	const struct dec_struct *layout;

	for (size_t i = 0; i < t->b->p->records.size; i++) {
		if (strcmp(tag_of(&t->b->p->records.data[i]), name))
			continue;
		layout = layout_of(t, &t->b->p->records.data[i]);
		return layout ? spec_bind_type(t->spec, type, layout) : &err_nomem;
	}
	return spec_bind_nothing(t->spec, type, "the source has no such struct", NULL);
}

static struct err *read_spec(struct trial *t)
{
	struct err *err = spec_create(&t->spec);

	if (!err)
		err = spec_add_file(t->spec, t->b->spec);
	if (!err && spec_roots(t->spec))
		err = err_new(
			ERR_UNSUPPORTED,
			"'%s' declares roots; a repair knows constraints of structs "
			"alone",
			t->b->spec);
	for (size_t i = 0; !err && i < spec_types(t->spec); i++)
		err = bind(t, i);
	if (!err)
		err = spec_resolve(t->spec);
	if (!err && spec_errors(t->spec)) {
		spec_diags_print(t->spec, stderr);
		err = err_new(ERR_SPEC, "'%s' has mistakes", t->b->spec);
	}
	return err;
}

/* ---- a state --------------------------------------------------------------------------------------- */

static uint64_t address(const struct rp_state *s, const struct rp_program *p, int64_t n)
{
	uint64_t at = BASE;

	for (int64_t i = 0; i + 1 < n; i++)
		at += (p->records.data[s->nodes.data[i].record].fields.size *
			       FIELD_BYTES +
		       63) &
		      ~31ul;
	return at;
}

static struct err *add_nodes(struct trial *t, const struct rp_state *s,
			     struct hg_graph *g, uint64_t *time)
{
	const struct rp_program *p = t->b->p;
	struct err *err = NULL;

	for (size_t i = 0; i < s->nodes.size && !err; i++) {
		const struct rp_record *r = &p->records.data[s->nodes.data[i].record];
		struct hg_node_id id;

		if (s->nodes.data[i].is_freed)
			continue;
		err = hg_graph_alloc(g, ++*time, address(s, p, (int64_t)i + 1),
				     r->fields.size * FIELD_BYTES, 1, NULL, &id);
		if (!err)
			hg_graph_set_type(
				g, id,
				(uint32_t)(spec_type_find(t->spec, tag_of(r)) + 1));
	}
	return err;
}

static struct err *add_fields(struct trial *t, const struct rp_state *s,
			      struct hg_graph *g, uint64_t *time)
{
	const struct rp_program *p = t->b->p;
	struct err *err = NULL;

	for (size_t i = 0; i < s->nodes.size && !err; i++) {
		const struct rp_node *n = &s->nodes.data[i];
		const struct rp_record *r = &p->records.data[n->record];

		for (size_t k = 0; k < r->fields.size && !n->is_freed && !err; k++) {
			uint64_t value = (uint64_t)n->fields[k];

			if (n->fields[k] == RP_UNKNOWN)
				continue;
			if (r->fields.data[k].type >= 0 && value)
				value = address(s, p, n->fields[k]);
			err = hg_graph_store(g, ++*time,
					     address(s, p, (int64_t)i + 1) +
						     k * FIELD_BYTES,
					     FIELD_BYTES, &value, 1);
		}
	}
	return err;
}

static struct err *count(struct trial *t, const struct hg_graph *g, unsigned *ret)
{
	struct hg_view *v = NULL;
	struct spec_eval *e = NULL;
	spec_violations found = {};
	struct err *err = hg_view_create(g, hg_graph_ops(g), &v);

	if (!err)
		err = spec_eval_create(t->spec, g, v, &e);
	if (!err)
		err = spec_check(e, 0, &found);
	*ret = (unsigned)found.size;
	if (!err && found.size && t->is_first && !t->b->first_violated[0]) {
		const struct spec_constraint *c =
			spec_constraint(t->spec, found.data[0].constraint);

		snprintf(t->b->first_violated, sizeof(t->b->first_violated),
			 "%s (line %d)", c->name, c->line);
	}
	vec_deinit(&found);
	spec_eval_destroy(e);
	hg_view_destroy(v);
	return err;
}

static struct err *judge(struct trial *t, const struct rp_state *s, unsigned *ret)
{
	struct hg_graph *g = NULL;
	uint64_t time = 0;
	struct err *err = hg_graph_create(&g);

	*ret = 0;
	if (!err)
		err = add_nodes(t, s, g, &time);
	if (!err)
		err = add_fields(t, s, g, &time);
	if (!err)
		err = count(t, g, ret);
	hg_graph_destroy(g);
	return err;
}

/* ---- executing ------------------------------------------------------------------------------------- */

static void keep(struct trial *t, const struct rp_state *s)
{
	struct ending *e = t->end;
	const struct rp_program *p = t->b->p;
	bool has_failed = false;

	for (size_t i = 0; i < p->variables.size; i++)
		if (p->variables.data[i].function == RP_NONE)
			has_failed |= vec_add(&e->values, s->globals.data[i]) != NULL;
	for (size_t i = 0; i < s->nodes.size; i++) {
		const struct rp_node *n = &s->nodes.data[i];

		has_failed |= vec_add(&e->values, n->is_freed) != NULL;
		for (size_t k = 0; k < p->records.data[n->record].fields.size; k++)
			has_failed |= vec_add(&e->values, n->fields[k]) != NULL;
	}
	if (has_failed)
		t->err = &err_nomem;
}

static void entered(struct rp_run *r, int function)
{
	struct trial *t = r->user;

	t->depth += function == t->b->function;
}

static void left(struct rp_run *r, int function)
{
	struct trial *t = r->user;
	unsigned n;

	if (function != t->b->function || --t->depth || t->err ||
	    t->end->n_calls == MOST_CALLS)
		return;
	t->end->n_calls++;
	keep(t, &r->state);
	if (t->err)
		return;
	t->err = judge(t, &r->state, &n);
	t->end->n_violations += n;
	if (n && !t->is_first)
		r->most_steps = 1; // it is none
}

static void done(struct rp_run *r, int op)
{
	struct trial *t = r->user;

	if (t->is_first)
		t->executed[op] = true;
}

static void execute(struct trial *t, struct ending *end)
{
	struct rp_by_spec *b = t->b;
	struct rp_run r = { .p = b->p,
			    .user = t,
			    .inputs = b->inputs,
			    .n_inputs = b->n_inputs,
			    .most_steps = MOST_STEPS,
			    .watch = { .entered = entered, .left = left, .done = done } };
	int function = b->first ? b->function : fl_rp_program_function(b->p, "main");
	struct err *err = b->first ? fl_rp_state_copy(&r.state, b->first, b->p) :
				     fl_rp_state_init(&r.state, b->p);

	end->values.size = 0;
	end->n_violations = end->n_calls = 0;
	t->end = end;
	t->depth = 0;
	if (!err && function == RP_NONE)
		err = err_new(ERR_NOT_FOUND, "'%s' has no main() to start from",
			      b->p->path);
	if (!err)
		end->has_crashed = fl_rp_run(&r, function) != RP_RAN;
	if (err)
		t->err = err;
	fl_rp_run_deinit(&r);
}

/* ---- patches --------------------------------------------------------------------------------------- */

static unsigned differences(const struct ending *a, const struct ending *b)
{
	size_t n = a->values.size < b->values.size ? a->values.size : b->values.size;
	unsigned differ = (unsigned)(a->values.size + b->values.size - 2 * n);

	for (size_t i = 0; i < n; i++)
		differ += a->values.data[i] != b->values.data[i];
	return differ;
}

/* @p cost: how far the edit is from what was written, below 16. */
static void attempt(void *ctx, struct rp_edit edit, unsigned cost)
{
	struct trial *t = ctx;
	struct rp_patch patch = {};
	struct ending end = {};
	bool is_right;
	char why[160];

	if (t->err || t->b->was_late)
		return;
	t->b->was_late = t->b->most_seconds &&
			 clock_now_s() - t->start > t->b->most_seconds;
	t->b->n_tried++;
	if (vec_add(&patch.edits, edit)) {
		t->err = &err_nomem;
		return;
	}
	t->err = fl_rp_patch_apply(t->b->p, &patch);
	if (!t->err)
		execute(t, &end);
	is_right = !t->err && !end.has_crashed && !end.n_violations &&
		   end.n_calls >= t->original.n_calls;
	for (size_t i = 0; is_right && i < t->b->n_also; i++)
		is_right = fl_rp_check(t->b->p, &t->b->also[i], why, sizeof(why));
	fl_rp_patch_undo(t->b->p, &patch);
	cost += 16 * differences(&t->original, &end);
	if (is_right && cost < t->best) {
		t->best = cost;
		t->patch->edits.size = 0;
		if (vec_add(&t->patch->edits, edit))
			t->err = &err_nomem;
	}
	vec_deinit(&end.values);
	fl_rp_patch_deinit(&patch);
}

static void try_all(struct trial *t)
{
	const struct rp_program *p = t->b->p;
	size_t n = p->ops.size;
	struct err *err = NULL;

	t->best = UINT32_MAX;
	for (size_t i = 0; i < n && !t->err && !err; i++) {
		const struct rp_op *op = &p->ops.data[i];

		if (op->function == t->b->function && !op->is_fixed && !op->is_removed &&
		    (op->kind == RP_ASSIGN || op->kind == RP_TEST) && t->executed[i])
			err = fl_rp_changes_each(p, (int)i, attempt, t);
	}
	// What changes more of the heap than was wrong with it rather does away with something.
	if (!err && t->best >= 16 * (t->b->n_violations + 1))
		err = fl_rp_insertions_each(p, t->b->function, attempt, t);
	if (err)
		t->err = err;
}

struct err *fl_rp_by_spec(struct rp_by_spec *b, struct rp_patch *ret)
{
	struct trial t = { .b = b, .is_first = true, .patch = ret };

	t.start = clock_now_s();
	t.executed = calloc(b->p->ops.size + 1, sizeof(bool));
	t.err = t.executed ? read_spec(&t) : &err_nomem;
	if (!t.err)
		execute(&t, &t.original);
	t.is_first = false;
	b->n_calls = t.original.n_calls;
	b->n_violations = t.original.n_violations + t.original.has_crashed;
	if (!t.err && !b->n_calls && !t.original.has_crashed)
		t.err = err_new(ERR_FORMAT, "%s() is not called",
				b->p->functions.data[b->function].name);
	if (!t.err && b->n_violations)
		try_all(&t);
	vec_deinit(&t.original.values);
	spec_destroy(t.spec);
	arena_deinit(&t.arena);
	free(t.executed);
	return t.err;
}
