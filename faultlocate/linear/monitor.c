// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/linear/monitor.h"

#include <string.h>

/* ---- moments become dense ----------------------------------------------------------------- */

static int by_moment(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void renumber(const uint64_t *moments, size_t n, uint64_t *at)
{
	if (*at != LIN_PENDING)
		*at = vec_rank(n, i, moments[i] < *at);
}

/* Number the moments of @p items from 0. @p ret: how many there are; what is pending stays so. */
static struct err *make_dense(fl_lin_items *items, size_t *ret)
{
	_cleanup_free_ uint64_t *moments = calloc(items->size * 4 + 1, sizeof(*moments));
	size_t n = 0;
	uint64_t last = 0;

	if (!moments)
		return &err_nomem;
	for (size_t i = 0; i < items->size; i++) {
		const uint64_t at[] = { items->data[i].push, items->data[i].pushed,
					items->data[i].pop, items->data[i].popped };

		for (int k = 0; k < 4; k++)
			if (at[k] != LIN_PENDING) {
				moments[n++] = at[k];
				last = at[k] > last ? at[k] : last;
			}
	}
	*ret = last + 1;
	if (last < 8 * n) // dense enough
		return NULL;
	qsort(moments, n, sizeof(*moments), by_moment);
	for (size_t i = 0; i < items->size; i++) {
		struct fl_lin_item *item = &items->data[i];

		renumber(moments, n, &item->push);
		renumber(moments, n, &item->pushed);
		renumber(moments, n, &item->pop);
		renumber(moments, n, &item->popped);
	}
	*ret = n;
	return NULL;
}

/* ---- gaps ----------------------------------------------------------------------------------- */

/* Gaps [from, to) in which a value is certainly inside; gap g is behind moment g. */
static uint64_t inside_from(const struct fl_lin_item *i)
{
	return i->pushed;
}

static uint64_t inside_to(const struct fl_lin_item *i, size_t n)
{
	return i->pop == LIN_PENDING ? n : i->pop;
}

static bool is_ever_inside(const struct fl_lin_item *i, size_t n)
{
	return !i->is_empty && i->pushed != LIN_PENDING &&
	       inside_from(i) < inside_to(i, n);
}

static uint64_t end_of(uint64_t moment, size_t n)
{
	return moment == LIN_PENDING ? n : moment;
}

/* Whatever the container: what comes out went in before. */
static bool comes_from_somewhere(const struct fl_lin_item *i)
{
	return i->is_empty || i->pop_op == LIN_NO_OP ||
	       (i->push_op != LIN_NO_OP && i->push < i->popped);
}

/* Each that found it empty has a gap in which nothing is certainly inside. */
static struct err *check_empty(const fl_lin_items *items, size_t n, bool *is_right)
{
	_cleanup_free_ int64_t *free_gaps = calloc(n + 2, sizeof(*free_gaps));
	int64_t inside = 0, count = 0;

	if (!free_gaps)
		return &err_nomem;
	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (is_ever_inside(item, n)) {
			free_gaps[inside_from(item)]++;
			free_gaps[inside_to(item, n)]--;
		}
	}
	// Become how many gaps before each are free.
	for (size_t g = 0; g <= n; g++) {
		inside += free_gaps[g];
		free_gaps[g] = count;
		count += !inside;
	}
	for (size_t i = 0; i < items->size; i++) {
		const struct fl_lin_item *item = &items->data[i];

		if (item->is_empty && item->popped != LIN_PENDING &&
		    free_gaps[item->popped] == free_gaps[item->pop])
			*is_right = false;
	}
	return NULL;
}

/* ---- queue ---------------------------------------------------------------------------------- */

static int by_push(const void *a, const void *b)
{
	const struct fl_lin_item *const *x = a, *const *y = b;

	return (*x)->push < (*y)->push ? -1 : (*x)->push > (*y)->push;
}

static int by_pushed(const void *a, const void *b)
{
	const struct fl_lin_item *const *x = a, *const *y = b;

	return (*x)->pushed < (*y)->pushed ? -1 : (*x)->pushed > (*y)->pushed;
}

/* The values, by what @p compare says. @p ret_n: how many. */
static const struct fl_lin_item **sorted(const fl_lin_items *items,
					 int (*compare)(const void *, const void *),
					 size_t *ret_n)
{
	const struct fl_lin_item **all = calloc(items->size + 1, sizeof(*all));

	*ret_n = 0;
	for (size_t i = 0; all && i < items->size; i++)
		if (!items->data[i].is_empty)
			all[(*ret_n)++] = &items->data[i];
	if (all)
		qsort(all, *ret_n, sizeof(*all), compare);
	return all;
}

static struct err *check_queue(const fl_lin_items *items, bool *is_right)
{
	size_t n, before = 0;
	_cleanup_free_ const struct fl_lin_item **in = sorted(items, by_push, &n);
	_cleanup_free_ const struct fl_lin_item **done = sorted(items, by_pushed, &n);
	uint64_t last_out = 0; // when the last of those that went in before may come out

	if (!in || !done)
		return &err_nomem;
	for (size_t i = 0; i < n; i++) {
		for (; before < n && done[before]->pushed < in[i]->push; before++)
			if (done[before]->pop > last_out)
				last_out = done[before]->pop;
		if (in[i]->popped < last_out)
			*is_right = false;
	}
	return NULL;
}

/* ---- priority queue ------------------------------------------------------------------------- */

static int by_value(const void *a, const void *b)
{
	const struct fl_lin_item *const *x = a, *const *y = b;

	return (*x)->value < (*y)->value ? -1 : (*x)->value > (*y)->value;
}

/* @return the first gap at or behind @p g that is free; halves the way there. */
static uint64_t next_free(uint64_t *next, uint64_t g)
{
	while (next[g] != g)
		g = next[g] = next[next[g]];
	return g;
}

static struct err *check_priority(const fl_lin_items *items, size_t n, bool *is_right)
{
	size_t n_values;
	_cleanup_free_ const struct fl_lin_item **all =
		sorted(items, by_value, &n_values);
	_cleanup_free_ uint64_t *next = calloc(n + 2, sizeof(*next));

	if (!all || !next)
		return &err_nomem;
	for (size_t g = 0; g <= n + 1; g++)
		next[g] = g;
	for (size_t i = 0; i < n_values; i++) {
		const struct fl_lin_item *v = all[i];

		if (v->pop_op != LIN_NO_OP && v->popped != LIN_PENDING &&
		    next_free(next, v->pop > v->push ? v->pop : v->push) >= v->popped)
			*is_right = false;
		if (!is_ever_inside(v, n))
			continue;
		for (uint64_t g = next_free(next, inside_from(v)); g < inside_to(v, n);
		     g = next_free(next, g))
			next[g] = g + 1;
	}
	return NULL;
}

/* ---- stack ----------------------------------------------------------------------------------- */

/* A tree over an array: of each node the best below it. */
struct tree {
	size_t leaves; ///< a power of two
	uint64_t *best;
};

/* The gaps, with in how many values each is: of each node the fewest below it, and what is to be
 * added to all of it. */
struct cover {
	size_t leaves;
	int32_t *fewest, *add;
};

/* Values by their pushes' returns; those of [from, to) that are left are certainly inside gaps
 * [lo, hi), without a free one. */
struct part {
	size_t from, to;
};

struct stack {
	size_t n, gaps;
	const struct fl_lin_item **in; ///< by pushed; only those that are ever inside
	bool *is_gone;
	struct tree push; ///< the earliest push
	struct tree pop;  ///< the latest pop, by its call
	struct cover cover;
	VEC(struct part) todo;
};

static size_t round_up(size_t n)
{
	size_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

static void cover_add(struct cover *c, size_t node, size_t lo, size_t hi, size_t from,
		      size_t to, int by)
{
	size_t middle = (lo + hi) / 2;

	if (to <= lo || hi <= from)
		return;
	if (from <= lo && hi <= to) {
		c->fewest[node] += by;
		c->add[node] += by;
		return;
	}
	cover_add(c, node * 2, lo, middle, from, to, by);
	cover_add(c, node * 2 + 1, middle, hi, from, to, by);
	c->fewest[node] = c->add[node] + (c->fewest[node * 2] < c->fewest[node * 2 + 1] ?
						  c->fewest[node * 2] :
						  c->fewest[node * 2 + 1]);
}

/* @return the first gap of [from, to) in which nothing is; @p to: there is none. @p above: what
 * is to be added to all of the node. */
static size_t cover_free(const struct cover *c, size_t node, size_t lo, size_t hi,
			 size_t from, size_t to, int above)
{
	size_t middle = (lo + hi) / 2, found;

	if (to <= lo || hi <= from || c->fewest[node] + above > 0)
		return to;
	if (hi - lo == 1)
		return lo;
	above += c->add[node];
	found = cover_free(c, node * 2, lo, middle, from, to, above);
	return found < to ? found :
			    cover_free(c, node * 2 + 1, middle, hi, from, to, above);
}

static void tree_set(struct tree *t, size_t i, uint64_t value, bool wants_most)
{
	size_t node = t->leaves + i;

	for (t->best[node] = value; node > 1; node /= 2) {
		uint64_t a = t->best[node & ~1ul], b = t->best[node | 1];

		t->best[node / 2] = (a > b) == wants_most ? a : b;
	}
}

/* The most of [from, to). */
static uint64_t tree_most(const struct tree *t, size_t from, size_t to)
{
	uint64_t most = 0;

	for (from += t->leaves, to += t->leaves; from < to; from /= 2, to /= 2) {
		if (from & 1)
			most = t->best[from] > most ? t->best[from] : most, from++;
		if (to & 1)
			to--, most = t->best[to] > most ? t->best[to] : most;
	}
	return most;
}

/* @return the first leaf of [from, to) whose value is below @p limit; @p to: there is none. */
static size_t tree_below(const struct tree *t, size_t node, size_t lo, size_t hi,
			 size_t from, size_t to, uint64_t limit)
{
	size_t middle = (lo + hi) / 2, found;

	if (to <= lo || hi <= from || t->best[node] >= limit)
		return to;
	if (hi - lo == 1)
		return lo;
	found = tree_below(t, node * 2, lo, middle, from, to, limit);
	return found < to ? found :
			    tree_below(t, node * 2 + 1, middle, hi, from, to, limit);
}

static void stack_remove(struct stack *s, size_t i)
{
	s->is_gone[i] = true;
	tree_set(&s->push, i, UINT64_MAX, false);
	tree_set(&s->pop, i, 0, true);
	cover_add(&s->cover, 1, 0, s->cover.leaves, inside_from(s->in[i]),
		  inside_to(s->in[i], s->gaps), -1);
}

static void stack_deinit(struct stack *s)
{
	free(s->in);
	free(s->is_gone);
	free(s->push.best);
	free(s->pop.best);
	free(s->cover.fewest);
	free(s->cover.add);
	vec_deinit(&s->todo);
}

static struct err *stack_init(struct stack *s, const fl_lin_items *items, size_t gaps)
{
	size_t kept = 0;

	s->gaps = gaps;
	s->in = sorted(items, by_pushed, &s->n);
	if (!s->in)
		return &err_nomem;
	for (size_t i = 0; i < s->n; i++)
		if (is_ever_inside(s->in[i], gaps))
			s->in[kept++] = s->in[i];
	s->n = kept;
	s->push.leaves = s->pop.leaves = round_up(s->n + 1);
	s->cover.leaves = round_up(gaps + 1);
	s->is_gone = calloc(s->n + 1, 1);
	s->push.best = malloc(2 * s->push.leaves * sizeof(uint64_t));
	s->pop.best = calloc(2 * s->pop.leaves, sizeof(uint64_t));
	s->cover.fewest = calloc(2 * s->cover.leaves, sizeof(int32_t));
	s->cover.add = calloc(2 * s->cover.leaves, sizeof(int32_t));
	if (!s->is_gone || !s->push.best || !s->pop.best || !s->cover.fewest ||
	    !s->cover.add)
		return &err_nomem;
	memset(s->push.best, 0xff, 2 * s->push.leaves * sizeof(uint64_t));
	for (size_t i = 0; i < s->n; i++) {
		s->push.best[s->push.leaves + i] = s->in[i]->push;
		s->pop.best[s->pop.leaves + i] = inside_to(s->in[i], gaps);
		s->cover.fewest[s->cover.leaves + inside_from(s->in[i])]++;
		s->cover.fewest[s->cover.leaves + inside_to(s->in[i], gaps)]--;
	}
	for (size_t g = 1; g < s->cover.leaves; g++)
		s->cover.fewest[s->cover.leaves + g] +=
			s->cover.fewest[s->cover.leaves + g - 1];
	for (size_t i = s->push.leaves - 1; i; i--) {
		uint64_t a = s->push.best[2 * i], b = s->push.best[2 * i + 1];

		s->push.best[i] = a < b ? a : b;
		a = s->pop.best[2 * i], b = s->pop.best[2 * i + 1];
		s->pop.best[i] = a > b ? a : b;
	}
	for (size_t i = s->cover.leaves - 1; i; i--) {
		int32_t a = s->cover.fewest[2 * i], b = s->cover.fewest[2 * i + 1];

		s->cover.fewest[i] = a < b ? a : b;
	}
	return NULL;
}

/* @return the first value of [i, to) that is left, @p to: none. */
static size_t first_left(const struct stack *s, size_t i, size_t to)
{
	while (i < to && s->is_gone[i])
		i++;
	return i;
}

/* The values of [from, to) that are left fall into parts at the gaps in which nothing is. */
static struct err *divide(struct stack *s, size_t from, size_t to)
{
	struct err *err = NULL;

	for (from = first_left(s, from, to); !err && from < to;) {
		size_t gap = cover_free(&s->cover, 1, 0, s->cover.leaves,
					inside_from(s->in[from]), s->gaps, 0);
		size_t end =
			from + vec_rank(to - from, i, inside_from(s->in[from + i]) < gap);

		err = vec_add(&s->todo, (struct part){ from, end });
		from = first_left(s, end, to);
	}
	return err;
}

/* @return the value of @p p that can be below all others there; s->n: there is none. */
static size_t lowest(const struct stack *s, const struct part *p)
{
	uint64_t first = inside_from(s->in[p->from]);
	uint64_t last = tree_most(&s->pop, p->from, p->to);

	for (size_t i = p->from; i < p->to; i++) {
		i = tree_below(&s->push, 1, 0, s->push.leaves, i, p->to, first);
		if (i < p->to && end_of(s->in[i]->popped, s->gaps + 1) > last)
			return i;
	}
	return s->n;
}

static struct err *check_stack(const fl_lin_items *items, size_t gaps, bool *is_right)
{
	struct stack s = {};
	struct err *err = stack_init(&s, items, gaps);

	if (!err)
		err = divide(&s, 0, s.n);
	while (!err && *is_right && s.todo.size) {
		struct part p = s.todo.data[--s.todo.size];
		size_t i = lowest(&s, &p);

		if (i == s.n) {
			*is_right = false;
			break;
		}
		stack_remove(&s, i);
		err = divide(&s, p.from, p.to);
	}
	stack_deinit(&s);
	return err;
}

/* ---- all ------------------------------------------------------------------------------------ */

struct err *fl_lin_monitor(enum fl_lin_object_kind kind, fl_lin_items *items,
			   bool *ret_is_right)
{
	size_t n = 0;
	struct err *err = make_dense(items, &n);

	*ret_is_right = true;
	for (size_t i = 0; i < items->size; i++)
		*ret_is_right &= comes_from_somewhere(&items->data[i]);
	if (err || !*ret_is_right)
		return err;
	err = kind == LIN_QUEUE ? check_queue(items, ret_is_right) :
	      kind == LIN_STACK ? check_stack(items, n, ret_is_right) :
				  check_priority(items, n, ret_is_right);
	return err || !*ret_is_right ? err : check_empty(items, n, ret_is_right);
}
