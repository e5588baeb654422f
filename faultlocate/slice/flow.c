// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A function is what its entry leads to, by jumps that are not to another entry. A place that two
 * lead to (a shared tail) is of the first; to the others it is an exit.
 */

#include "faultlocate/slice/flow.h"

#include <stdlib.h>
#include <string.h>

// More than any function has; one that is longer than this is cut there.
#define FLOW_INSNS (1u << 19)

struct flow_block {
	uint32_t function;
	uint32_t first_parent, n_parents;
};

/** An indirect jump's target; the next one of the same jump. */
struct flow_target {
	uint64_t to;
	uint32_t next;
};

struct flow {
	flow_code_fn code;
	flow_ends_fn ends;
	void *ctx;
	struct map entries; ///< rip -> 1
	VEC(uint64_t) entry;
	size_t n_built;
	struct map jumps; ///< rip -> index into targets of the last one
	VEC(struct flow_target) targets;
	struct map block_of; ///< rip -> block
	VEC(struct flow_block) blocks;
	VEC(uint32_t) parents;
	uint32_t n_functions;
};

struct err *fl_flow_create(flow_code_fn code, flow_ends_fn ends, void *ctx,
			   struct flow **ret)
{
	struct flow *f = calloc(1, sizeof(*f));

	if (!f)
		return &err_nomem;
	f->code = code;
	f->ends = ends;
	f->ctx = ctx;
	*ret = f;
	return NULL;
}

void fl_flow_destroy(struct flow *f)
{
	if (!f)
		return;
	map_deinit(&f->entries);
	map_deinit(&f->jumps);
	map_deinit(&f->block_of);
	vec_deinit(&f->entry);
	vec_deinit(&f->targets);
	vec_deinit(&f->blocks);
	vec_deinit(&f->parents);
	free(f);
}

struct err *fl_flow_entry(struct flow *f, uint64_t rip)
{
	if (map_get(&f->entries, rip))
		return NULL;
	if (map_put(&f->entries, rip, 1))
		return &err_nomem;
	return vec_add(&f->entry, rip);
}

struct err *fl_flow_jump(struct flow *f, uint64_t from, uint64_t to)
{
	const uint64_t *last = map_get(&f->jumps, from);
	uint32_t next = last ? *last : FLOW_NONE;
	struct err *err;

	for (uint32_t i = next; i != FLOW_NONE; i = f->targets.data[i].next)
		if (f->targets.data[i].to == to)
			return NULL;
	err = vec_add(&f->targets, (struct flow_target){ to, next });
	if (!err && map_put(&f->jumps, from, f->targets.size - 1))
		err = &err_nomem;
	return err;
}

/* ---- a function's code ------------------------------------------------------------------- */

struct code {
	uint64_t rip, next, target;
	uint8_t flow;
	bool is_leader; ///< a block begins here
	bool is_last;	///< what follows is not reached from here
};

/** A function being found. */
struct body {
	struct flow *f;
	uint64_t entry;
	VEC(struct code) code; ///< by address, once they are sorted
	struct map at;	       ///< rip -> index into code
	VEC(uint64_t) work;
	VEC(uint32_t) first;	///< of the blocks: their first instructions
	VEC(uint32_t) from, to; ///< edges between blocks; to n_blocks: an exit
	uint32_t n_blocks;
	uint32_t *order, *number; ///< reverse graph in post order; block -> its place
	uint32_t *idom;		  ///< n_blocks + 1
};

static void body_deinit(struct body *b)
{
	vec_deinit(&b->code);
	vec_deinit(&b->work);
	vec_deinit(&b->first);
	vec_deinit(&b->from);
	vec_deinit(&b->to);
	map_deinit(&b->at);
	free(b->order);
	free(b->number);
	free(b->idom);
}

/* @return whether the function goes on at @p rip. */
static bool is_inside(const struct body *b, uint64_t rip)
{
	return (rip == b->entry || !map_get(&b->f->entries, rip)) &&
	       !map_get(&b->f->block_of, rip);
}

static struct err *visit(struct body *b, uint64_t rip)
{
	return is_inside(b, rip) ? vec_add(&b->work, rip) : NULL;
}

/* Where @p c goes to, other than to its successor. */
static struct err *visit_targets(struct body *b, const struct code *c)
{
	const uint64_t *last;
	struct err *err = NULL;

	if (c->flow == DEC_FLOW_JMP || c->flow == DEC_FLOW_JCC ||
	    c->flow == DEC_FLOW_JRCX)
		return visit(b, c->target);
	last = c->flow == DEC_FLOW_JMP_IND ? map_get(&b->f->jumps, c->rip) : NULL;
	for (uint32_t i = last ? *last : FLOW_NONE; i != FLOW_NONE && !err;
	     i = b->f->targets.data[i].next)
		err = visit(b, b->f->targets.data[i].to);
	return err;
}

static bool ends_way(const struct body *b, const struct dec_insn *insn)
{
	switch (insn->flow) {
	case DEC_FLOW_JMP:
	case DEC_FLOW_JMP_IND:
	case DEC_FLOW_RET:
	case DEC_FLOW_TRAP:
	case DEC_FLOW_FORBIDDEN:
		return true;
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		return b->f->ends(b->f->ctx, insn->rip, insn->rip + insn->len);
	default:
		return false;
	}
}

/* Follow the code at @p rip until it is known or leaves. */
static struct err *walk(struct body *b, uint64_t rip)
{
	struct err *err = NULL;

	while (!err && is_inside(b, rip) && !map_get(&b->at, rip) &&
	       b->code.size < FLOW_INSNS) {
		struct dec_insn insn;
		struct code c = { .rip = rip };

		if (!b->f->code(b->f->ctx, rip, &insn))
			return NULL;
		c.next = rip + insn.len;
		c.target = insn.target;
		c.flow = insn.flow;
		c.is_last = ends_way(b, &insn);
		err = vec_add(&b->code, c);
		if (!err && map_put(&b->at, rip, 1))
			err = &err_nomem;
		if (!err)
			err = visit_targets(b, &c);
		if (c.is_last)
			break;
		rip = c.next;
	}
	return err;
}

static int by_address(const void *a, const void *b)
{
	const struct code *x = a, *y = b;

	return x->rip < y->rip ? -1 : x->rip > y->rip;
}

static struct err *find_code(struct body *b)
{
	struct err *err = visit(b, b->entry);

	while (!err && b->work.size)
		err = walk(b, b->work.data[--b->work.size]);
	if (err)
		return err;
	vec_sort(&b->code, by_address);
	for (size_t i = 0; i < b->code.size; i++)
		if (map_put(&b->at, b->code.data[i].rip, i))
			return &err_nomem;
	return NULL;
}

/* ---- its blocks and edges ------------------------------------------------------------------ */

static bool is_branch(const struct code *c)
{
	return c->flow == DEC_FLOW_JCC || c->flow == DEC_FLOW_JRCX;
}

static void lead(struct body *b, uint64_t rip)
{
	const uint64_t *at = map_get(&b->at, rip);

	if (at)
		b->code.data[*at].is_leader = true;
}

static void find_leaders(struct body *b)
{
	lead(b, b->entry);
	for (size_t i = 0; i < b->code.size; i++) {
		struct code *c = &b->code.data[i];
		const uint64_t *last = c->flow == DEC_FLOW_JMP_IND ?
					       map_get(&b->f->jumps, c->rip) :
					       NULL;

		if (is_branch(c) || c->flow == DEC_FLOW_JMP)
			lead(b, c->target);
		if (is_branch(c) || c->is_last)
			lead(b, c->next);
		for (uint32_t t = last ? *last : FLOW_NONE; t != FLOW_NONE;
		     t = b->f->targets.data[t].next)
			lead(b, b->f->targets.data[t].to);
		// What lies before it in memory need not be what ran before it.
		if (i && c[-1].next != c->rip)
			c->is_leader = true;
	}
}

/* An edge from block @p from to where @p rip is. */
static struct err *edge(struct body *b, const uint32_t *block, uint32_t from,
			uint64_t rip)
{
	const uint64_t *at = map_get(&b->at, rip);
	struct err *err = vec_add(&b->from, from);

	return err ?: vec_add(&b->to, at ? block[*at] : b->n_blocks);
}

/* Edges out of block @p from, whose last instruction is @p c. */
static struct err *edges(struct body *b, const uint32_t *block, uint32_t from,
			 const struct code *c)
{
	const uint64_t *last =
		c->flow == DEC_FLOW_JMP_IND ? map_get(&b->f->jumps, c->rip) : NULL;
	struct err *err = NULL;

	if (is_branch(c) || c->flow == DEC_FLOW_JMP)
		err = edge(b, block, from, c->target);
	for (uint32_t t = last ? *last : FLOW_NONE; t != FLOW_NONE && !err;
	     t = b->f->targets.data[t].next)
		err = edge(b, block, from, b->f->targets.data[t].to);
	if (!err && !c->is_last)
		err = edge(b, block, from, c->next);
	else if (!err && c->flow != DEC_FLOW_JMP && !last)
		err = edge(b, block, from, 0); // an exit
	return err;
}

static struct err *find_blocks(struct body *b)
{
	_cleanup_free_ uint32_t *block = calloc(b->code.size + 1, sizeof(*block));
	struct err *err = block ? NULL : &err_nomem;

	find_leaders(b);
	for (size_t i = 0; i < b->code.size && !err; i++) {
		if (b->code.data[i].is_leader)
			err = vec_add(&b->first, i);
		block[i] = b->first.size - 1;
	}
	b->n_blocks = b->first.size;
	for (size_t i = 0; i < b->code.size && !err; i++)
		if (i + 1 == b->code.size || b->code.data[i + 1].is_leader)
			err = edges(b, block, block[i], &b->code.data[i]);
	return err;
}

/* ---- postdominators -------------------------------------------------------------------------- */

/** Neighbours of each block: those of n are to[first[n]] .. to[first[n + 1]]. */
struct neighbours {
	uint32_t *first, *to;
};

static void neighbours_deinit(struct neighbours *n)
{
	free(n->first);
	free(n->to);
}

/* Gather the other ends @p to of @p n edges by @p from. */
static struct err *gather(const uint32_t *from, const uint32_t *to, size_t n,
			  uint32_t n_blocks, struct neighbours *ret)
{
	neighbours_deinit(ret);
	ret->first = calloc(n_blocks + 2, sizeof(*ret->first));
	ret->to = calloc(n + 1, sizeof(*ret->to));
	if (!ret->first || !ret->to)
		return &err_nomem;
	for (size_t i = 0; i < n; i++)
		ret->first[from[i] + 1]++;
	for (uint32_t i = 0; i < n_blocks; i++)
		ret->first[i + 1] += ret->first[i];
	ret->first[n_blocks + 1] = n;
	// Filled from their ends, which leaves each first[i] one place too far back.
	for (size_t i = n; i--;)
		ret->to[--ret->first[from[i] + 1]] = to[i];
	memmove(ret->first, ret->first + 1, n_blocks * sizeof(*ret->first));
	ret->first[n_blocks] = n;
	return NULL;
}

/* Number in post order what leads to the exit, going back along edges. */
static uint32_t number(struct body *b, const struct neighbours *before, uint32_t *stack,
		       uint32_t *next)
{
	uint32_t depth = 1, n = 0;

	stack[0] = b->n_blocks;
	b->number[b->n_blocks] = 0; // seen
	while (depth) {
		uint32_t at = stack[depth - 1], to;

		if (next[at] == before->first[at + 1]) {
			b->number[at] = n;
			b->order[n++] = at;
			depth--;
			continue;
		}
		to = before->to[next[at]++];
		if (b->number[to] != FLOW_NONE)
			continue;
		b->number[to] = 0;
		stack[depth++] = to;
	}
	return n;
}

/* Number them. In a loop that nothing leaves, some block counts as if it could. */
static struct err *order(struct body *b)
{
	uint32_t n_all = b->n_blocks + 1, n = 0;
	_cleanup_free_ uint32_t *stack = calloc(n_all, sizeof(*stack));
	_cleanup_free_ uint32_t *next = calloc(n_all, sizeof(*next));
	struct neighbours before = {};
	struct err *err = stack && next ? NULL : &err_nomem;

	b->order = calloc(n_all, sizeof(*b->order));
	b->number = calloc(n_all, sizeof(*b->number));
	if (!b->order || !b->number)
		err = &err_nomem;
	while (!err && n < n_all) {
		uint32_t stuck = b->n_blocks;

		err = gather(b->to.data, b->from.data, b->to.size, n_all, &before);
		if (err)
			break;
		memset(b->number, 0xff, n_all * sizeof(*b->number));
		memcpy(next, before.first, n_all * sizeof(*next));
		n = number(b, &before, stack, next);
		while (n < n_all && b->number[--stuck] != FLOW_NONE)
			;
		if (n < n_all &&
		    (vec_add(&b->from, stuck) || vec_add(&b->to, b->n_blocks)))
			err = &err_nomem;
	}
	neighbours_deinit(&before);
	return err;
}

static uint32_t common(const struct body *b, uint32_t x, uint32_t y)
{
	while (x != y) {
		while (b->number[x] < b->number[y])
			x = b->idom[x];
		while (b->number[y] < b->number[x])
			y = b->idom[y];
	}
	return x;
}

/* Immediate postdominators (Cooper, Harvey and Kennedy, on the reversed graph). */
static struct err *postdominate(struct body *b, const struct neighbours *after)
{
	bool is_changed = true;

	b->idom = malloc((b->n_blocks + 1) * sizeof(*b->idom));
	if (!b->idom)
		return &err_nomem;
	memset(b->idom, 0xff, (b->n_blocks + 1) * sizeof(*b->idom));
	b->idom[b->n_blocks] = b->n_blocks;
	while (is_changed) {
		is_changed = false;
		for (uint32_t k = b->n_blocks; k--;) {
			uint32_t at = b->order[k], best = FLOW_NONE;

			for (uint32_t i = after->first[at]; i < after->first[at + 1]; i++)
				if (b->idom[after->to[i]] != FLOW_NONE)
					best = best == FLOW_NONE ?
						       after->to[i] :
						       common(b, best, after->to[i]);
			is_changed |= best != b->idom[at];
			b->idom[at] = best;
		}
	}
	return NULL;
}

/* Add for each block the branches that it depends on: of the ways that branch has, those that
 * need not come by. */
static struct err *find_parents(struct body *b, const struct neighbours *after,
				uint32_t first)
{
	VEC(uint32_t) child = {}, parent = {};
	struct neighbours of = {};
	struct err *err = NULL;

	for (uint32_t at = 0; at < b->n_blocks && !err; at++) {
		if (after->first[at + 1] - after->first[at] < 2)
			continue;
		for (uint32_t i = after->first[at]; i < after->first[at + 1]; i++)
			for (uint32_t to = after->to[i]; to != b->idom[at] && !err;
			     to = b->idom[to]) {
				err = vec_add(&child, to);
				if (!err)
					err = vec_add(&parent, first + at);
			}
	}
	if (!err)
		err = gather(child.data, parent.data, child.size, b->n_blocks + 1, &of);
	for (uint32_t at = 0; at < b->n_blocks && !err; at++) {
		struct flow_block *block = &b->f->blocks.data[first + at];

		block->first_parent = b->f->parents.size;
		for (uint32_t i = of.first[at]; i < of.first[at + 1] && !err; i++)
			if (i == of.first[at] || of.to[i] != of.to[i - 1])
				err = vec_add(&b->f->parents, of.to[i]);
		block->n_parents = b->f->parents.size - block->first_parent;
	}
	neighbours_deinit(&of);
	vec_deinit(&child);
	vec_deinit(&parent);
	return err;
}

/* ---- all of them ------------------------------------------------------------------------------- */

static struct err *publish(struct body *b, uint32_t *first)
{
	uint32_t block = 0;
	struct err *err = NULL;

	*first = b->f->blocks.size;
	for (size_t i = 0; i < b->code.size && !err; i++) {
		if (b->code.data[i].is_leader) {
			block = b->f->blocks.size;
			err = vec_add(&b->f->blocks,
				      (struct flow_block){ .function =
								   b->f->n_functions });
		}
		if (!err && map_put(&b->f->block_of, b->code.data[i].rip, block))
			err = &err_nomem;
	}
	b->f->n_functions++;
	return err;
}

static struct err *build(struct flow *f, uint64_t entry)
{
	struct body b = { .f = f, .entry = entry };
	struct neighbours after = {};
	uint32_t first;
	struct err *err = find_code(&b);

	if (!err && b.code.size)
		err = find_blocks(&b);
	if (!err && b.code.size)
		err = order(&b);
	if (!err && b.code.size)
		err = gather(b.from.data, b.to.data, b.from.size, b.n_blocks + 1, &after);
	if (!err && b.code.size)
		err = postdominate(&b, &after);
	if (!err && b.code.size)
		err = publish(&b, &first);
	if (!err && b.code.size)
		err = find_parents(&b, &after, first);
	neighbours_deinit(&after);
	body_deinit(&b);
	return err;
}

struct err *fl_flow_build(struct flow *f)
{
	struct err *err = NULL;

	for (; f->n_built < f->entry.size && !err; f->n_built++)
		err = build(f, f->entry.data[f->n_built]);
	return err;
}

struct err *fl_flow_block(struct flow *f, uint64_t rip, uint32_t *ret)
{
	const uint64_t *block = map_get(&f->block_of, rip);
	struct err *err = block ? NULL : build(f, rip);

	if (!block && !err)
		block = map_get(&f->block_of, rip);
	*ret = block ? *block : FLOW_NONE;
	return err;
}

bool fl_flow_depends(const struct flow *f, uint32_t block, uint32_t branch)
{
	const struct flow_block *b = &f->blocks.data[block];

	for (uint32_t i = 0; i < b->n_parents; i++)
		if (f->parents.data[b->first_parent + i] == branch)
			return true;
	return false;
}

uint32_t fl_flow_function(const struct flow *f, uint32_t block)
{
	return f->blocks.data[block].function;
}

struct flow_size fl_flow_size(const struct flow *f)
{
	return (struct flow_size){ f->n_functions, f->blocks.size, f->targets.size };
}
