// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_missing.h"

#include <string.h>

#include "faultlocate/fl_remedy.h"

#define ROUND_NODES_MAX 4000000
#define KEPT_OF_TEN 8 // so often the other times, it is the rule

/** How sure it is that a store is missing; what makes it surer comes on top. */
enum {
	SURE_MOVED = 1, ///< no other time; without it something is asked of another node
	SURE_SOLE = 2,	///< .. no other field could mend it
	SURE_NO_OTHER = 4, ///< .. it is right
	SURE_RULE = 8,	   ///< the other times have it
};

/** The surest, and of numbers another one. */
struct choice {
	struct fl_missing m[FL_MISSING_MAX];
	int sure[FL_MISSING_MAX]; ///< 0: there is none
	bool is_number; ///< what is surest follows from an equation, with others
};

/* ---- is it the one? ------------------------------------------------------------------------- */

// Nobody stored the field since the node was allocated.
static bool is_never_written(const struct fl_search *s, const struct fl_candidate *f)
{
	return hg_graph_op(s->t->graph, f->last_op).kind == HG_OP_ALLOC;
}

static bool is_born_in_operation(const struct fl_search *s, struct hg_node_id id)
{
	return s->span.ops.size &&
	       fl_search_node(s, id)->born >= s->span.ops.data[0].time;
}

static struct err *add_suspect(struct fl_search *s, uint64_t op, struct fl_contribution c)
{
	c.op = op;
	return vec_find(s->suspects, k, k->op == op) ? NULL : vec_add(s->suspects, c);
}

// Would the same pointer, or any number, in the same field of another such node, where the
// operation did store, do as well? Then that store went wrong.
static const struct fl_candidate *find_wrong(const struct fl_search *s,
					     const struct fl_candidate *f, uint64_t due)
{
	for (size_t i = 0; i < s->tries.size; i++) {
		const struct fl_candidate *k = &s->fields.data[s->whys.data[i].field];

		if (k->is_written && k->shape == f->shape &&
		    (!f->at.is_pointer || (s->tries.data[i].value == due &&
					   hg_view_find(s->view, due).v != k->node.v)) &&
		    !s->outcomes.data[i].n_left &&
		    is_born_in_operation(s, k->node) == is_born_in_operation(s, f->node))
			return k;
	}
	return NULL;
}

static bool is_self(const struct fl_search *s, const struct fl_missing *m)
{
	return m->size == 8 && hg_view_find(s->view, m->due).v == m->node.v;
}

// Does it hold what the operation stored in the same field of a node that it made? So it is where
// that node is about to be put: n->next = p->next, and p->next = n is due.
static bool is_gap(const struct fl_search *s, const struct fl_candidate *f, uint64_t due)
{
	uint32_t to = hg_view_find(s->view, due).v;
	uint64_t now = 0;

	hg_view_read(s->view, f->node, f->at.offset, f->at.size, &now);
	for (size_t i = 0; now && i < s->span.ops.size; i++) {
		const struct hg_op *op = &s->span.ops.data[i];

		if (op->kind == HG_OP_STORE && op->after == now && op->node.v == to &&
		    fl_search_node(s, op->node)->type ==
			    fl_search_node(s, f->node)->type &&
		    op->addr - fl_search_node(s, op->node)->start == f->at.offset &&
		    is_born_in_operation(s, op->node))
			return true;
	}
	return false;
}

// May a store that was made be wrong as well: what made the missing one necessary, or one to
// another field that mends as much as @p mine, by a statement that never did right before? Or two of
// numbers, that did: then they kept the balance, and it needed no third. Or one number of a
// node that there was, or the same one of another, where nobody ever changed the missing one.
static struct err *is_other_wrong(struct fl_search *s, const struct fl_candidate *f,
				  const struct fl_outcome *mine, bool *ret)
{
	const struct fl_candidate *first = NULL;
	struct err *err = NULL;
	bool is_proven = true, is_balance = false;
	bool is_constant = !f->at.is_pointer && fl_usual_is_constant(&s->usual);

	for (size_t i = 0; i < s->tries.size && is_proven && !err; i++) {
		const struct fl_candidate *k = &s->fields.data[s->whys.data[i].field];
		const struct fl_outcome *o = &s->outcomes.data[i];

		bool is_changed =
			is_constant && s->whys.data[i].why == WHY_EQUATION &&
			(k->shape == f->shape || !is_born_in_operation(s, k->node));

		if (!k->is_written || !(k->is_direct || is_changed) || !o->is_mended ||
		    o->n_new || o->n_left > mine->n_left ||
		    k->at.is_pointer != f->at.is_pointer)
			continue;
		err = fl_usual_is_proven(&s->usual, k->last_op, &is_proven);
		is_proven &= !is_changed;
		is_balance |= first && first != k && !k->at.is_pointer &&
			      s->whys.data[i].why == WHY_EQUATION;
		first = k;
	}
	*ret = !is_proven || is_balance || fl_usual_is_odd(&s->usual);
	return err;
}

// Did the operation change what leads where, or which nodes there are? What changes numbers alone makes
// nothing lead to a node.
static bool is_about_links(const struct fl_search *s)
{
	for (size_t i = 0; i < s->span.ops.size; i++) {
		const struct hg_op *op = &s->span.ops.data[i];

		if (op->kind != HG_OP_STORE || hg_view_find(s->view, op->after).v ||
		    hg_view_find(s->view, op->before).v)
			return true;
	}
	return false;
}

// Do the other times show that the store goes with what made it necessary?
static bool is_rule(const struct fl_missing *m)
{
	return m->n_kept && m->n_kept >= m->n_odd &&
	       m->n_kept * 10 >= m->n_calls * KEPT_OF_TEN;
}

// Could no other field mend it?
static bool is_sole(const struct fl_search *s, const struct fl_candidate *f)
{
	return s->sole < s->fields.size && &s->fields.data[s->sole] == f;
}

// What the other times say. That there is nothing to ask for any more is no repair by itself: only
// where it was cut out, where it is asked elsewhere now, or where the other times had it so.
static int evidence_of(const struct fl_search *s, const struct fl_candidate *f,
		       const struct fl_outcome *o, enum fl_reason why,
		       const struct fl_missing *m)
{
	bool is_silent = !m->n_calls && !m->n_odd && !is_self(s, m);
	bool is_open = is_silent && (f->is_direct || (!f->at.is_pointer && o->is_mended));
	bool has_none = is_silent && f->is_direct && why != WHY_OTHER;
	int sole = is_open && !o->is_orphaning && is_sole(s, f) ? SURE_SOLE : 0;

	if (!o->is_mended && why != WHY_FREED)
		return f->at.is_pointer && is_rule(m) && m->is_related ? SURE_RULE :
		       f->at.is_pointer && has_none && o->is_moved     ? SURE_MOVED :
									 sole;
	// What is cut out of nothing needs no store, and counts as a time without.
	if (is_rule(m) || (why == WHY_FREED && m->n_kept && m->n_kept >= m->n_odd))
		return m->is_related || why != WHY_OTHER ? SURE_RULE : sole;
	return has_none ? SURE_NO_OTHER : sole;
}

// How sure is it that try i is what was missing? 0: it is not.
static struct err *judge(struct fl_search *s, size_t i, struct fl_missing *m, int *sure)
{
	const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];
	const struct fl_outcome *o = &s->outcomes.data[i];
	enum fl_reason why = s->whys.data[i].why;
	const struct fl_candidate *wrong;
	bool is_misled = false, is_other = false, is_proven = true;
	struct err *err;

	*sure = 0;
	*m = (struct fl_missing){ .graph = s->t->graph,
				  .node = f->node,
				  .offset = f->at.offset,
				  .size = f->at.size,
				  .due = s->tries.data[i].value,
				  .last_op = f->last_op,
				  .trigger = s->trigger,
				  .is_loose = why == WHY_OTHER };
	wrong = o->is_mended || why == WHY_FREED ? find_wrong(s, f, m->due) : NULL;
	if (wrong)
		return add_suspect(s, wrong->last_op,
				   (struct fl_contribution){ .n_ready = 1 });
	err = fl_usual_find(&s->usual, why == WHY_EQUATION || is_sole(s, f), m,
			    &is_misled);
	if (err || is_misled)
		return err;
	*sure = evidence_of(s, f, o, why, m);
	if (*sure && *sure <= SURE_NO_OTHER && f->at.is_pointer && m->due &&
	    !is_about_links(s))
		*sure = 0;
	if (*sure && *sure <= SURE_NO_OTHER)
		err = is_other_wrong(s, f, o, &is_other);
	if (!err && !is_other && *sure == SURE_MOVED)
		err = fl_usual_is_proven(&s->usual, s->trigger, &is_proven);
	if (is_other || !is_proven)
		*sure = 0;
	if (*sure)
		*sure += is_never_written(s, f) + 2 * is_gap(s, f, m->due);
	return err;
}

static bool is_same_field(const struct fl_missing *a, const struct fl_missing *b)
{
	return a->node.v == b->node.v && a->offset == b->offset;
}

// Try i, so sure, is what is missing, for all that is known so far.
static void put(const struct fl_search *s, size_t i, const struct fl_missing *m, int sure,
		struct choice *ret)
{
	const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];
	bool is_number = f->is_direct && !f->at.is_pointer &&
			 s->whys.data[i].why == WHY_EQUATION;

	if (sure > ret->sure[0]) {
		if (!is_same_field(m, &ret->m[0])) {
			ret->m[1] = ret->m[0];
			ret->sure[1] = ret->is_number ? ret->sure[0] : 0;
		}
		ret->m[0] = *m;
		ret->sure[0] = sure;
		ret->is_number = is_number;
	} else if (is_number && ret->is_number && sure > ret->sure[1] &&
		   !is_same_field(m, &ret->m[0])) {
		ret->m[1] = *m;
		ret->sure[1] = sure;
	}
	if (!ret->is_number)
		ret->sure[1] = 0;
	ret->m[1].is_second = true;
}

// The surest of those that leave nothing violated; else of those that leave less. One value of
// a field is judged, the first that mends.
static struct err *choose(struct fl_search *s, bool is_whole, struct choice *ret)
{
	struct err *err = NULL;

	*ret = (struct choice){};
	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct fl_outcome *o = &s->outcomes.data[i];
		const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];
		struct fl_missing m;
		int sure;

		if (f->is_written || o->n_new || o->n_left >= s->errors.size ||
		    (is_whole && o->n_left) || (!is_whole && !o->is_mended))
			continue;
		err = judge(s, i, &m, &sure);
		if (!err && sure)
			put(s, i, &m, sure, ret);
	}
	return err;
}

/* ---- one after the other ---------------------------------------------------------------------- */

// m leaves others, of which stores to the same field of other nodes leave none.
static struct err *follow(struct fl_search *s, struct fl_missing *m, bool *is_found)
{
	uint64_t shape = fl_field_shape(s->t->spec, s->t->graph, m->node, m->offset);
	const struct fl_candidate *f;
	struct err *err = vec_add(&s->made, (struct fl_alteration){ m->node, m->offset,
								    m->size, m->due });
	uint32_t n_max = ROUND_NODES_MAX / (hg_graph_nodes(s->t->graph) + 1) + 1;

	for (uint32_t round = 0; !err; round++) {
		size_t i;

		err = fl_search_left(s);
		if (err || !s->errors.size || round == FL_ROUNDS_MAX || round == n_max) {
			*is_found = !err;
			m->n_more = round + (s->errors.size ? s->errors.size : 0);
			return err;
		}
		err = fl_search_fields(s);
		if (!err)
			err = fl_search_try(s);
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
static struct err *tell_again(struct fl_search *s)
{
	struct err *err = NULL;

	for (size_t i = 0; i < s->tries.size && !err; i++) {
		const struct fl_candidate *f = &s->fields.data[s->whys.data[i].field];

		if (f->is_again && !s->outcomes.data[i].n_left &&
		    s->outcomes.data[i].is_mended)
			err = add_suspect(s, f->last_op,
					  (struct fl_contribution){ .n_same = 1 });
	}
	return err;
}

// Would another value of what the trigger stored have mended it? Then it is about that.
static bool is_trigger_about(const struct fl_search *s)
{
	for (size_t i = 0; i < s->tries.size; i++) {
		const struct fl_candidate *k = &s->fields.data[s->whys.data[i].field];

		if (k->is_written && k->last_op == s->trigger &&
		    s->outcomes.data[i].is_mended && !s->outcomes.data[i].n_left)
			return true;
	}
	return false;
}

static struct err *search_by(struct fl_search *s, bool introduction)
{
	struct err *err;

	s->is_by_introduction = introduction;
	err = fl_search_fields(s);
	return err ? err : fl_search_try(s);
}

// What leaves nothing violated. What a store last made necessary need not be what another did that
// is about the same nodes, later: without an answer it is asked again of what introduced it.
static struct err *choose_whole(struct fl_search *s, struct choice *ret)
{
	struct err *err = choose(s, true, ret);

	if (err || ret->sure[0] || s->introduction >= s->trigger || is_trigger_about(s))
		return err;
	err = search_by(s, true);
	if (!err)
		err = choose(s, true, ret);
	return err || ret->sure[0] ? err : search_by(s, false);
}

struct err *fl_missing_find(const struct fl_missing_query *q,
			    struct fl_missing ret[FL_MISSING_MAX], size_t *n_found,
			    fl_contributions *suspects)
{
	_cleanup_(fl_search_deinit) struct fl_search s = { .q = q,
							   .t = q->trace,
							   .suspects = suspects };
	bool is_ready, is_found = false;
	struct err *err = fl_search_begin(&s, &is_ready);
	struct choice c = {};

	*n_found = 0;
	if (err || !is_ready)
		return err;
	err = tell_again(&s);
	if (!err)
		err = choose_whole(&s, &c);
	is_found = c.sure[0];
	if (!err && !is_found) {
		err = choose(&s, false, &c);
		if (!err && c.sure[0])
			err = follow(&s, &c.m[0], &is_found);
		c.sure[1] = 0;
	}
	memcpy(ret, c.m, sizeof(c.m));
	*n_found = err || !is_found ? 0 : 1 + (c.sure[1] != 0);
	return err;
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
