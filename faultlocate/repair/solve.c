// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "faultlocate/repair/choices.h"
#include "faultlocate/repair/together.h"

enum { GUARDS, STATEMENTS, INSERTIONS, BOUNDS };
enum { MOST_GUARDS = 3, MOST_STATEMENTS = 3, MOST_INSERTIONS = 3, MOST_COST = 7 };
enum { MOST_SPURIOUS = 60, MOST_OTHERS = 3, MOST_TRIALS = 60000 };
enum { STEPS = 16000000 }; ///< of Z3, a question; some seconds

/* One formula: so many slots a gap, and what may be changed. */
struct level {
	struct smt *s;
	struct rp_choices choices;
	bool is_made, is_contradictory;
	smt_term bounds[BOUNDS][MOST_COST + 1]; ///< made when first asked for
};

/* Bounds that were too tight, and which of them had a part in that. */
struct failure {
	int tau[BOUNDS];
	bool has_part[BOUNDS];
};

struct search {
	const struct rp_question *q;
	struct rp_answer *a;
	bool *may_change;
	const struct rp_suspects *within; ///< NULL: everywhere
	struct rp_suspects *suspects;	  ///< the last that were located
	struct level levels[3];		  ///< by slots
	VEC(struct failure) failures;
	double start;	  ///< of the processor, as what others run does not count
	bool is_hopeless; ///< no bound had a part
	bool was_unknown; ///< Z3 gave up a question
	struct rp_patch tried,
		other; ///< then: what execution alone found, and one as near
};

/* ---- the formula ---------------------------------------------------------------------------- */

static unsigned bits_for(int64_t value)
{
	unsigned bits = 1;

	for (value = value < 0 ? -value : value; value; value >>= 1)
		bits++;
	return bits;
}

static void widen(unsigned *bits, int64_t value)
{
	if (value != RP_UNKNOWN && bits_for(value) > *bits)
		*bits = bits_for(value);
}

static void widen_for_state(unsigned *bits, const struct rp_program *p,
			    const struct rp_state *s)
{
	widen(bits, (int64_t)s->nodes.size + 1);
	for (size_t i = 0; i < s->globals.size; i++) {
		widen(bits, s->globals.data[i]);
		widen(bits, s->frame.data[i]);
	}
	for (size_t i = 0; i < s->nodes.size; i++)
		for (size_t k = 0;
		     k < p->records.data[s->nodes.data[i].record].fields.size; k++)
			widen(bits, s->nodes.data[i].fields[k]);
}

/* All numbers that there are, and their sums, must fit; what does not is found by execution. */
static unsigned count_bits(const struct rp_question *q)
{
	unsigned bits = 3;

	for (size_t i = 0; i < q->n_witnesses; i++) {
		widen_for_state(&bits, q->p, &q->witnesses[i].before);
		for (size_t k = 0; k < q->witnesses[i].marks.size; k++)
			widen_for_state(&bits, q->p,
					&q->witnesses[i].marks.data[k].state);
		for (size_t k = 0; k < q->witnesses[i].events.size; k++)
			widen(&bits, q->witnesses[i].events.data[k].value);
	}
	for (size_t i = 0; i < q->p->ops.size; i++) {
		widen(&bits, q->p->ops.data[i].a.value);
		widen(&bits, q->p->ops.data[i].b.value);
	}
	return bits + 2 < 34 ? bits + 2 : 34;
}

static struct err *make_level(struct search *x, int n_slots)
{
	struct level *l = &x->levels[n_slots];
	unsigned bits = count_bits(x->q);
	struct err *err = smt_create_bits(bits, STEPS, &l->s);

	if (err)
		return err;
	l->is_made = true;
	err = fl_rp_choices_init(&l->choices, x->q->p, l->s, x->q->function,
				 x->may_change, x->within, n_slots);
	for (size_t i = 0; !err && i < x->q->n_witnesses; i++) {
		struct rp_walk w = { .p = x->q->p,
				     .s = l->s,
				     .bits = bits,
				     .w = &x->q->witnesses[i],
				     .of_op = l->choices.of_op,
				     .n_slots = n_slots,
				     .of_gap = n_slots ? l->choices.of_gap : NULL,
				     .first_gap = l->choices.first_gap };

		fl_rp_walk(&w);
		if (w.is_contradictory && !l->is_contradictory) {
			l->is_contradictory = true;
			snprintf(x->a->why, sizeof(x->a->why), "%s", w.why);
		}
		if (w.has_failed)
			err = &err_nomem;
		fl_rp_walk_deinit(&w);
	}
	return err;
}

static void drop_levels(struct search *x)
{
	for (int i = 0; i < 3; i++) {
		if (!x->levels[i].is_made)
			continue;
		fl_rp_choices_deinit(&x->levels[i].choices);
		smt_destroy(x->levels[i].s);
	}
	memset(x->levels, 0, sizeof(x->levels));
	x->failures.size = 0;
	x->is_hopeless = false;
}

/* ---- bounds ----------------------------------------------------------------------------------- */

/* While this is true, at most @p tau things of @p bound are. */
static smt_term bound(struct level *l, int bound, int tau)
{
	const struct {
		const smt_term *data;
		size_t size;
	} counted[] = { { l->choices.guards.data, l->choices.guards.size },
			{ l->choices.statements.data, l->choices.statements.size },
			{ l->choices.insertions.data, l->choices.insertions.size } };
	smt_term *at = &l->bounds[bound][tau];

	if (*at)
		return *at;
	*at = smt_var(l->s, SMT_BOOL, "bound");
	if (counted[bound].size)
		smt_assert(l->s, smt_or(l->s, smt_not(l->s, *at),
					smt_at_most(l->s, counted[bound].data,
						    (unsigned)counted[bound].size,
						    (unsigned)tau)));
	return *at;
}

static bool is_known_to_fail(const struct search *x, const int tau[BOUNDS])
{
	for (size_t i = 0; i < x->failures.size; i++) {
		const struct failure *f = &x->failures.data[i];
		bool covers = true;

		for (int b = 0; b < BOUNDS; b++)
			covers = covers && (!f->has_part[b] || tau[b] <= f->tau[b]);
		if (covers)
			return true;
	}
	return false;
}

static struct err *note_failure(struct search *x, struct level *l, const int tau[BOUNDS],
				const smt_term assumed[BOUNDS])
{
	struct failure f;
	bool any = false;

	for (int b = 0; b < BOUNDS; b++) {
		f.tau[b] = tau[b];
		f.has_part[b] = !l->is_contradictory && smt_in_core(l->s, assumed[b]);
		any = any || f.has_part[b];
	}
	// Slots that are not there are as good as ones that are off.
	if (l != &x->levels[2])
		f.has_part[INSERTIONS] = any = true;
	x->is_hopeless = !any;
	x->a->widenings++;
	return vec_add(&x->failures, f);
}

/* ---- one question ----------------------------------------------------------------------------- */

/* While it is true, at most @p most of the parts differ. */
static smt_term nearer(struct level *l, unsigned most)
{
	smt_term is = smt_var(l->s, SMT_BOOL, "nearer");

	smt_assert(l->s,
		   smt_or(l->s, smt_not(l->s, is),
			  smt_at_most(l->s, l->choices.differences.data,
				      (unsigned)l->choices.differences.size, most)));
	return is;
}

/* How many parts differ in what was found. */
static unsigned count_differences(const struct level *l)
{
	unsigned n = 0;

	for (size_t i = 0; i < l->choices.differences.size; i++)
		n += smt_is_true(l->s, l->choices.differences.data[i]);
	return n;
}

/* As few parts that differ as there can be under @p assumed: what is nearest to what was written. */
static enum smt_answer shrink(struct level *l, const smt_term assumed[BOUNDS])
{
	smt_term with[BOUNDS + 1], last;
	enum smt_answer answer = SMT_SAT;
	unsigned now;

	memcpy(with, assumed, BOUNDS * sizeof(*with));
	do {
		now = count_differences(l);
		if (!now)
			return SMT_SAT;
		last = nearer(l, now);
		with[BOUNDS] = nearer(l, now - 1);
		answer = smt_check_assuming(l->s, with, BOUNDS + 1);
	} while (answer == SMT_SAT);
	with[BOUNDS] = last;
	return smt_check_assuming(l->s, with, BOUNDS + 1);
}

static bool stands(const struct search *x, struct rp_patch *patch)
{
	bool is_right = !fl_rp_patch_apply(x->q->p, patch);

	for (size_t i = 0; is_right && i < x->q->n_witnesses; i++)
		is_right = fl_rp_check(x->q->p, &x->q->witnesses[i], x->a->why,
				       sizeof(x->a->why));
	fl_rp_patch_undo(x->q->p, patch);
	return is_right;
}

static bool is_late(const struct search *x)
{
	return x->q->most_seconds && clock_cpu_s() - x->start > x->q->most_seconds;
}

/* Is there another patch within the same bounds, as near? It is kept beside the answer. */
static struct err *find_other(struct search *x, struct level *l,
			      const smt_term assumed[BOUNDS])
{
	struct rp_patch *other = &x->a->other;
	smt_term with[BOUNDS + 1];
	struct err *err;
	unsigned most = count_differences(l);

	memcpy(with, assumed, BOUNDS * sizeof(*with));
	for (int i = 0; i < MOST_OTHERS; i++) {
		// What was found is lost with the next assertion.
		fl_rp_choices_forbid(&l->choices);
		if (!i)
			with[BOUNDS] = nearer(l, most);
		if (smt_check_assuming(l->s, with, BOUNDS + 1) != SMT_SAT)
			return NULL;
		err = fl_rp_choices_patch(&l->choices, other);
		if (err || stands(x, other))
			return err;
		other->edits.size = 0;
	}
	return NULL;
}

/* The bounds that @p patch needs. */
static void count_edits(const struct rp_patch *patch, unsigned taken[BOUNDS])
{
	memset(taken, 0, BOUNDS * sizeof(*taken));
	for (size_t i = 0; i < patch->edits.size; i++) {
		const struct rp_edit *e = &patch->edits.data[i];

		if (e->kind == RP_EDIT_INSERT)
			taken[INSERTIONS]++;
		else if (e->kind == RP_EDIT_REMOVE || e->now.kind == RP_TEST)
			taken[GUARDS]++;
		else
			taken[STATEMENTS]++;
	}
}

/* What execution found is the answer, if it costs no more than @p cost. */
static void take_tried(struct search *x, unsigned cost, bool *is_over)
{
	unsigned taken[BOUNDS];

	count_edits(&x->tried, taken);
	if (!x->tried.edits.size ||
	    taken[GUARDS] + taken[STATEMENTS] + 2 * taken[INSERTIONS] > cost)
		return;
	fl_rp_patch_deinit(&x->a->patch);
	x->a->patch = x->tried;
	x->a->other = x->other;
	x->tried = x->other = (struct rp_patch){};
	x->a->verdict = RP_REPAIRED;
	x->a->was_tried = *is_over = true;
}

/* What Z3 does not know may be found without it, once. Wider bounds may be easier, too; but no third
 * question without an answer is waited for where there is a patch. */
static struct err *note_unknown(struct search *x, bool *is_over)
{
	const struct rp_trial t = { .p = x->q->p,
				    .witnesses = x->q->witnesses,
				    .n_witnesses = x->q->n_witnesses };
	bool is_first = !x->was_unknown;

	x->was_unknown = true;
	if (is_first)
		return fl_rp_together(&t, x->q->function, MOST_TRIALS, x->suspects,
				      &x->tried, &x->other);
	take_tried(x, UINT_MAX, is_over);
	return NULL;
}

static struct err *give_up(struct search *x, bool *is_over)
{
	struct err *err;

	x->a->verdict = RP_GAVE_UP;
	*is_over = true;
	if (is_late(x))
		snprintf(x->a->why, sizeof(x->a->why), "the time is over");
	err = note_unknown(x, is_over);
	take_tried(x, UINT_MAX, is_over);
	return err;
}

/* @return whether a patch within @p tau was found, or it is given up. */
static struct err *ask(struct search *x, const int tau[BOUNDS], bool *is_over)
{
	struct level *l = &x->levels[tau[INSERTIONS] < 2 ? tau[INSERTIONS] : 2];
	smt_term assumed[BOUNDS];
	enum smt_answer answer = SMT_UNSAT;
	struct err *err = l->is_made ? NULL : make_level(x, (int)(l - x->levels));

	if (err)
		return err;
	for (int b = 0; b < BOUNDS; b++)
		assumed[b] = bound(l, b, tau[b]);
	while (!l->is_contradictory) {
		answer = smt_check_assuming(l->s, assumed, BOUNDS);
		if (answer == SMT_SAT)
			answer = shrink(l, assumed);
		if (answer != SMT_SAT)
			break;
		fl_rp_patch_deinit(&x->a->patch);
		err = fl_rp_choices_patch(&l->choices, &x->a->patch);
		if (err)
			return err;
		if (stands(x, &x->a->patch)) {
			x->a->verdict = x->a->patch.edits.size ? RP_REPAIRED :
								 RP_RIGHT_ALREADY;
			*is_over = true;
			return x->a->patch.edits.size ? find_other(x, l, assumed) : NULL;
		}
		if (!x->a->patch.edits.size || ++x->a->spurious > MOST_SPURIOUS ||
		    is_late(x))
			return give_up(x, is_over);
		fl_rp_choices_forbid(&l->choices);
	}
	if (is_late(x))
		return give_up(x, is_over);
	if (answer != SMT_UNKNOWN)
		return note_failure(x, l, tau, assumed);
	snprintf(x->a->why, sizeof(x->a->why), "%s", smt_why(l->s));
	return note_unknown(x, is_over);
}

/* All bounds of one cost, guards first. */
static struct err *ask_cost(struct search *x, int cost, bool *is_over)
{
	struct err *err = NULL;

	take_tried(x, (unsigned)cost, is_over);
	for (int i = 0; i <= MOST_INSERTIONS && 2 * i <= cost && !err; i++) {
		for (int s = 0; s <= MOST_STATEMENTS && s + 2 * i <= cost && !err; s++) {
			int tau[BOUNDS] = { cost - s - 2 * i, s, i };

			if (*is_over || x->is_hopeless)
				return NULL;
			if (tau[GUARDS] <= MOST_GUARDS && !is_known_to_fail(x, tau))
				err = ask(x, tau, is_over);
		}
	}
	return err;
}

static struct err *look(struct search *x, int most_cost)
{
	struct err *err = NULL;
	bool is_over = false;

	for (int cost = 0; cost <= most_cost && !err && !is_over && !x->is_hopeless;
	     cost++)
		err = ask_cost(x, cost, &is_over);
	drop_levels(x);
	return err;
}

/* ---- all ---------------------------------------------------------------------------------------- */

static bool can_change(const struct rp_question *q, size_t i)
{
	const struct rp_op *op = &q->p->ops.data[i];

	return op->function == q->function && !op->is_fixed && !op->is_removed &&
	       (op->kind == RP_ASSIGN || op->kind == RP_TEST);
}

/* Let patches change what @p allowed says, NULL: everything, at @p most_cost. */
static struct err *look_among(struct search *x, const bool *allowed, int most_cost)
{
	for (size_t i = 0; i < x->q->p->ops.size; i++)
		x->may_change[i] = can_change(x->q, i) && (!allowed || allowed[i]);
	return look(x, most_cost);
}

static struct err *locate(struct search *x, bool is_wide, struct rp_suspects *s)
{
	const struct rp_question *q = x->q;
	struct err *err =
		fl_rp_locate(q->p, q->witnesses, q->n_witnesses, q->function, is_wide, s);

	x->within = x->suspects = s;
	x->a->suspects = s->n;
	x->a->n_ops = s->n_ops;
	return err;
}

/* What alone is enough is one change; then the suspects, few and many; then everything. */
static struct err *search(struct search *x, bool is_everywhere)
{
	struct rp_suspects few = {}, many = {};
	bool any = false;
	struct err *err = locate(x, false, &few);

	if (!err && !is_everywhere)
		err = fl_rp_rank(x->q->p, x->q->witnesses, x->q->n_witnesses,
				 x->q->function, 0, &few);
	for (size_t i = 0; i < x->q->p->ops.size; i++)
		any |= !err && few.is_enough[i];
	if (!err && any)
		err = look_among(x, few.is_enough, 1);
	x->q->p->with_spares = true;
	if (!err && !is_everywhere && x->a->verdict == RP_NO_REPAIR)
		err = look_among(x, few.is_suspect, MOST_COST);
	if (!err && !is_everywhere && x->a->verdict == RP_NO_REPAIR)
		err = locate(x, true, &many);
	if (!err && many.n > few.n && x->a->verdict == RP_NO_REPAIR)
		err = look_among(x, many.is_suspect, MOST_COST);
	if (!err && x->a->verdict == RP_NO_REPAIR) {
		x->within = NULL;
		x->a->was_unlocked = !is_everywhere;
		err = look_among(x, NULL, MOST_COST);
	}
	fl_rp_suspects_deinit(&few);
	fl_rp_suspects_deinit(&many);
	return err;
}

static bool has_spares(const struct rp_program *p, const struct rp_patch *patch)
{
	bool any = false;

	for (size_t i = 0; i < patch->edits.size; i++) {
		const struct rp_op *op = &patch->edits.data[i].now;
		const struct rp_ref *refs[] = { &op->dst, &op->a, &op->b };

		for (int k = 0; k < 3; k++)
			any |= refs[k]->var != RP_NONE &&
			       p->variables.data[refs[k]->var].is_spare;
	}
	return any;
}

struct err *fl_rp_repair(const struct rp_question *q, struct rp_answer *ret)
{
	struct search x = { .q = q, .a = ret, .start = clock_cpu_s() };
	bool had_spares = q->p->with_spares;
	unsigned taken[BOUNDS];
	struct err *err = &err_nomem;

	*ret = (struct rp_answer){ .verdict = RP_NO_REPAIR };
	x.may_change = calloc(q->p->ops.size + 1, sizeof(bool));
	if (x.may_change)
		err = search(&x, q->is_everywhere);
	if (ret->verdict == RP_NO_REPAIR && x.was_unknown)
		ret->verdict = RP_GAVE_UP;
	q->p->with_spares = had_spares || has_spares(q->p, &ret->patch);
	count_edits(&ret->patch, taken);
	ret->guards = taken[GUARDS];
	ret->statements = taken[STATEMENTS];
	ret->insertions = taken[INSERTIONS];
	vec_deinit(&x.failures);
	fl_rp_patch_deinit(&x.tried);
	fl_rp_patch_deinit(&x.other);
	free(x.may_change);
	return err;
}

void fl_rp_answer_deinit(struct rp_answer *a)
{
	fl_rp_patch_deinit(&a->patch);
	fl_rp_patch_deinit(&a->other);
}
