// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "suppress-hw/rank/rank_lists.h"

#include <string.h>

#include "base/cleanup.h"

// How far down lists are compared.
#define DEPTH 200

/* What @p row, which is behind the list or passes, says of statement @p i. */
static void add_row(struct rank_statement *s, const struct rank_row *row, bool is_behind,
		    uint32_t i)
{
	if (row->executed[i]) {
		*(row->is_failed && !row->is_over ? &s->n_failed : &s->n_passed) += 1;
		s->is_ranked |= is_behind;
	}
	s->n_ivmp += is_behind && row->ivmp && row->ivmp[i];
}

/* Does a run that fails still execute @p s? */
static bool is_executed(const struct rank_rows *r, uint32_t s)
{
	for (size_t k = 0; k < r->n; k++)
		if (r->rows[k].is_failed && !r->rows[k].is_over && r->rows[k].executed[s])
			return true;
	return false;
}

/* A score is of all that failing runs execute (paper 003, Definition 6), whichever of these a list is of: else the
 * same rank would be worth less in the list of few. */
static void score_again(const struct rank_rows *r, rank_ranked *list)
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->n_statements; i++)
		n += is_executed(r, i);
	for (size_t i = 0; i < list->size && n > list->size; i++)
		list->data[i].score = (double)(n - list->data[i].rank) / n;
}

struct err *rank_lists_make(const struct rank_rows *r, uint32_t of, rank_ranked *ret)
{
	uint32_t n_failed = 0, n_passed = 0;
	struct err *err = NULL;

	ret->size = 0;
	for (size_t k = 0; k < r->n; k++)
		if (!r->rows[k].is_failed || r->rows[k].is_over)
			n_passed++;
		else
			n_failed += r->rows[k].executed[of];
	for (uint32_t i = 0; i < r->n_statements && !err; i++) {
		struct rank_statement s = { .file = r->statements[i].file,
					    .function = r->statements[i].function,
					    .line = r->statements[i].line,
					    .id = i };

		for (size_t k = 0; k < r->n; k++) {
			const struct rank_row *row = &r->rows[k];
			bool is_behind = row->is_failed && row->executed[of];

			if (is_behind || !row->is_failed || row->is_over)
				add_row(&s, row, is_behind, i);
		}
		if (s.is_ranked)
			err = vec_add(ret, s);
	}
	if (err)
		return err;
	rank_sort(ret->data, ret->size, RANK_IVMP, n_failed, n_passed);
	score_again(r, ret);
	return NULL;
}

/* @return whether failing runs execute @p a and @p b alike: their lists are one. */
static bool is_same_list(const struct rank_rows *r, uint32_t a, uint32_t b)
{
	for (size_t k = 0; k < r->n; k++)
		if (r->rows[k].is_failed &&
		    !r->rows[k].executed[a] != !r->rows[k].executed[b])
			return false;
	return true;
}

struct list {
	uint32_t of;
	rank_ranked ranked;
	uint16_t different[DEPTH]; ///< among so many at its head, and one more
};

typedef VEC(struct list) lists;

static void drop_lists(lists *all)
{
	for (size_t i = 0; i < all->size; i++)
		vec_deinit(&all->data[i].ranked);
	vec_deinit(all);
}

/* All that differ from each other and from those shown. */
static struct err *make_all(const struct rank_rows *r, const struct rank_shown *shown,
			    size_t n_shown, lists *ret)
{
	for (uint32_t s = 0; s < r->n_statements; s++) {
		bool is_there = !is_executed(r, s);
		struct list *l;
		struct err *err;

		for (size_t i = 0; i < n_shown && !is_there; i++)
			is_there = shown[i].of != UINT32_MAX &&
				   is_same_list(r, shown[i].of, s);
		for (size_t i = 0; i < ret->size && !is_there; i++)
			is_there = is_same_list(r, ret->data[i].of, s);
		if (is_there)
			continue;
		l = vec_push(ret);
		if (!l)
			return &err_nomem;
		l->of = s;
		err = rank_lists_make(r, s, &l->ranked);
		if (err)
			return err;
	}
	return NULL;
}

/* Has @p a the more suspicious statements at its head? */
static bool is_more_suspicious(const rank_ranked *a, const rank_ranked *b)
{
	for (size_t i = 0; i < a->size && i < b->size; i++)
		if (a->data[i].suspicion != b->data[i].suspicion)
			return a->data[i].suspicion > b->data[i].suspicion;
	return false;
}

/* How many of its first 1, 2 ... are not among the first so many of those shown? */
static void count_different(struct list *l, const struct rank_shown *shown,
			    size_t n_shown)
{
	for (size_t depth = 0; depth < DEPTH; depth++) {
		uint16_t n = 0;

		for (size_t i = 0; i <= depth && i < l->ranked.size; i++) {
			bool is_shown = false;

			for (size_t k = 0; k < n_shown && !is_shown; k++)
				for (size_t j = 0;
				     j <= depth && shown[k].ids[j] != UINT32_MAX &&
				     !is_shown;
				     j++)
					is_shown = shown[k].ids[j] ==
						   l->ranked.data[i].id;
			n += !is_shown;
		}
		l->different[depth] = n;
		if (n >= RANK_DIFFERENT)
			for (; depth + 1 < DEPTH; depth++)
				l->different[depth + 1] = n;
	}
}

/* Is @p a sooner so different? Where neither is, sooner more so than the other? Else as for the first. */
static bool is_more_different(const struct list *a, const struct list *b)
{
	bool is_far_a = a->different[DEPTH - 1] >= RANK_DIFFERENT;
	bool is_far_b = b->different[DEPTH - 1] >= RANK_DIFFERENT;

	if (is_far_a != is_far_b)
		return is_far_a;
	for (size_t i = 0; i < DEPTH; i++) {
		bool is_a = a->different[i] >= RANK_DIFFERENT;
		bool is_b = b->different[i] >= RANK_DIFFERENT;

		if (is_far_a ? is_a != is_b : a->different[i] != b->different[i])
			return is_far_a ? is_a : a->different[i] > b->different[i];
	}
	return is_more_suspicious(&a->ranked, &b->ranked);
}

struct err *rank_lists_choose(const struct rank_rows *r, const struct rank_shown *shown,
			      size_t n_shown, uint32_t *ret)
{
	_cleanup_(drop_lists) lists all = {};
	struct err *err = make_all(r, shown, n_shown, &all);
	const struct list *best = NULL;

	*ret = UINT32_MAX;
	if (!err && !all.size)
		err = make_all(r, NULL, 0, &all);
	for (size_t i = 0; i < all.size && !err; i++) {
		struct list *l = &all.data[i];

		if (n_shown)
			count_different(l, shown, n_shown);
		if (!best || (n_shown ? is_more_different(l, best) :
					is_more_suspicious(&l->ranked, &best->ranked)))
			best = l;
	}
	if (best)
		*ret = best->of;
	return err;
}
