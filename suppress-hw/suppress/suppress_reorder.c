// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Variable reordering (paper 003, Figure 5.5): a run that does not crash is made with other orderings of
 * its variables until it does.
 */
#include "suppress-hw/suppress/suppress_int.h"

#define ORDERINGS_MAX 256 ///< runs to look for one
#define APART (1u << 16)  ///< bytes between a pair, with which an overflow meets nothing

static const char *const space_names[] = {
	[SUP_STACK] = "stack", [SUP_GLOBALS] = "globals", [SUP_HEAP] = "heap"
};

static struct err *find_variables(struct sup_session *s)
{
	struct err *err = NULL;

	if (!s->has_variables)
		err = sup_variables_find(s->machine, s->ret->symbols, s->end,
					 &s->variables);
	s->has_variables = !err;
	return err;
}

/* Points are counted from where the variables have their places on. */
static struct err *begin_there(struct sup_session *s)
{
	uint64_t begin = s->variables.begin;
	struct err *err = NULL;

	if (s->ask.n_points)
		err = sup_recount(s, begin);
	s->begin = begin;
	return err ?: sup_calls(s, begin);
}

/* The run with s->order, without origins. */
static struct err *try_order(struct sup_session *s, struct dec_outcome *ret)
{
	struct dec_branch plain = { .limit = sup_limit(s, s->begin),
				    .is_laid_out = true };
	struct dec_nullify ask = s->ask;
	struct dec_nullified told;
	struct dec_where w;
	struct err *err;

	ask.full_from = UINT64_MAX;
	if (s->ask.n_points)
		return sup_branch(s, s->begin, &ask, plain.limit, ret, &told);
	err = dec_machine_seek(s->machine, s->begin, &w);
	if (!err)
		err = dec_machine_lay_out(s->machine, s->order.moves.data,
					  s->order.moves.size);
	if (!err)
		err = dec_machine_branches(s->machine, &plain, 1, 1);
	*ret = plain.outcome;
	return err;
}

static struct err *make_order(struct sup_session *s, enum sup_space space, size_t k,
			      uint64_t apart)
{
	struct dec_where w;
	struct err *err = dec_machine_seek(s->machine, s->variables.begin, &w);

	sup_order_deinit(&s->order);
	return err   ?:
		       sup_order_make(s->machine, &s->variables, space, k, apart,
				      &s->order);
}

/* Does it crash with global variables elsewhere, but not beside each other? Then not because one ran into
 * the other. */
static struct err *crashes_apart(struct sup_session *s, size_t k, bool *ret)
{
	struct dec_outcome o;
	struct err *err = make_order(s, SUP_GLOBALS, k, APART);

	if (!err)
		err = try_order(s, &o);
	*ret = !err && sup_is_crash(&o);
	return err ?: make_order(s, SUP_GLOBALS, k, 0);
}

/* The @p k-th ordering of @p space: does it crash? */
static struct err *look_at(struct sup_session *s, enum sup_space space, size_t k,
			   bool *found)
{
	struct dec_outcome o;
	bool is_apart = false;
	struct err *err = make_order(s, space, k, 0);

	*found = false;
	if (err || !s->order.moves.size)
		return err;
	s->ret->n_orderings++;
	err = try_order(s, &o);
	if (!err && sup_is_crash(&o) && space == SUP_GLOBALS)
		err = crashes_apart(s, k, &is_apart);
	*found = !err && sup_is_crash(&o) && !is_apart;
	return err;
}

/* It is found: it is told of, and followed. */
static struct err *keep(struct sup_session *s, unsigned n_runs)
{
	struct sup_ordering o = { .space = space_names[s->order.space],
				  .n_runs = n_runs };
	struct err *err = NULL;

	for (size_t i = 0; i < s->order.pairs.size && !err; i++)
		err = lines_add(&o.pairs, "%s", s->order.pairs.data[i]);
	if (!err)
		err = vec_add(&s->ret->orderings, o);
	if (err)
		lines_deinit(&o.pairs);
	s->crash_before = 0;
	return err ?: sup_run_altered(s, s->begin, sup_limit(s, s->begin));
}

/* All orderings of @p space, until one is found. */
static struct err *look_through(struct sup_session *s, enum sup_space space, bool *found)
{
	size_t n = sup_orders(&s->variables, space);
	struct err *err = NULL;

	for (size_t k = 0; k < n && k < ORDERINGS_MAX && !err && !*found; k++)
		err = look_at(s, space, k, found);
	if (n > ORDERINGS_MAX && !err && !*found)
		err = lines_add(&s->ret->notes, "of %zu orderings of %s %d were tried", n,
				space_names[space], ORDERINGS_MAX);
	return err;
}

struct err *sup_reorder(struct sup_session *s, bool *found)
{
	static const enum sup_space fewer_globals[] = { SUP_HEAP, SUP_GLOBALS,
							SUP_STACK },
				    fewer_frames[] = { SUP_HEAP, SUP_STACK, SUP_GLOBALS };
	unsigned before = s->ret->n_orderings;
	const enum sup_space *spaces;
	struct err *err;

	*found = false;
	sup_order_deinit(&s->order);
	err = find_variables(s);
	if (err && err->code == ERR_NOT_FOUND) {
		struct err *add = lines_add(&s->ret->notes, "no variables are moved: %s",
					    err->message);

		err_destroy(err);
		return add;
	}
	if (!err)
		err = begin_there(s);
	if (err)
		return err;
	// Where there are fewer to be tried they are tried first.
	spaces = sup_orders(&s->variables, SUP_GLOBALS) <
				 sup_orders(&s->variables, SUP_STACK) ?
			 fewer_globals :
			 fewer_frames;
	for (int i = 0; i < SUP_SPACES && !err && !*found; i++)
		err = look_through(s, spaces[i], found);
	if (!*found)
		sup_order_deinit(&s->order);
	return err || !*found ? err : keep(s, s->ret->n_orderings - before);
}
