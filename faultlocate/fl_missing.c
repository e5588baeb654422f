// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_missing.h"

#include <string.h>

#include "faultlocate/fl_usual.h"
#include "faultlocate/fl_whatif.h"

#define ERRORS_MAX 1000 // with more a constraint is wrong, or there is no telling
#define SPAN_MAX 4096	// operations looked at around what made a store necessary
#define NODES_MAX 48	// whose fields may be what is missing
#define FIELDS_MAX 512
#define VALUES_MAX 20000
#define ROUNDS_MAX 64 // stores missing one after the other
#define ROUND_NODES_MAX 4000000
#define KEPT_OF_TEN 8 // so often the other times, it is the rule

/** A field that may be what is missing. */
struct field {
	struct hg_node_id node;
	struct dec_field at;
	uint64_t last_op;
	uint64_t shape;	 ///< fl_field_shape()
	bool is_written; ///< in the operation on the structure: it is not missing
	bool is_again;	 ///< .. as it was before
};

/** Why a value is tried. */
enum reason { WHY_POINTER, WHY_FREED, WHY_EQUATION, WHY_OTHER };

struct search {
	const struct fl_missing_query *q;
	const struct fl_traceback *t;
	struct hg_view *view; ///< the C-point
	struct spec_eval *eval;
	struct fl_whatif whatif;
	spec_violations errors;		    ///< that are left
	const struct spec_violation *about; ///< the one looked at
	struct spec_args args;		    ///< to its check
	struct fl_span span;		    ///< the operation on the structure
	uint64_t trigger, since;
	VEC(struct hg_node_id) nodes;
	VEC(struct field) fields;
	fl_alterations tries;
	VEC(struct {
		uint32_t field;
		enum reason why;
	})
	whys;		     ///< of tries
	VEC(uint64_t) freed; ///< pointers in nodes released in the operation
	VEC(struct fl_outcome) outcomes;
	fl_alterations made;
	fl_contributions *suspects; ///< stores that were made and may be wrong
};

static void search_deinit(struct search *s)
{
	spec_eval_destroy(s->eval);
	hg_view_destroy(s->view);
	vec_deinit(&s->errors);
	spec_args_deinit(&s->args);
	fl_span_deinit(&s->span);
	vec_deinit(&s->nodes);
	vec_deinit(&s->fields);
	vec_deinit(&s->tries);
	vec_deinit(&s->whys);
	vec_deinit(&s->freed);
	vec_deinit(&s->outcomes);
	vec_deinit(&s->made);
}

static const struct hg_node *node_of(const struct search *s, struct hg_node_id id)
{
	return hg_graph_node(s->t->graph, id);
}

/* ---- the operation on the structure ------------------------------------------------------ */

// The violation that the fewest fields were read for says the most.
static struct err *choose_about(struct search *s)
{
	size_t fewest = SIZE_MAX;
	struct err *err = NULL;

	for (size_t i = 0; i < s->errors.size && i < ROUNDS_MAX && !err; i++) {
		const struct spec_violation *v = &s->errors.data[i];

		err = spec_args(s->eval, v->constraint, &v->binding, &s->args);
		if (s->args.reads.size && s->args.reads.size < fewest) {
			fewest = s->args.reads.size;
			s->about = v;
		}
	}
	if (!s->about)
		s->about = &s->errors.data[0];
	return err ? err :
		     spec_args(s->eval, s->about->constraint, &s->about->binding,
			       &s->args);
}

// What made a store necessary: what introduced a violation last, or stored last what one is about.
static struct err *find_trigger(struct search *s)
{
	VEC(struct hg_written) w = {};
	struct err *err = NULL;
	bool has_any = false;

	for (size_t i = 0; i < s->q->found->size && !has_any; i++)
		if (s->q->found->data[i].introduces) {
			s->trigger = s->q->found->data[i].op;
			has_any = true;
		}
	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = vec_add(&w, (struct hg_written){
					  .node = s->args.reads.data[i].node,
					  .offset = s->args.reads.data[i].offset });
	if (!err)
		err = hg_view_last_writes(s->view, w.data, w.size);
	for (size_t i = 0; i < w.size && !err; i++)
		if (!has_any || w.data[i].index > s->trigger) {
			s->trigger = w.data[i].index;
			has_any = true;
		}
	vec_deinit(&w);
	return err;
}

static bool is_of(const struct search *s, size_t i, const char *function)
{
	struct dec_place p = {};

	s->q->places->place(s->q->places->ctx, s->span.ops.data[i].rip, &p);
	return p.function && function && !strcmp(p.function, function);
}

// Without a C-point before it: as long as the same statement did not run, from the first to
// the last operation of its function.
static void bound_by_repeats(struct search *s)
{
	uint64_t at = s->trigger - s->span.from, rip = s->span.ops.data[at].rip;
	struct dec_place p = {};
	size_t from = at, to = at + 1;

	s->q->places->place(s->q->places->ctx, rip, &p);
	while (from && s->span.ops.data[from - 1].rip != rip)
		from--;
	while (to < s->span.ops.size && s->span.ops.data[to].rip != rip)
		to++;
	while (p.function && from < at && !is_of(s, from, p.function))
		from++;
	while (p.function && to > at + 1 && !is_of(s, to - 1, p.function))
		to--;
	s->span.ops.size = to;
	s->since = s->span.from + from;
	memmove(s->span.ops.data, s->span.ops.data + from,
		(to - from) * sizeof(*s->span.ops.data));
	s->span.ops.size -= from;
	s->span.from += from;
}

static struct err *load_operation(struct search *s)
{
	bool is_known = s->t->since_ops < s->t->n_ops;
	uint64_t from = is_known ? s->t->since_ops : 0, to = s->t->n_ops;
	struct err *err;

	if (s->trigger < from)
		from = s->trigger;
	s->since = from;
	if (s->trigger - from > SPAN_MAX)
		from = s->trigger - SPAN_MAX;
	if (to - s->trigger > SPAN_MAX)
		to = s->trigger + SPAN_MAX;
	err = fl_span_load(s->t->graph, from, to, &s->span);
	if (!err && !is_known)
		bound_by_repeats(s);
	return err;
}

/* ---- which fields --------------------------------------------------------------------------- */

static struct err *add_node(struct search *s, struct hg_node_id id)
{
	if (!id.v || s->nodes.size >= NODES_MAX || !hg_view_is_live(s->view, id) ||
	    !node_of(s, id)->type || vec_find(&s->nodes, n, n->v == id.v))
		return NULL;
	return vec_add(&s->nodes, id);
}

static struct err *add_freed(struct search *s, const struct hg_op *op, uint64_t index)
{
	_cleanup_(hg_view_destroyp) struct hg_view *v = NULL;
	struct err *err = hg_view_create(s->t->graph, index, &v);
	struct dec_field f;
	uint64_t value;

	for (uint64_t at = 0; !err && at + 8 <= node_of(s, op->node)->size; at += 8)
		if (fl_field_at(s->t->spec, s->t->graph, op->node, at, &f) &&
		    f.is_pointer && hg_view_read(v, op->node, at, 8, &value) &&
		    s->freed.size < NODES_MAX)
			err = vec_add(&s->freed, value);
	return err;
}

struct neighbours {
	struct search *s;
	struct err *err;
};

static void add_neighbour(void *ctx, uint32_t owner, uint64_t offset)
{
	struct neighbours *n = ctx;

	(void)offset;
	if (!n->err)
		n->err = add_node(n->s, (struct hg_node_id){ owner });
}

// What leads where the operation made something lead: it may have been to lead elsewhere.
static struct err *add_neighbours(struct search *s)
{
	struct neighbours n = { .s = s };
	struct err *err = NULL;

	for (size_t i = 0; i < s->span.ops.size && s->nodes.size < NODES_MAX && !err;
	     i++) {
		const struct hg_op *op = &s->span.ops.data[i];
		struct hg_node_id to = {};

		if (op->kind == HG_OP_STORE && op->size == 8)
			to = hg_view_find(s->view, op->after);
		if (to.v && node_of(s, to)->type)
			err = spec_pointers(s->eval, to, add_neighbour, &n);
	}
	return err ? err : n.err;
}

// Those of the violation, then those that the operation touched, the nearest to the trigger
// first.
static struct err *find_nodes(struct search *s)
{
	size_t at = s->trigger - s->span.from, n = s->span.ops.size;
	struct err *err = NULL;

	for (size_t i = 0; i < SPEC_MAX_VARS && !err; i++)
		err = add_node(s, s->about->binding.node[i]);
	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = add_node(s, s->args.reads.data[i].node);
	for (size_t i = 0; i < 2 * n && !err; i++) {
		size_t k = i % 2 ? at + 1 + i / 2 : at - i / 2;
		const struct hg_op *op;

		if (i % 2 ? k >= n : i / 2 > at)
			continue;
		op = &s->span.ops.data[k];
		if (op->kind == HG_OP_FREE && node_of(s, op->node)->type)
			err = add_freed(s, op, s->span.from + k);
		else
			err = add_node(s, op->node);
		if (!err && op->kind == HG_OP_STORE && op->size == 8)
			err = add_node(s, hg_view_find(s->view, op->after));
		if (!err && op->kind == HG_OP_STORE && op->size == 8)
			err = add_node(s, hg_view_find(s->view, op->before));
	}
	return err ? err : add_neighbours(s);
}

static struct err *add_field(struct search *s, struct hg_node_id node, uint64_t offset)
{
	struct field f = { .node = node };

	if (s->fields.size >= FIELDS_MAX || !hg_view_is_live(s->view, node) ||
	    !vec_find(&s->nodes, n, n->v == node.v) ||
	    !fl_field_at(s->t->spec, s->t->graph, node, offset, &f.at) || !f.at.size ||
	    f.at.size > 8 || f.at.bit_size || f.at.is_float ||
	    f.at.offset + f.at.size > node_of(s, node)->size ||
	    vec_find(&s->fields, k, k->node.v == node.v && k->at.offset == f.at.offset))
		return NULL;
	f.shape = fl_field_shape(s->t->spec, s->t->graph, node, f.at.offset);
	return vec_add(&s->fields, f);
}

// Which of them the operation wrote.
static struct err *find_writers(struct search *s)
{
	VEC(struct hg_written) w = {};
	struct err *err = NULL;

	for (size_t i = 0; i < s->fields.size && !err; i++)
		err = vec_add(
			&w, (struct hg_written){ .node = s->fields.data[i].node,
						 .offset = s->fields.data[i].at.offset });
	if (!err)
		err = hg_view_last_writes(s->view, w.data, w.size);
	for (size_t i = 0; i < w.size && !err; i++) {
		struct field *f = &s->fields.data[i];
		struct hg_op op = hg_graph_op(s->t->graph, w.data[i].index);

		f->last_op = w.data[i].index;
		f->is_written = op.kind == HG_OP_STORE && f->last_op >= s->since;
		f->is_again = op.kind == HG_OP_STORE && op.before == op.after &&
			      (f->is_written || s->t->since_ops >= s->t->n_ops);
	}
	vec_deinit(&w);
	return err;
}

static bool is_counted(const struct spec_args *a)
{
	return vec_find(&a->args, x, x->is_derived) != NULL;
}

// What was read for the violation, and where pointers were counted or followed any pointer.
static struct err *find_fields(struct search *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->args.reads.size && !err; i++)
		err = add_field(s, s->args.reads.data[i].node,
				s->args.reads.data[i].offset);
	for (size_t i = 0; is_counted(&s->args) && i < s->nodes.size && !err; i++) {
		struct hg_node_id id = s->nodes.data[i];
		struct dec_field f;

		for (uint64_t at = 0; at + 8 <= node_of(s, id)->size && !err &&
				      s->fields.size < FIELDS_MAX;
		     at += 8)
			if (fl_field_at(s->t->spec, s->t->graph, id, at, &f) &&
			    f.is_pointer)
				err = add_field(s, id, at);
	}
	return err ? err : find_writers(s);
}

/* ---- which values --------------------------------------------------------------------------- */

static struct err *add_try(struct search *s, uint32_t field, uint64_t value,
			   enum reason why)
{
	const struct field *f = &s->fields.data[field];
	uint64_t mask = f->at.size < 8 ? (UINT64_C(1) << 8 * f->at.size) - 1 : UINT64_MAX;
	uint64_t now = 0;
	struct fl_alteration x = { f->node, f->at.offset, f->at.size, value & mask };
	struct err *err;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	if (x.value == now || s->tries.size >= VALUES_MAX ||
	    vec_find(&s->tries, t,
		     t->node.v == x.node.v && t->offset == x.offset &&
			     t->value == x.value))
		return NULL;
	err = vec_add(&s->tries, x);
	if (err)
		return err;
	{
		__auto_type slot = vec_push(&s->whys);

		if (!slot)
			return &err_nomem;
		slot->field = field;
		slot->why = why;
	}
	return NULL;
}

// Pointers of this field that lead into nodes lead so far into them.
static uint64_t usual_offset(const struct search *s, const struct field *f)
{
	uint32_t type = node_of(s, f->node)->type;
	struct hg_node_id id = { 0 }, to;
	uint64_t value;

	while ((id = hg_view_next(s->view, type, id)).v) {
		if (!hg_view_read(s->view, id, f->at.offset, 8, &value))
			continue;
		to = hg_view_find(s->view, value);
		if (to.v)
			return value - node_of(s, to)->start;
	}
	return 0;
}

// A pointer to one declared type does not lead to a node of another.
static bool may_lead_to(const struct search *s, const struct field *f,
			struct hg_node_id to)
{
	int type = f->at.points_to ? spec_type_find(s->t->spec, f->at.points_to) : -1;

	return type < 0 || node_of(s, to)->type == (uint32_t)type + 1;
}

static struct err *try_pointers(struct search *s, uint32_t field)
{
	const struct field *f = &s->fields.data[field];
	uint64_t offset = usual_offset(s, f);
	struct err *err = NULL;

	// The first reason counts.
	for (size_t i = 0; i < s->freed.size && !err; i++)
		err = add_try(s, field, s->freed.data[i], WHY_FREED);
	for (size_t i = 0; i < s->nodes.size && !err; i++) {
		uint64_t start = node_of(s, s->nodes.data[i])->start;

		if (!may_lead_to(s, f, s->nodes.data[i]))
			continue;
		err = add_try(s, field, start + offset, WHY_POINTER);
		if (!err)
			err = add_try(s, field, start, WHY_POINTER);
	}
	return err ? err : add_try(s, field, 0, WHY_POINTER);
}

static struct err *try_numbers(struct search *s, uint32_t field)
{
	const struct field *f = &s->fields.data[field];
	uint64_t now = 0;
	struct err *err = NULL;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	for (size_t i = 0; i < s->args.gaps.size && !err; i++) {
		struct spec_gap g = s->args.gaps.data[i];
		uint64_t gap = (uint64_t)g.gap;
		enum reason why = g.is_equality ? WHY_EQUATION : WHY_OTHER;
		const uint64_t values[] = { now + gap,	   now - gap,	  now + gap + 1,
					    now + gap - 1, now - gap + 1, now - gap - 1 };

		for (size_t k = 0; k < (g.is_equality ? 2 : 6) && !err; k++)
			err = add_try(s, field, values[k], why);
	}
	for (uint64_t value = 0; value < 2 && !err; value++)
		err = add_try(s, field, value, WHY_OTHER);
	return err;
}

static struct err *find_tries(struct search *s)
{
	struct err *err = NULL;

	s->tries.size = s->whys.size = 0;
	for (size_t i = 0; i < s->fields.size && !err; i++) {
		const struct field *f = &s->fields.data[i];

		err = f->at.is_pointer && f->at.size == 8 ? try_pointers(s, i) :
							    try_numbers(s, i);
	}
	return err;
}

static struct err *try_all(struct search *s)
{
	if (vec_reserve(&s->outcomes, s->tries.size + 1))
		return &err_nomem;
	return fl_whatif_try(&s->whatif, &s->made, s->tries.data, s->tries.size,
			     s->outcomes.data, NULL);
}

/* ---- is it the one? ------------------------------------------------------------------------- */

static struct fl_usual usual_of(const struct search *s)
{
	return (struct fl_usual){ .spec = s->t->spec,
				  .view = s->view,
				  .graph = s->t->graph,
				  .places = s->q->places,
				  .errors = &s->errors,
				  .span = &s->span,
				  .trigger = s->trigger,
				  .since = s->t->since_ops };
}

// Nobody stored the field since the node was allocated.
static bool is_never_written(const struct search *s, const struct field *f)
{
	return hg_graph_op(s->t->graph, f->last_op).kind == HG_OP_ALLOC;
}

static bool is_born_in_operation(const struct search *s, struct hg_node_id id)
{
	return s->span.ops.size && node_of(s, id)->born >= s->span.ops.data[0].time;
}

static struct err *add_suspect(struct search *s, uint64_t op, struct fl_contribution c)
{
	c.op = op;
	return vec_find(s->suspects, k, k->op == op) ? NULL : vec_add(s->suspects, c);
}

// Would the same pointer, or any number, in the same field of another such node, where the
// operation did store, do as well? Then that store went wrong.
static const struct field *find_wrong(const struct search *s, const struct field *f,
				      uint64_t due)
{
	for (size_t i = 0; i < s->tries.size; i++) {
		const struct field *k = &s->fields.data[s->whys.data[i].field];

		if (k->is_written && k->shape == f->shape &&
		    (!f->at.is_pointer || (s->tries.data[i].value == due &&
					   hg_view_find(s->view, due).v != k->node.v)) &&
		    !s->outcomes.data[i].n_left &&
		    is_born_in_operation(s, k->node) == is_born_in_operation(s, f->node))
			return k;
	}
	return NULL;
}

static bool is_self(const struct search *s, const struct fl_missing *m)
{
	return m->size == 8 && hg_view_find(s->view, m->due).v == m->node.v;
}

// Does it hold what the operation stored in the same field of a node that it made? So it is where
// that node is about to be put: n->next = p->next, and p->next = n is due.
static bool is_gap(const struct search *s, const struct field *f, uint64_t due)
{
	uint32_t to = hg_view_find(s->view, due).v;
	uint64_t now = 0;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	for (size_t i = 0; now && i < s->span.ops.size; i++) {
		const struct hg_op *op = &s->span.ops.data[i];

		if (op->kind == HG_OP_STORE && op->after == now && op->node.v == to &&
		    node_of(s, op->node)->type == node_of(s, f->node)->type &&
		    op->addr - node_of(s, op->node)->start == f->at.offset &&
		    is_born_in_operation(s, op->node))
			return true;
	}
	return false;
}

// How sure is it that try i is what was missing? 0: it is not.
static struct err *judge(struct search *s, size_t i, struct fl_missing *m, int *sure)
{
	const struct field *f = &s->fields.data[s->whys.data[i].field];
	const struct fl_outcome *o = &s->outcomes.data[i];
	enum reason why = s->whys.data[i].why;
	struct fl_usual u = usual_of(s);
	const struct field *wrong;
	bool is_misled = false;
	struct err *err;

	*sure = 0;
	*m = (struct fl_missing){ .graph = s->t->graph,
				  .node = f->node,
				  .offset = f->at.offset,
				  .size = f->at.size,
				  .due = s->tries.data[i].value,
				  .last_op = f->last_op,
				  .trigger = s->trigger };
	// That there is nothing to ask for any more is no repair, but where it was cut out.
	if (!o->is_mended && why != WHY_FREED)
		return NULL;
	wrong = find_wrong(s, f, m->due);
	if (wrong)
		return add_suspect(s, wrong->last_op,
				   (struct fl_contribution){ .n_ready = 1 });
	err = fl_usual_find(&u, m, &is_misled);
	if (err || is_misled)
		return err;
	// What is cut out of nothing needs no store, and counts as a time without.
	if (m->n_kept && (why == WHY_FREED || m->n_kept * 10 >= m->n_calls * KEPT_OF_TEN))
		*sure = m->is_related || why != WHY_OTHER ? 8 : 0;
	else if (!m->n_calls && why != WHY_OTHER && !is_self(s, m))
		*sure = 4;
	if (*sure)
		*sure += is_never_written(s, f) + 2 * is_gap(s, f, m->due);
	return NULL;
}

// The surest of those that leave nothing violated; else of those that leave less. One value of
// a field is judged, the first that mends.
static struct err *choose(struct search *s, bool is_whole, struct fl_missing *ret,
			  int *best)
{
	struct err *err = NULL;

	*best = 0;
	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct fl_outcome *o = &s->outcomes.data[i];
		const struct field *f = &s->fields.data[s->whys.data[i].field];
		struct fl_missing m;
		int sure;

		if (f->is_written || o->n_new || o->n_left >= s->errors.size ||
		    (is_whole && o->n_left) || (!is_whole && !o->is_mended))
			continue;
		err = judge(s, i, &m, &sure);
		if (!err && sure > *best) {
			*best = sure;
			*ret = m;
		}
	}
	return err;
}

/* ---- one after the other ---------------------------------------------------------------------- */

static struct err *prepare(struct search *s)
{
	struct err *err;

	s->about = NULL;
	s->nodes.size = s->fields.size = s->freed.size = 0;
	fl_span_deinit(&s->span);
	err = choose_about(s);
	if (!err)
		err = find_trigger(s);
	if (!err)
		err = load_operation(s);
	if (!err)
		err = find_nodes(s);
	if (!err)
		err = spec_args_deep(s->eval, s->about->constraint, &s->about->binding,
				     &s->args);
	return err ? err : find_fields(s);
}

// The violations that are left when all of s->made is done.
static struct err *check_left(struct search *s)
{
	s->errors.size = 0;
	return fl_whatif_try(&s->whatif, &s->made, NULL, 0, NULL, &s->errors);
}

// m leaves others, of which stores to the same field of other nodes leave none.
static struct err *follow(struct search *s, struct fl_missing *m, bool *is_found)
{
	uint64_t shape = fl_field_shape(s->t->spec, s->t->graph, m->node, m->offset);
	const struct field *f;
	struct err *err = vec_add(&s->made, (struct fl_alteration){ m->node, m->offset,
								    m->size, m->due });
	uint32_t n_max = ROUND_NODES_MAX / (hg_graph_nodes(s->t->graph) + 1) + 1;

	for (uint32_t round = 0; !err; round++) {
		size_t i;

		err = check_left(s);
		if (err || !s->errors.size || round == ROUNDS_MAX || round == n_max) {
			*is_found = !err;
			m->n_more = round + (s->errors.size ? s->errors.size : 0);
			return err;
		}
		err = prepare(s);
		if (!err)
			err = find_tries(s);
		if (!err)
			err = try_all(s);
		for (i = 0; i < s->tries.size && !err; i++) {
			f = &s->fields.data[s->whys.data[i].field];
			if (s->outcomes.data[i].is_mended && !s->outcomes.data[i].n_new &&
			    s->outcomes.data[i].n_left < s->errors.size &&
			    !f->is_written && f->shape == shape)
				break;
		}
		if (err || i == s->tries.size)
			return err;
		err = vec_add(&s->made, s->tries.data[i]);
	}
	return err;
}

// What stored a field as it was and had better stored something else.
static struct err *tell_again(struct search *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct field *f = &s->fields.data[s->whys.data[i].field];

		if (f->is_again && !s->outcomes.data[i].n_left &&
		    s->outcomes.data[i].is_mended)
			err = add_suspect(s, f->last_op,
					  (struct fl_contribution){ .n_same = 1 });
	}
	return err;
}

struct err *fl_missing_find(const struct fl_missing_query *q, struct fl_missing *ret,
			    bool *is_found, fl_contributions *suspects)
{
	_cleanup_(search_deinit) struct search s = { .q = q,
						     .t = q->trace,
						     .suspects = suspects };
	struct err *err;
	int sure = 0;

	*is_found = false;
	if (!s.t->n_errors || s.t->n_errors > ERRORS_MAX)
		return NULL;
	err = hg_view_create(s.t->graph, s.t->n_ops, &s.view);
	s.whatif = (struct fl_whatif){ s.t->spec, s.view, s.t->graph, s.t->is_checked };
	if (err || !fl_whatif_is_feasible(&s.whatif))
		return err;
	err = spec_eval_create(s.t->spec, s.t->graph, s.view, &s.eval);
	if (!err)
		err = check_left(&s);
	if (!err && !s.errors.size)
		return NULL;
	if (!err)
		err = prepare(&s);
	if (!err)
		err = find_tries(&s);
	if (!err)
		err = try_all(&s);
	if (!err)
		err = tell_again(&s);
	if (!err)
		err = choose(&s, true, ret, &sure);
	*is_found = !err && sure;
	if (err || sure)
		return err;
	err = choose(&s, false, ret, &sure);
	return err || !sure ? err : follow(&s, ret, is_found);
}

struct err *fl_missing_add(fl_faults *ret, const struct fl_missing *m,
			   const struct fl_places *places)
{
	struct hg_op op = hg_graph_op(m->graph, m->trigger);
	struct fl_fault f = { .time = op.time,
			      .instances = 1 + m->n_more,
			      .graph = m->graph,
			      .op = m->trigger,
			      .missing = m };

	places->place(places->ctx, op.rip, &f.place);
	if (m->has_after)
		f.place = m->after;
	else if (m->has_before)
		f.place = m->before;
	return vec_add(ret, f);
}
