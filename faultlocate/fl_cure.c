// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/fl_cure.h"

// What was done longer ago is not counted.
#define PAST_MAX 1000000
// So often a statement counted up, or down, or stored the same: it always does.
#define HABIT_TIMES 3

static void cures_deinit(struct fl_cures *c)
{
	fl_search_deinit(&c->s);
	hg_view_destroy(c->before);
	map_deinit(&c->pairs);
}

struct dec_place fl_cure_place(const struct fl_cures *c, uint64_t op)
{
	struct dec_place ret = {};

	c->s.q->places->place(c->s.q->places->ctx, hg_graph_op(c->s.t->graph, op).rip,
			      &ret);
	return ret;
}

struct err *fl_cure_give(struct fl_cures *c, uint64_t op, enum fl_cure_grade grade,
			 const struct fl_alteration *x, uint32_t n_more)
{
	struct fl_contribution *k = vec_find(c->ret, e, e->op == op);
	struct hg_op o;

	if (grade < c->least)
		return NULL;
	if (!k) {
		k = vec_push(c->ret);
		if (!k)
			return &err_nomem;
		o = hg_graph_op(c->s.t->graph, op);
		*k = (struct fl_contribution){ .op = op,
					       .n_same = o.before == o.after,
					       .n_ready = o.before != o.after };
	}
	if (grade > k->cure.grade)
		k->cure = (struct fl_cure){ .grade = grade,
					    .node = x->node,
					    .offset = x->offset,
					    .size = x->size,
					    .value = x->value,
					    .n_more = n_more };
	return NULL;
}

/* ---- what becomes of the structure ------------------------------------------------------- */

// What the field that op stored to holds with the alterations.
static uint64_t altered(const struct hg_op *op, uint64_t at, uint64_t now,
			const struct fl_alteration *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (all[i].node.v == op->node.v && all[i].offset == at)
			now = all[i].value;
	return now;
}

bool fl_cure_is_void(const struct fl_cures *c, const struct fl_alteration *all, size_t n)
{
	const struct fl_search *s = &c->s;
	bool has_any = false;

	// What the operation left alone is altered.
	for (size_t i = 0; i < n; i++) {
		uint64_t before;

		if (hg_view_is_live(c->before, all[i].node) &&
		    hg_view_read(c->before, all[i].node, all[i].offset, all[i].size,
				 &before) &&
		    before != all[i].value)
			return false;
	}
	for (size_t i = 0; i < s->span.ops.size; i++) {
		const struct hg_op *op = &s->span.ops.data[i];
		uint64_t at = op->addr - fl_search_node(s, op->node)->start, then, before;
		uint64_t now;

		if (!fl_search_node(s, op->node)->type ||
		    !hg_view_is_live(c->before, op->node))
			continue;
		if (op->kind != HG_OP_STORE)
			return false;
		if (!hg_view_read(s->view, op->node, at, op->size, &now) ||
		    !hg_view_read(c->before, op->node, at, op->size, &before))
			continue;
		has_any |= now != before;
		then = altered(op, at, now, s->made.data, s->made.size);
		if (altered(op, at, then, all, n) != before)
			return false;
	}
	return has_any;
}

struct err *fl_cure_grade(struct fl_cures *c, size_t i, enum fl_cure_grade *ret)
{
	const struct fl_candidate *f = fl_cure_field(c, i);
	const struct fl_outcome *o = &c->s.outcomes.data[i];
	struct err *err;
	bool is_odd;

	*ret = o->is_kept ? FL_CURE_LOOSE : FL_CURE_EVADED;
	if (!o->is_mended && !o->is_led)
		return NULL;
	err = fl_cure_is_odd(c, &c->s.tries.data[i], &is_odd);
	// A pointer less mends where pointers are too many.
	is_odd |= f->at.is_pointer && !f->is_direct && !c->s.tries.data[i].value;
	*ret = is_odd				  ? FL_CURE_ODD :
	       c->s.whys.data[i].why == WHY_OTHER ? FL_CURE_LOOSE :
						    FL_CURE_WHOLE;
	return err;
}

static struct err *judge(struct fl_cures *c, size_t i)
{
	const struct fl_candidate *f = fl_cure_field(c, i);
	const struct fl_alteration *x = &c->s.tries.data[i];
	enum fl_cure_grade grade;
	struct err *err;

	if (!f->is_written || c->s.outcomes.data[i].n_left || fl_cure_is_void(c, x, 1))
		return NULL;
	err = fl_cure_grade(c, i, &grade);
	return err ? err : fl_cure_give(c, f->last_op, grade, x, 0);
}

/* ---- how often before ----------------------------------------------------------------------- */

/** Statements that have a cure, as many as members of the result. */
typedef VEC(struct dec_place) places;

// The operation that c->before shows last stored to the field of cure @p k, first on the way back:
// did it break what others mended?
static struct err *look_at_first(struct fl_cures *c, const struct hg_op *op,
				 struct spec_eval *eval, struct fl_cure *k)
{
	const struct spec_violation *v = &c->about;
	bool is_right = true, was_right = false;
	struct err *err;

	if (k->has_looked || op->node.v != k->node.v ||
	    op->addr - fl_search_node(&c->s, op->node)->start != k->offset)
		return NULL;
	k->has_looked = true;
	err = spec_check_one(eval, v->constraint, &v->binding, &is_right);
	if (err || is_right)
		return err;
	hg_view_back(c->before, NULL);
	err = spec_check_one(eval, v->constraint, &v->binding, &was_right);
	k->is_opening = was_right;
	return err ? err : spec_eval_seek(eval, c->before, hg_view_ops(c->before) + 1);
}

// Did the number grow, or shrink, or was it the same? @p now: what the statement did this time.
static void count_turn(const struct hg_op *op, const struct hg_op *now, struct fl_cure *k)
{
	k->n_alike += op->kind == HG_OP_STORE && op->size == now->size &&
		      op->after == now->after;
	if (op->kind == HG_OP_STORE && op->before != op->after) {
		int64_t by = (int64_t)(op->after - op->before);

		k->n_up += op->size == 8 ? by > 0 : op->after > op->before;
		k->n_down += op->size == 8 ? by < 0 : op->after < op->before;
		k->n_step += now->kind == HG_OP_STORE && op->size == now->size &&
			     op->after - op->before == now->after - now->before;
	}
}

// What c->before shows last was stored long before: is it of a statement that has a cure?
static struct err *count(struct fl_cures *c, const places *of, const struct hg_op *op,
			 struct spec_eval *eval, bool *ret)
{
	struct dec_place then = {};
	struct err *err = NULL;

	*ret = false;
	c->s.q->places->place(c->s.q->places->ctx, op->rip, &then);
	for (size_t i = 0; i < of->size && !err; i++) {
		struct fl_cure *k = &c->ret->data[i].cure;
		struct hg_op now;

		if (!k->grade || !fl_is_same_statement(&then, &of->data[i]))
			continue;
		now = hg_graph_op(c->s.t->graph, c->ret->data[i].op);
		count_turn(op, &now, k);
		err = look_at_first(c, op, eval, k);
		k->n_before++;
		*ret = true;
	}
	return err;
}

// What did right often is less suspicious. From c->before back.
static struct err *count_before(struct fl_cures *c)
{
	struct map is_of = {}; // by address of the code
	struct spec_eval *eval;
	struct err *err = NULL;
	places of = {};

	if (!vec_find(c->ret, k, k->cure.grade))
		return NULL;
	for (size_t i = 0; i < c->ret->size && !err; i++)
		err = vec_add(&of, c->ret->data[i].cure.grade ?
					   fl_cure_place(c, c->ret->data[i].op) :
					   (struct dec_place){});
	if (!err)
		err = spec_eval_create(c->s.t->spec, c->s.t->graph, c->before, &eval);
	if (err)
		eval = NULL;
	for (size_t n = 0; n < PAST_MAX && hg_view_ops(c->before) && !err; n++) {
		const uint64_t *known;
		struct hg_op op;
		bool is_its;

		hg_view_peek(c->before, &op);
		known = map_get(&is_of, op.rip);
		if (!known || *known) {
			err = count(c, &of, &op, eval, &is_its);
			if (!err && map_put(&is_of, op.rip, is_its))
				err = &err_nomem;
		}
		hg_view_back(c->before, NULL);
	}
	spec_eval_destroy(eval);
	map_deinit(&is_of);
	vec_deinit(&of);
	return err;
}

static bool is_pointer(const struct fl_cures *c, const struct fl_cure *x)
{
	struct dec_field f;

	return fl_field_at(c->s.t->spec, c->s.t->graph, x->node, x->offset, &f) &&
	       f.is_pointer;
}

// Does a number without a sign get one?
static bool is_below_zero(const struct fl_cures *c, const struct fl_contribution *k)
{
	struct hg_op op = hg_graph_op(c->s.t->graph, k->op);
	uint64_t sign = k->cure.size ? UINT64_C(1) << (8 * k->cure.size - 1) : 0;
	struct dec_field f;

	return op.kind == HG_OP_STORE && k->cure.size <= 8 && k->cure.value & sign &&
	       !((op.before | op.after) & sign) &&
	       fl_field_at(c->s.t->spec, c->s.t->graph, k->cure.node, k->cure.offset,
			   &f) &&
	       !f.is_pointer && !f.is_signed && !f.is_float && !f.bit_size;
}

// Would a number have to turn, of a statement that always counts up, or always down?
static bool is_contrary(const struct fl_cures *c, const struct fl_contribution *k)
{
	struct hg_op op = hg_graph_op(c->s.t->graph, k->op);
	bool is_up = k->cure.value > op.before;

	return op.kind == HG_OP_STORE && k->cure.value != op.before &&
	       k->cure.n_up + k->cure.n_down >= HABIT_TIMES &&
	       !(is_up ? k->cure.n_up : k->cure.n_down) &&
	       is_up != (op.after > op.before);
}

// Was it the same number each time, and never the number's fault?
static bool is_constant(const struct fl_contribution *k)
{
	return k->cure.n_alike >= HABIT_TIMES && k->cure.n_alike == k->cure.n_before;
}

// Some number always solves an equation, whatever made its other side wrong. So where a statement
// that never stored before has a cure, a number is none that counts of one that did.
static void weigh_numbers(struct fl_cures *c)
{
	for (size_t i = 0; i < c->ret->size; i++) {
		struct fl_cure *k = &c->ret->data[i].cure;

		if (k->grade > FL_CURE_ODD && !is_pointer(c, k) &&
		    (is_contrary(c, &c->ret->data[i]) || is_constant(&c->ret->data[i]) ||
		     is_below_zero(c, &c->ret->data[i])))
			k->grade = FL_CURE_ODD;
	}
	if (!vec_find(c->ret, k, k->cure.grade >= FL_CURE_ODD && !k->cure.n_before))
		return;
	for (size_t i = 0; i < c->ret->size; i++) {
		struct fl_cure *k = &c->ret->data[i].cure;

		if (k->grade > FL_CURE_ODD && k->n_before && !is_pointer(c, k))
			k->grade = FL_CURE_ODD;
	}
}

/* ---- numbers that count on ------------------------------------------------------------------ */

// The last store to the field of operation @p op before it, in the operation on the structure; 0:
// there was none.
static uint64_t store_before(const struct fl_cures *c, const struct hg_op *op,
			     uint64_t at)
{
	const struct fl_span *span = &c->s.span;

	for (uint64_t i = at; i > span->from; i--) {
		const struct hg_op *o = &span->ops.data[i - 1 - span->from];

		if (o->kind == HG_OP_STORE && o->node.v == op->node.v &&
		    o->addr == op->addr && o->size == op->size)
			return i - 1;
	}
	return 0;
}

// A number that was stored may have been counted on from a wrong one: then that had another cure.
static struct err *look_before(struct fl_cures *c, size_t i)
{
	struct fl_contribution k = c->ret->data[i];
	struct hg_op op = hg_graph_op(c->s.t->graph, k.op);
	struct fl_alteration x = { k.cure.node, k.cure.offset, k.cure.size, 0 };
	struct fl_contribution *of;
	uint64_t before;
	struct err *err;

	if (k.cure.grade <= FL_CURE_ODD || is_pointer(c, &k.cure) ||
	    op.kind != HG_OP_STORE || op.size != k.cure.size)
		return NULL;
	before = store_before(c, &op, k.op);
	if (!before)
		return NULL;
	x.value = k.cure.value - (op.after - op.before);
	if (op.size < 8)
		x.value &= (UINT64_C(1) << 8 * op.size) - 1;
	err = fl_cure_give(c, before, k.cure.grade, &x, k.cure.n_more);
	of = vec_find(c->ret, e, e->op == before);
	if (!err && of && of->cure.value == x.value)
		of->cure.counted_on = (uint32_t)i + 1;
	return err;
}

// What always counts on by as much did right; what does not, did not count on.
static void weigh_counts(struct fl_cures *c)
{
	for (size_t i = 0; i < c->ret->size; i++) {
		struct fl_cure *k = &c->ret->data[i].cure, *over;

		if (!k->counted_on)
			continue;
		over = &c->ret->data[k->counted_on - 1].cure;
		if (over->n_step >= HABIT_TIMES && 2 * over->n_step > over->n_before)
			over->grade = FL_CURE_ODD;
		else
			k->grade = FL_CURE_NONE;
	}
}

bool fl_cure_is_overwritten(const struct fl_cures *c, uint64_t op)
{
	struct hg_op o = hg_graph_op(c->s.t->graph, op);
	uint64_t at = o.addr - fl_search_node(&c->s, o.node)->start;

	return hg_view_is_live(c->s.view, o.node) &&
	       hg_view_last_write(c->s.view, o.node, at) > op;
}

// Is operation @p op of a statement that the traceback found?
static bool is_found(const struct fl_cures *c, size_t n_members, uint64_t op)
{
	struct dec_place place = fl_cure_place(c, op);

	for (size_t i = 0; i < n_members; i++) {
		struct dec_place p = fl_cure_place(c, c->ret->data[i].op);

		if (fl_is_same_statement(&p, &place))
			return true;
	}
	return false;
}

// May a pointer beside the members explain all? Not where one of them does, nor where it cannot be told
// of what introduced or changed it, as it was stored over since.
static bool may_be_beside(const struct fl_cures *c, size_t n_members)
{
	bool has_number = false, has_pointer = false, is_gone = false;

	for (size_t i = 0; i < n_members; i++) {
		const struct fl_contribution *k = &c->ret->data[i];
		bool is_link = k->cure.grade && is_pointer(c, &k->cure);

		if (is_link && k->cure.grade > FL_CURE_ODD)
			return false;
		has_pointer |= is_link;
		has_number |= k->cure.grade && !is_link;
		is_gone |= (k->introduces || k->n_errors) &&
			   fl_cure_is_overwritten(c, k->op);
	}
	return (has_number && !has_pointer) || !is_gone;
}

// Does @p x explain more than what the traceback found does?
static bool is_better(const struct fl_cures *c, size_t n_members, uint64_t op,
		      const struct fl_cure *x)
{
	// Who made something lead where it does, the traceback knows, but not what was stored
	// over since, nor, where it found but numbers, what they count.
	if (is_pointer(c, x) && fl_cure_is_overwritten(c, op) ?
		    x->grade != FL_CURE_FIRST :
		    x->grade < (is_pointer(c, x) ? FL_CURE_WHOLE : FL_CURE_LOOSE))
		return false;
	if (is_pointer(c, x) && x->grade == FL_CURE_WHOLE && !may_be_beside(c, n_members))
		return false;
	for (size_t i = 0; i < n_members; i++) {
		const struct fl_cure *k = &c->ret->data[i].cure;

		if (k->grade > x->grade ||
		    (k->grade == x->grade && k->n_before <= x->n_before))
			return false;
	}
	return true;
}

// What the traceback found explains it, as a rule: statements beside those are told only when they
// do better.
static void drop_additions(struct fl_cures *c, size_t n_members)
{
	size_t n = n_members;

	for (size_t i = n_members; i < c->ret->size; i++) {
		struct fl_contribution x = c->ret->data[i];

		if (is_found(c, n_members, x.op) ||
		    is_better(c, n_members, x.op, &x.cure))
			c->ret->data[n++] = x;
	}
	c->ret->size = n;
}

struct err *fl_cure_find(const struct fl_missing_query *q, fl_contributions *ret)
{
	_cleanup_(cures_deinit) struct fl_cures c = {
		.s = { .q = q, .t = q->trace, .suspects = ret }, .ret = ret
	};
	size_t n_members = ret->size;
	bool is_ready = false;
	struct err *err = fl_search_begin(&c.s, &is_ready);

	if (err || !is_ready)
		return err;
	// What leads to a node until that is released was right; where else it might have led, is a
	// guess.
	c.about = *c.s.about;
	c.least = hg_graph_op(c.s.t->graph, c.s.trigger).kind == HG_OP_FREE ?
			  FL_CURE_LOOSE :
			  FL_CURE_FIRST;
	err = hg_view_create(c.s.t->graph, c.s.since, &c.before);
	for (size_t i = 0; i < c.s.tries.size && !err; i++)
		err = judge(&c, i);
	for (size_t i = 0, n = ret->size; i < n && !err; i++)
		err = look_before(&c, i);
	if (!err)
		err = fl_cure_move(&c);
	if (!err && !vec_find(ret, k, k->cure.grade))
		err = fl_cure_chain(&c);
	if (!err)
		err = count_before(&c);
	weigh_counts(&c);
	weigh_numbers(&c);
	drop_additions(&c, n_members);
	return err;
}
