// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Algorithm 6 of paper 001: over prefixes of operations, with the pairs of their sub-operations.
 * A prefix is its last sub-operation's number. The listing's closure adds what *can* be reversed; the
 * prose and the proof need what cannot.
 */
#include <string.h>

#include "faultlocate/linear/pairs.h"

enum { MOST_ORDERS = 1 << 16 };

struct proving {
	const struct fl_lin_steps *steps;
	const struct fl_lin_pairs *pairs;
	size_t n;
	// Of prefix x and prefix y (x * 2 * n + y), or sub-operation y - n alone.
	struct {
		bool is_known, is_orderable, is_reversible;
	} * between;
};

/* Orders of two sequences: cell (i, j) of the paths from (0, 0) to (m, n), a bit a step. */
struct orders {
	uint64_t *seen;
	size_t size, capacity;
	size_t m, n;
};

static bool visit(struct orders *o, uint64_t order)
{
	for (size_t k = order * 0x9e3779b97f4a7c15ull >> 47;; k++) {
		k &= o->capacity - 1;
		if (o->seen[k] == order + 1)
			return false;
		if (!o->seen[k]) {
			o->seen[k] = order + 1;
			o->size++;
			return true;
		}
	}
}

/* Sub-operation number @p k of x.y in order @p order (bit set: of y). */
static size_t at(uint64_t order, size_t k, size_t first_x, size_t first_y, bool *of_y)
{
	size_t before = __builtin_popcountll(order & ((1ull << k) - 1));

	*of_y = order >> k & 1;
	return *of_y ? first_y + before : first_x + k - before;
}

/* All orders of x.y that reversals lead to: can all happen? Is y.x among them? */
static struct err *relate(struct proving *p, size_t first_x, size_t m, size_t first_y,
			  size_t n, bool *is_orderable, bool *is_reversible)
{
	struct orders o = { .capacity = MOST_ORDERS * 2, .m = m, .n = n };
	uint64_t *todo, first = ((1ull << n) - 1) << m, goal = (1ull << n) - 1;
	size_t n_todo = 0;

	*is_orderable = true;
	*is_reversible = false;
	if (m == 1 && n == 1) {
		*is_orderable = fl_lin_pair(p->pairs, first_x, first_y)->is_orderable;
		*is_reversible = fl_lin_pair(p->pairs, first_x, first_y)->is_reversible;
		return NULL;
	}
	if (m + n > 60)
		return err_new(ERR_RANGE, "operations of over 30 sub-operations");
	o.seen = calloc(o.capacity, sizeof(*o.seen));
	todo = calloc(MOST_ORDERS + 1, sizeof(*todo));
	if (!o.seen || !todo) {
		free(o.seen);
		free(todo);
		return &err_nomem;
	}
	visit(&o, first);
	todo[n_todo++] = first;
	while (n_todo && *is_orderable) {
		uint64_t order = todo[--n_todo];

		*is_reversible |= order == goal;
		for (size_t k = 0; k + 1 < m + n; k++) {
			bool a_of_y, b_of_y;
			size_t a = at(order, k, first_x, first_y, &a_of_y);
			size_t b = at(order, k + 1, first_x, first_y, &b_of_y);
			const struct fl_lin_pair *pair = fl_lin_pair(p->pairs, a, b);
			uint64_t other = order ^ 3ull << k;

			if (a_of_y == b_of_y)
				continue;
			if (!pair->is_orderable) {
				*is_orderable = false;
				break;
			}
			// With too many orders what is not found is not reversible.
			if (pair->is_reversible && o.size < MOST_ORDERS &&
			    visit(&o, other))
				todo[n_todo++] = other;
		}
	}
	*is_reversible &= *is_orderable;
	free(o.seen);
	free(todo);
	return NULL;
}

/* Prefix @p x, then prefix @p y; or with @p is_step sub-operation y alone. */
static struct err *between(struct proving *p, size_t x, size_t y, bool is_step,
			   bool *is_orderable, bool *is_reversible)
{
	__typeof__(p->between) b = &p->between[x * 2 * p->n + (is_step ? p->n : 0) + y];
	size_t from_x = p->steps->of[p->steps->data[x].operation];
	size_t from_y = is_step ? y : p->steps->of[p->steps->data[y].operation];
	struct err *err = NULL;

	if (!b->is_known)
		err = relate(p, from_x, x - from_x + 1, from_y, y - from_y + 1,
			     &b->is_orderable, &b->is_reversible);
	b->is_known = true;
	*is_orderable = b->is_orderable;
	*is_reversible = b->is_reversible;
	return err;
}

/* Closure(x), breadth first: @p from[y] is what y came behind, SIZE_MAX: not in it. */
static struct err *close_over(struct proving *p, size_t x, size_t *from, size_t *queue,
			      size_t *n)
{
	struct err *err = NULL;

	memset(from, 0xff, p->n * sizeof(*from));
	*n = 0;
	for (size_t k = 0; k <= *n && !err; k++) {
		size_t z = k ? queue[k - 1] : x;

		for (size_t w = 0; w < p->n && !err; w++) {
			bool is_orderable, is_reversible;

			if (from[w] != SIZE_MAX)
				continue;
			err = between(p, z, w, false, &is_orderable, &is_reversible);
			if (err || !is_orderable || is_reversible)
				continue;
			from[w] = k ? z : p->n;
			queue[(*n)++] = w;
		}
	}
	return err;
}

static struct err *tell(struct proving *p, size_t x, size_t y, const size_t *from,
			struct fl_lin_proof *ret)
{
	size_t n = 1, k;

	for (size_t z = y; z != p->n; z = from[z])
		n++;
	if (vec_reserve(&ret->last, n))
		return &err_nomem;
	ret->last.size = k = n;
	for (size_t z = y; z != p->n; z = from[z])
		ret->last.data[--k] = z;
	ret->last.data[0] = x;
	ret->next = x + 1;
	ret->is_proven = false;
	return NULL;
}

/* CHECK(x) */
static struct err *check(struct proving *p, size_t x, size_t *from, size_t *queue,
			 struct fl_lin_proof *ret)
{
	size_t n;
	struct err *err = close_over(p, x, from, queue, &n);

	for (size_t k = 0; k < n && !err; k++) {
		bool is_orderable, is_reversible;

		err = between(p, queue[k], x + 1, true, &is_orderable, &is_reversible);
		if (!err && is_orderable && !is_reversible)
			return tell(p, x, queue[k], from, ret);
	}
	return err;
}

struct err *fl_lin_prove(const struct fl_lin_steps *steps,
			 const struct fl_lin_pairs *pairs, struct fl_lin_proof *ret)
{
	struct proving p = { .steps = steps, .pairs = pairs, .n = steps->size };
	size_t *from = calloc(p.n * 2 + 2, sizeof(*from));
	struct err *err = NULL;

	p.between = calloc(p.n * p.n * 2, sizeof(*p.between));
	ret->is_proven = true;
	if (!from || !p.between)
		err = &err_nomem;
	for (size_t x = 0; x < p.n && !err && ret->is_proven; x++)
		if (!steps->data[x].is_last && pairs->move[x + 1] == MOVE_BY_PAIRS)
			err = check(&p, x, from, from + p.n, ret);
	free(from);
	free(p.between);
	return err;
}

void fl_lin_proof_deinit(struct fl_lin_proof *proof)
{
	vec_deinit(&proof->last);
}
