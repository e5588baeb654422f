// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Several small changes, tried by executing them. Of two faults each does away with its own part of
 * what is wrong: so round by round one change is added to the best that there are.
 */
#include <stdlib.h>

#include "faultlocate/repair/changes.h"
#include "faultlocate/repair/together.h"

// Two of a place leave room for others. New statements are many: only the best have them tried.
enum { WIDTH = 8, OF_PLACE = 2, WIDTH_OF_NEW = 3, ROUNDS = 3 };
#define FARTHER 0.01 ///< of two that do as much, the nearer is more suspicious

struct found {
	struct rp_edit edits[ROUNDS];
	int n;
	unsigned wrong, cost;
};

typedef VEC(struct found) found_list;

struct together {
	struct rp_trial t;
	struct rp_suspects *s;
	int function;
	unsigned most_trials;
	const struct found *from; ///< what is gone on from
	found_list next;	  ///< the best of this round
	found_list whole;	  ///< those with which nothing is wrong
	struct err *err;
};

static bool is_before(const struct found *a, const struct found *b)
{
	return a->wrong != b->wrong ? a->wrong < b->wrong : a->cost < b->cost;
}

static bool is_same_place(const struct rp_edit *a, const struct rp_edit *b)
{
	return a->op == b->op && a->block == b->block && a->index == b->index;
}

/* Has @p f all places of @p of, whatever the order? */
static bool has_places(const struct found *f, const struct found *of)
{
	int n = 0;

	for (int i = 0; i < of->n; i++)
		for (int k = 0; k < f->n; k++)
			n += is_same_place(&of->edits[i], &f->edits[k]);
	return n == of->n;
}

/* @p f comes to @p list, unless what there is of its places, or all, is better. */
static struct err *offer(found_list *list, const struct found *f)
{
	struct found *worst = NULL, *worst_of_place = NULL;
	int n = 0;

	for (size_t i = 0; i < list->size; i++) {
		struct found *is = &list->data[i];

		if (!worst || is_before(worst, is))
			worst = is;
		if (!has_places(is, f))
			continue;
		n++;
		if (!worst_of_place || is_before(worst_of_place, is))
			worst_of_place = is;
	}
	if (n == OF_PLACE)
		worst = worst_of_place;
	else if (list->size < WIDTH)
		return vec_add(list, *f);
	if (is_before(f, worst))
		*worst = *f;
	return NULL;
}

/* May @p edit come to what there is? One statement that is new is enough to look through. */
static bool is_more(const struct together *x, const struct rp_edit *edit)
{
	for (int i = 0; i < x->from->n; i++)
		if (is_same_place(edit, &x->from->edits[i]) ||
		    (edit->kind == RP_EDIT_INSERT &&
		     x->from->edits[i].kind == RP_EDIT_INSERT))
			return false;
	return edit->kind != RP_EDIT_INSERT ||
	       (x->s->is_gap[fl_rp_gap(x->t.p, edit->block, edit->index)] &&
		x->s->is_type[edit->now.type + 1]);
}

static bool stands(const struct together *x)
{
	char why[200];

	for (size_t i = 0; i < x->t.n_witnesses; i++)
		if (!fl_rp_check(x->t.p, &x->t.witnesses[i], why, sizeof(why)))
			return false;
	return true;
}

static void attempt(void *ctx, struct rp_edit edit, unsigned cost)
{
	struct together *x = ctx;
	struct found f = *x->from;
	struct rp_patch patch = {};
	bool is_whole;

	if (x->err || x->t.n >= x->most_trials || !is_more(x, &edit))
		return;
	f.edits[f.n++] = edit;
	f.cost += cost;
	x->err = vec_add(&patch.edits, edit);
	if (!x->err)
		x->err = fl_rp_patch_apply(x->t.p, &patch);
	if (!x->err) {
		x->t.most_wrong = x->from->wrong;
		f.wrong = fl_rp_trial(&x->t);
		is_whole = !f.wrong && stands(x);
		fl_rp_patch_undo(x->t.p, &patch);
	}
	if (!x->err && f.wrong < x->from->wrong && (f.wrong || is_whole))
		x->err = offer(is_whole ? &x->whole : &x->next, &f);
	fl_rp_patch_deinit(&patch);
}

static struct err *patch_of(const struct found *f, struct rp_patch *ret)
{
	struct err *err = NULL;

	for (int i = 0; i < f->n && !err; i++)
		err = vec_add(&ret->edits, f->edits[i]);
	return err;
}

/* Every change that may come to @p from, and if @p with_new every new statement. */
static struct err *extend(struct together *x, const struct found *from, bool with_new)
{
	struct rp_program *p = x->t.p;
	struct rp_patch patch = {};
	size_t n = p->ops.size;
	struct err *err = patch_of(from, &patch);

	x->from = from;
	if (!err)
		err = fl_rp_patch_apply(p, &patch);
	for (size_t i = 0; !err && i < n; i++)
		if (x->s->is_suspect[i])
			err = fl_rp_changes_each(p, (int)i, attempt, x);
	if (!err && with_new)
		err = fl_rp_insertions_each(p, x->function, attempt, x);
	fl_rp_patch_undo(p, &patch);
	fl_rp_patch_deinit(&patch);
	return err ? err : x->err;
}

static int by_wrong(const void *a, const void *b)
{
	return is_before(a, b) ? -1 : is_before(b, a);
}

static struct err *look(struct together *x)
{
	struct found nothing = { .wrong = fl_rp_trial(&x->t) };
	struct err *err = nothing.wrong ? extend(x, &nothing, true) : NULL;

	for (int round = 1; round < ROUNDS && !err && !x->whole.size; round++) {
		found_list from = x->next;

		x->next = (found_list){};
		vec_sort(&from, by_wrong);
		for (size_t i = 0; i < from.size && !err; i++)
			err = extend(x, &from.data[i], i < WIDTH_OF_NEW);
		vec_deinit(&from);
	}
	return err;
}

static int by_cost(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	return (x->cost > y->cost) - (x->cost < y->cost);
}

/* What has a part in doing all comes before what has none. */
static struct err *suspect(struct together *x)
{
	bool *is_told = calloc(x->t.p->ops.size + 1, sizeof(bool));

	for (size_t i = 0; is_told && i < x->whole.size; i++) {
		const struct found *f = &x->whole.data[i];

		for (int k = 0; k < f->n; k++) {
			const struct rp_edit *e = &f->edits[k];

			if (e->kind == RP_EDIT_INSERT || is_told[e->op])
				continue;
			is_told[e->op] = true;
			x->s->suspicion[e->op] += RP_BY_TRIAL * (1 - FARTHER * f->cost);
		}
	}
	free(is_told);
	return is_told ? NULL : &err_nomem;
}

struct err *fl_rp_together(const struct rp_trial *t, int function, unsigned most_trials,
			   struct rp_suspects *s, struct rp_patch *ret,
			   struct rp_patch *other)
{
	struct together x = {
		.t = *t, .s = s, .function = function, .most_trials = most_trials
	};
	struct err *err = look(&x);

	if (!err && x.whole.size) {
		vec_sort(&x.whole, by_cost);
		err = suspect(&x);
	}
	if (!err && x.whole.size) {
		err = patch_of(&x.whole.data[0], ret);
		if (!err && x.whole.size > 1 &&
		    x.whole.data[1].cost == x.whole.data[0].cost)
			err = patch_of(&x.whole.data[1], other);
	}
	vec_deinit(&x.next);
	vec_deinit(&x.whole);
	return err ? err : x.t.has_failed ? &err_nomem : NULL;
}
