// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is one report? A statement that goes astray does so again and again, in a loop, by the
 * instructions that the compiler made of it, and through the functions of a library: that is
 * one. So are the statements of one loop that leave the same allocation, and whoever reads what
 * was written there.
 */
#include "heapgraph/hg_access_int.h"

#include <string.h>

#include "base/hash.h"

/* ---- calls ------------------------------------------------------------------------------ */

void hg_chain_list(const struct frames *frames, uint64_t statement, struct hg_chain *ret)
{
	const struct frame *stack = frames->stack.data;
	uint32_t top = frames->stack.size ? stack[frames->stack.size - 1].own : 0;
	uint32_t own = top;

	// What lies inside of the statement is a library's.
	while (own && stack[own - 1].return_rip - 1 != statement)
		own = own > 1 ? stack[own - 2].own : 0;
	if (own)
		top = own > 1 ? stack[own - 2].own : 0;
	ret->n = 0;
	for (own = top;
	     own && ret->n<HG_ACCESS_CALLERS; own = own> 1 ? stack[own - 2].own : 0)
		ret->rip[ret->n++] = stack[own - 1].return_rip - 1;
}

static bool is_same_chain(const struct hg_chain *a, const struct hg_chain *b)
{
	return a->n == b->n && !memcmp(a->rip, b->rip, a->n * sizeof(*a->rip));
}

static uint64_t chain_key(const struct hg_chain *c)
{
	uint64_t key = c->n;

	for (uint32_t i = 0; i < c->n; i++)
		key = hg_derive_key(key, c->rip[i]);
	return key;
}

/* The number of @p c, the same for all that are the same; 0: out of memory. */
static uint32_t chain_number(struct hg_reports *r, const struct hg_chain *c)
{
	uint64_t key = chain_key(c);
	const uint64_t *known = map_get(&r->numbers, key);

	if (known)
		return *known;
	if (vec_add(&r->chains, *c) || map_put(&r->numbers, key, r->chains.size))
		return 0;
	return r->chains.size;
}

struct err *hg_reports_allocated(struct hg_finder *f, struct hg_node_id id)
{
	struct hg_reports *r = &f->reports;
	struct hg_chain chain = {};

	while (r->allocated.size < id.v)
		if (!vec_push(&r->allocated))
			return &err_nomem;
	hg_chain_list(f->frames, hg_graph_node(f->graph, id)->alloc_rip, &chain);
	r->allocated.data[id.v - 1] = chain_number(r, &chain);
	return r->allocated.data[id.v - 1] ? NULL : &err_nomem;
}

void hg_access_allocated(const struct hg_finder *f, struct hg_node_id id,
			 struct hg_chain *ret)
{
	const struct hg_reports *r = &f->reports;
	uint64_t rip = hg_graph_node(f->graph, id)->alloc_rip;
	uint32_t number = id.v <= r->allocated.size ? r->allocated.data[id.v - 1] : 0;
	const struct hg_chain *c = number ? &r->chains.data[number - 1] : NULL;
	uint32_t skip = 0;

	ret->n = 0;
	if (!c)
		return;
	// Where the allocation is named by a caller of a wrapper, those further out.
	for (uint32_t i = 0; i < c->n; i++)
		if (c->rip[i] == rip)
			skip = i + 1;
	for (uint32_t i = skip; i < c->n; i++)
		ret->rip[ret->n++] = c->rip[i];
}

/* ---- lines ------------------------------------------------------------------------------ */

static uint64_t text_key(uint64_t key, const char *text)
{
	return hg_derive_key(hash_text(key, text), 1);
}

// With what was inlined where; without lines the instruction's own.
uint64_t hg_reports_line(struct hg_finder *f, uint64_t rip)
{
	const uint64_t *known = map_get(&f->reports.lines, rip);
	struct dec_place p = {};
	uint64_t key;

	if (known)
		return *known;
	dec_symbols_place(f->frames->symbols, rip, &p);
	if (!p.line)
		return rip;
	key = text_key(text_key(text_key(p.line, p.file), p.function), p.outer);
	for (uint32_t i = 0; i < p.n_inlined; i++)
		key = text_key(hg_derive_key(key, p.inlined[i].line), p.inlined[i].file);
	// What cannot be kept is asked again.
	map_put(&f->reports.lines, rip, key);
	return key;
}

static uint64_t function_key(struct hg_finder *f, uint64_t rip)
{
	struct dec_place p = {};

	dec_symbols_place(f->frames->symbols, rip, &p);
	return p.outer ? text_key(0, p.outer) : rip;
}

/* ---- one access ------------------------------------------------------------------------- */

static uint64_t site_of(const struct hg_finder *f, struct hg_node_id id)
{
	return id.v ? hg_graph_node(f->graph, id)->alloc_rip : 0;
}

/* The user's derivations from the allocation on. */
static void list_steps(const struct hg_finder *f, uint32_t number, struct hg_access *a)
{
	uint32_t chain[HG_ACCESS_STEPS * 8];
	size_t n = 0;

	for (; number && n < sizeof(chain) / sizeof(*chain);
	     number = hg_derive_get(&f->derive, number)->parent)
		chain[n++] = number;
	for (; n && a->n_steps < HG_ACCESS_STEPS; n--) {
		const struct hg_derivation *d = hg_derive_get(&f->derive, chain[n - 1]);

		if (!d->parent || dec_frames_is_own(f->frames, d->rip))
			a->step[a->n_steps++] =
				(struct hg_access_step){ d->time, d->rip, d->offset };
	}
}

/* Where @p x is, as hg_access.least is. */
static int64_t begin_of(const struct hg_finder *f, const struct hg_suspect *x,
			bool *is_behind)
{
	const struct hg_node *n =
		hg_graph_node(f->graph, hg_derive_get(&f->derive, x->derivation)->node);

	*is_behind = x->kind == HG_ACCESS_BEYOND && x->addr >= n->start;
	return x->addr - n->start - (*is_behind ? n->size : 0);
}

/* Accesses, one behind the other, went up to the node's end: who does that means the whole. What is
 * less than a vector may be left to others. */
static void end_run(struct hg_access *a, struct hg_access_run *r)
{
	uint64_t left = r->whole_end - r->end;

	if (r->whole_end && (!left || (r->size >= 16 && left < r->size)))
		a->excused += r->count;
	r->count = 0;
}

static void follow_run(struct hg_access *a, const struct hg_suspect *x)
{
	struct hg_access_run *r = &a->run[x->is_write];

	if (x->addr != r->end)
		end_run(a, r);
	r->end = x->addr + x->size;
	r->size = x->size;
	r->whole_end = x->whole_end;
	r->count += !x->is_quiet;
}

/* @p a is one more: @p x. */
static void count(struct hg_finder *f, struct hg_access *a, const struct hg_suspect *x,
		  uint64_t statement)
{
	uint32_t size = x->size < UINT32_MAX ? x->size : UINT32_MAX;
	bool is_behind;
	int64_t begin = begin_of(f, x, &is_behind);
	struct hg_chain chain;
	uint64_t i;

	a->least = a->count && a->least < begin ? a->least : begin;
	a->most = a->count && a->most > begin ? a->most : begin;
	a->end = a->count && a->end > begin + size ? a->end : begin + size;
	a->size_least = a->count && a->size_least < size ? a->size_least : size;
	a->size_most = a->size_most > size ? a->size_most : size;
	a->count++;
	a->writes += x->is_write;
	a->is_write |= x->is_write;
	a->last_time = x->position;
	follow_run(a, x);
	if (!a->to.v)
		a->to = x->to;
	hg_chain_list(f->frames, statement, &chain);
	for (i = 0; i < a->n_chains && i < HG_ACCESS_CHAINS; i++)
		if (is_same_chain(&a->chain[i], &chain))
			return;
	if (i < HG_ACCESS_CHAINS)
		a->chain[i] = chain;
	a->n_chains++;
}

static void begin(struct hg_finder *f, struct hg_access *a, const struct hg_suspect *x,
		  uint64_t statement)
{
	struct hg_node_id from = hg_derive_get(&f->derive, x->derivation)->node;

	*a = (struct hg_access){
		.kind = x->kind,
		.time = x->position,
		.rip = statement,
		.function = function_key(f, statement),
		.pc = x->pc,
		.addr = x->addr,
		.size = x->size < UINT32_MAX ? x->size : UINT32_MAX,
		.from = from,
		.field = x->field,
		.field_length = x->field_length,
	};
	begin_of(f, x, &a->is_behind);
	list_steps(f, x->derivation, a);
	hg_access_allocated(f, from, &a->allocated);
}

/* Which rule does @p x break? */
static int judge(const struct hg_finder *f, const struct hg_suspect *x,
		 struct hg_node_id from)
{
	const struct hg_judged j = { x->is_write, x->position,	 x->addr,    x->size,
				     from,	  x->part_start, x->part_end };

	return f->judge.access(f->judge.ctx, &j);
}

struct err *hg_reports_add(struct hg_finder *f, const struct hg_suspect *x)
{
	struct hg_node_id from = hg_derive_get(&f->derive, x->derivation)->node;
	uint64_t statement = x->statement ? x->statement :
					    dec_frames_statement(f->frames, x->pc);
	bool is_behind;
	uint64_t key, *known;
	int rule;

	f->n_wrong++;
	rule = judge(f, x, from);
	if (rule < 0)
		return NULL;
	begin_of(f, x, &is_behind);
	key = hg_derive_key(hg_reports_line(f, statement), x->kind << 1 | is_behind);
	key = hg_derive_key(key, rule);
	key = hg_derive_key(hg_derive_key(key, site_of(f, from)), (uintptr_t)x->field);
	known = map_get(&f->reports.seen, key);
	if (x->is_quiet) {
		if (known)
			follow_run(&f->found->data[*known - 1], x);
		return NULL;
	}
	if (!known) {
		struct hg_access *a = vec_push(f->found);

		if (!a || map_put(&f->reports.seen, key, f->found->size))
			return &err_nomem;
		begin(f, a, x, statement);
		a->rule = rule;
		known = map_get(&f->reports.seen, key);
	}
	count(f, &f->found->data[*known - 1], x, statement);
	return NULL;
}

/* ---- what belongs together -------------------------------------------------------------- */

// No round of a loop that is one statement behind the other has more instructions.
#define ROUND 100

/* Does @p b go astray in the loop in which @p a does? Their rounds alternate; of a single one both
 * are close, to bytes side by side. */
static bool is_same_loop(const struct hg_finder *f, const struct hg_access *a,
			 const struct hg_access *b)
{
	if (a->function != b->function || site_of(f, a->from) != site_of(f, b->from))
		return false;
	return b->time < a->last_time ||
	       (b->time - a->last_time < ROUND && a->from.v == b->from.v &&
		b->least <= a->end && b->end >= a->least);
}

static int64_t outside(const struct hg_access *a)
{
	return a->is_behind && a->least < 0 ? 0 : a->least;
}

/* Does @p b read what @p a wrote before? */
static bool is_consequence(const struct hg_access *a, const struct hg_access *b)
{
	return a->writes && !b->writes && a->from.v == b->from.v &&
	       outside(b) >= outside(a) && b->end <= a->end;
}

static void join(struct hg_access *a, const struct hg_access *b, bool is_part)
{
	if (a->n_others < HG_ACCESS_OTHERS)
		a->other[a->n_others] = (struct hg_access_other){ b->rip, b->count,
								  b->is_write, is_part };
	a->n_others++;
	if (!is_part)
		return;
	a->count += b->count;
	a->writes += b->writes;
	a->is_write |= b->is_write;
	a->last_time = b->last_time > a->last_time ? b->last_time : a->last_time;
	a->size_least = b->size_least < a->size_least ? b->size_least : a->size_least;
	a->size_most = b->size_most > a->size_most ? b->size_most : a->size_most;
	a->least = b->least < a->least ? b->least : a->least;
	a->most = b->most > a->most ? b->most : a->most;
	a->end = b->end > a->end ? b->end : a->end;
}

/* Does @p b belong to @p a? Then it is added there. */
static bool join_one(const struct hg_finder *f, struct hg_access *a,
		     const struct hg_access *b)
{
	bool is_part;

	if (a->kind != b->kind || a->rule != b->rule || a->field != b->field ||
	    a->is_behind != b->is_behind)
		return false;
	is_part = is_same_loop(f, a, b);
	if (!is_part && !is_consequence(a, b))
		return false;
	join(a, b, is_part);
	return true;
}

void hg_access_finish(const struct hg_finder *f)
{
	struct hg_access *found = f->found->data;
	size_t n = 0;

	for (size_t i = 0; i < f->found->size; i++) {
		bool is_joined;

		end_run(&found[i], &found[i].run[0]);
		end_run(&found[i], &found[i].run[1]);
		is_joined = found[i].excused == found[i].count;
		for (size_t k = 0; k < n && !is_joined; k++)
			is_joined = join_one(f, &found[k], &found[i]);
		if (!is_joined)
			found[n++] = found[i];
	}
	f->found->size = n;
}

void hg_reports_deinit(struct hg_reports *r)
{
	map_deinit(&r->lines);
	map_deinit(&r->seen);
	map_deinit(&r->numbers);
	vec_deinit(&r->chains);
	vec_deinit(&r->allocated);
}
