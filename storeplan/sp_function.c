// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_function.h"

#include <string.h>

#define INSNS_MAX 200000 ///< of one function
#define TABLE_MAX 4096	 ///< entries of a jump table

void sp_function_deinit(struct sp_function *f)
{
	free(f->insns);
	free(f->blocks);
	free(f->block_of);
	vec_deinit(&f->succs);
	vec_deinit(&f->preds);
}

/* ---- which ranges are one function --------------------------------------------------- */

static uint32_t owner_of(struct sp_range *r, uint32_t i)
{
	while (r[i].owner != i)
		i = r[i].owner = r[r[i].owner].owner;
	return i;
}

/** The part that is called owns the others. */
static void unite(struct sp_range *r, uint32_t a, uint32_t b)
{
	a = owner_of(r, a);
	b = owner_of(r, b);
	if (a == b)
		return;
	if (r[a].is_cold == r[b].is_cold ? a < b : r[b].is_cold)
		r[b].owner = a;
	else
		r[a].owner = b;
}

static void group_range(const struct sp_image *m, struct sp_range *ranges, uint32_t at)
{
	const struct sp_range *r = &ranges[at];
	struct sp_insn i;

	for (uint64_t pc = r->start; pc < r->end; pc += i.len) {
		size_t avail, other;
		const uint8_t *bytes = sp_image_bytes(m, pc, &avail);

		if (!bytes || !sp_insn_decode(bytes, avail, pc, &i))
			return;
		if (i.flow != SP_FLOW_JMP && i.flow != SP_FLOW_JCC)
			continue;
		if (i.target >= r->start && i.target < r->end)
			continue;
		other = sp_image_range_at(m, i.target);
		if (other != SIZE_MAX && (i.target != ranges[other].start ||
					  i.flow == SP_FLOW_JCC || ranges[other].is_cold))
			unite(ranges, at, other);
	}
}

struct err *sp_function_group(struct sp_image *m)
{
	size_t n;
	struct sp_range *ranges = sp_image_ranges(m, &n);

	for (size_t i = 0; i < n; i++)
		group_range(m, ranges, i);
	for (size_t i = 0; i < n; i++)
		ranges[i].owner = owner_of(ranges, i);
	return NULL;
}

/* ---- its instructions ------------------------------------------------------------------ */

/** Between sections there are zeros. */
static bool is_filling(const uint8_t *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i])
			return false;
	return true;
}

struct builder {
	const struct sp_image *m;
	struct sp_function *f;
	VEC(struct sp_insn) insns;
	bool *begins;		///< by instruction: a block begins
	uint8_t *entry;		///< by instruction: enum sp_entry
	VEC(uint32_t) indirect; ///< instructions that indirect jumps may lead to
};

static struct err *sweep(struct builder *b, const struct sp_range *r)
{
	struct sp_insn i;

	for (uint64_t pc = r->start; pc < r->end; pc += i.len) {
		size_t avail;
		const uint8_t *bytes = sp_image_bytes(b->m, pc, &avail);

		if (!bytes || !sp_insn_decode(bytes, avail, pc, &i)) {
			if (!bytes || avail < r->end - pc ||
			    !is_filling(bytes, r->end - pc))
				b->f->unsound = "bytes that are no instruction";
			return NULL;
		}
		if (pc + i.len > r->end) {
			b->f->unsound = "an instruction leaves it";
			return NULL;
		}
		if (b->insns.size == INSNS_MAX) {
			b->f->unsound = "too long";
			return NULL;
		}
		if (vec_add(&b->insns, i))
			return &err_nomem;
	}
	return NULL;
}

size_t sp_function_insn_at(const struct sp_function *f, uint64_t addr)
{
	size_t n = vec_rank(f->n_insns, i, f->insns[i].at < addr);

	return n < f->n_insns && f->insns[n].at == addr ? n : SIZE_MAX;
}

/** Is @p addr within the function, whether or not at an instruction's beginning? */
static bool is_inside(const struct sp_function *f, uint64_t addr)
{
	size_t n = vec_rank(f->n_insns, i, f->insns[i].at <= addr);

	return n && addr < f->insns[n - 1].at + f->insns[n - 1].len;
}

static enum sp_callee callee(const struct sp_image *m, const struct sp_insn *i)
{
	if (i->flow != SP_FLOW_CALL && i->flow != SP_FLOW_CALL_IND)
		return SP_CALLEE_PLAIN;
	return sp_image_callee(m, i->target, i->slot);
}

/** Does what follows in memory not follow in time? */
static bool ends_line(const struct sp_image *m, const struct sp_insn *i)
{
	switch (i->flow) {
	case SP_FLOW_JMP:
	case SP_FLOW_JMP_IND:
	case SP_FLOW_RET:
	case SP_FLOW_STOP:
		return true;
	default:
		return callee(m, i) == SP_CALLEE_NEVER_RETURNS;
	}
}

/* ---- jump tables ------------------------------------------------------------------------- */

static struct err *add_indirect(struct builder *b, size_t i)
{
	for (size_t k = 0; k < b->indirect.size; k++)
		if (b->indirect.data[k] == i)
			return NULL;
	if (vec_add(&b->indirect, i))
		return &err_nomem;
	b->begins[i] = true;
	return NULL;
}

/** Offsets from the table itself (position-independent code), or addresses. As many as
 * lead into this function: too many do no harm. */
static struct err *read_table(struct builder *b, uint64_t table, bool is_offsets)
{
	uint64_t size = is_offsets ? 4 : 8;

	for (uint64_t n = 0; n < TABLE_MAX; n++) {
		uint64_t at = table + n * size, target;
		struct err *err;
		int32_t offset;
		size_t avail, i;
		const uint8_t *bytes = sp_image_bytes(b->m, at, &avail);

		if (!bytes || avail < size || !sp_image_is_constant(b->m, at, size))
			return NULL;
		if (is_offsets) {
			memcpy(&offset, bytes, 4);
			target = table + offset;
		} else {
			memcpy(&target, bytes, 8);
		}
		i = sp_function_insn_at(b->f, target);
		if (i == SIZE_MAX)
			return NULL;
		err = add_indirect(b, i);
		if (err)
			return err;
	}
	return NULL;
}

static struct err *find_tables(struct builder *b)
{
	size_t n_pointers;
	const uint64_t *pointers = sp_image_pointers(b->m, &n_pointers);
	struct err *err = NULL;

	for (size_t i = 0; !err && i < b->f->n_insns; i++) {
		const struct sp_insn *in = &b->f->insns[i];

		if (in->is_lea && in->slot)
			err = read_table(b, in->slot, true);
		for (int m = 0; !err && m < in->n_mem; m++)
			if (in->mem[m].base == SP_NONE && in->mem[m].index != SP_NONE &&
			    in->mem[m].scale == 8)
				err = read_table(b, in->mem[m].disp, false);
		// The address of a label.
		if (!err && in->is_lea && in->slot &&
		    sp_function_insn_at(b->f, in->slot) != SIZE_MAX)
			err = add_indirect(b, sp_function_insn_at(b->f, in->slot));
	}
	for (size_t p = 0; !err && p < n_pointers; p++) {
		size_t i = sp_function_insn_at(b->f, pointers[p]);

		if (i != SIZE_MAX && !b->entry[i])
			err = add_indirect(b, i);
	}
	return err;
}

/* ---- blocks ------------------------------------------------------------------------------- */

static struct err *mark_beginnings(struct builder *b)
{
	struct sp_function *f = b->f;
	bool has_indirect = false;

	for (size_t i = 0; i < f->n_insns; i++) {
		const struct sp_insn *in = &f->insns[i];
		size_t target;

		if (in->flow == SP_FLOW_JMP_IND && !in->slot)
			has_indirect = true;
		if (in->flow != SP_FLOW_NEXT && in->flow != SP_FLOW_CALL &&
		    in->flow != SP_FLOW_CALL_IND && i + 1 < f->n_insns)
			b->begins[i + 1] = true;
		if (ends_line(b->m, in) && i + 1 < f->n_insns)
			b->begins[i + 1] = true;
		if (i && in->at != in[-1].at + in[-1].len)
			b->begins[i] = true; // another range
		if ((in->flow != SP_FLOW_JMP && in->flow != SP_FLOW_JCC) ||
		    !is_inside(f, in->target))
			continue;
		target = sp_function_insn_at(f, in->target);
		if (target == SIZE_MAX) {
			f->unsound = "a branch leads between instructions";
			return NULL;
		}
		b->begins[target] = true;
	}
	return has_indirect ? find_tables(b) : NULL;
}

static struct err *make_blocks(struct builder *b)
{
	struct sp_function *f = b->f;
	size_t n = 0;

	for (size_t i = 0; i < f->n_insns; i++)
		n += b->begins[i];
	f->blocks = calloc(n + 1, sizeof(*f->blocks));
	f->block_of = calloc(f->n_insns + 1, sizeof(*f->block_of));
	if (!f->blocks || !f->block_of)
		return &err_nomem;
	for (size_t i = 0; i < f->n_insns; i++) {
		if (b->begins[i])
			f->blocks[f->n_blocks++] =
				(struct sp_block){ .first = i, .entry = b->entry[i] };
		f->blocks[f->n_blocks - 1].end = i + 1;
		f->block_of[i] = f->n_blocks - 1;
	}
	return NULL;
}

static struct err *add_edge(struct sp_function *f, struct sp_block *from, size_t to_insn)
{
	if (vec_add(&f->succs, f->block_of[to_insn]))
		return &err_nomem;
	from->n_succ++;
	return NULL;
}

static struct err *add_edges_of(struct builder *b, struct sp_block *k)
{
	struct sp_function *f = b->f;
	const struct sp_insn *last = &f->insns[k->end - 1];
	struct err *err = NULL;
	size_t target;

	k->succ_at = f->succs.size;
	if (last->flow == SP_FLOW_JMP || last->flow == SP_FLOW_JCC) {
		target = sp_function_insn_at(f, last->target);
		if (target == SIZE_MAX)
			k->leaves = true;
		else
			err = add_edge(f, k, target);
	}
	if (last->flow == SP_FLOW_JMP_IND) {
		k->leaves = last->slot || !b->indirect.size;
		for (size_t i = 0; !err && !k->leaves && i < b->indirect.size; i++)
			err = add_edge(f, k, b->indirect.data[i]);
	}
	if (last->flow == SP_FLOW_RET)
		k->leaves = true;
	if (ends_line(b->m, last) || err)
		return err;
	if (k->end < f->n_insns && f->insns[k->end].at == last->at + last->len)
		return add_edge(f, k, k->end);
	k->leaves = true; // into what follows
	return NULL;
}

static struct err *add_edges(struct builder *b)
{
	struct sp_function *f = b->f;
	struct err *err = NULL;
	size_t at = 0;

	for (size_t k = 0; !err && k < f->n_blocks; k++)
		err = add_edges_of(b, &f->blocks[k]);
	if (err || vec_reserve(&f->preds, f->succs.size))
		return err ?: &err_nomem;
	for (size_t e = 0; e < f->succs.size; e++)
		f->blocks[f->succs.data[e]].n_pred++;
	for (size_t k = 0; k < f->n_blocks; k++) {
		f->blocks[k].pred_at = at;
		at += f->blocks[k].n_pred;
		f->blocks[k].n_pred = 0;
	}
	f->preds.size = f->succs.size;
	for (size_t k = 0; k < f->n_blocks; k++)
		for (uint32_t e = 0; e < f->blocks[k].n_succ; e++) {
			struct sp_block *to =
				&f->blocks[f->succs.data[f->blocks[k].succ_at + e]];

			f->preds.data[to->pred_at + to->n_pred++] = k;
		}
	return NULL;
}

static bool is_padding(const struct sp_function *f, const struct sp_block *k)
{
	for (uint32_t i = k->first; i < k->end; i++) {
		const struct sp_insn *in = &f->insns[i];

		if (in->n_mem || in->writes || in->flow == SP_FLOW_RET ||
		    (in->flow != SP_FLOW_NEXT && in->flow != SP_FLOW_STOP))
			return false;
	}
	return true;
}

/** Blocks that no edge leads to: padding, or an entry of a kind we do not understand. */
static struct err *find_odd_entries(struct sp_function *f)
{
	_cleanup_free_ bool *seen = calloc(f->n_blocks + 1, 1);
	_cleanup_free_ uint32_t *stack = calloc(f->n_blocks + 1, sizeof(*stack));
	size_t depth = 0;

	if (!seen || !stack)
		return &err_nomem;
	for (int round = 0; round < 2; round++)
		for (size_t k = 0; k < f->n_blocks; k++) {
			struct sp_block *b = &f->blocks[k];

			if (seen[k] || (!round && b->entry == SP_ENTRY_NONE))
				continue;
			if (round && is_padding(f, b)) {
				b->is_idle = true;
				continue;
			}
			if (round)
				b->entry = SP_ENTRY_ODD;
			stack[depth++] = k;
			seen[k] = true;
			while (depth) {
				const struct sp_block *at = &f->blocks[stack[--depth]];

				f->returns = f->returns || at->leaves;
				for (uint32_t e = 0; e < at->n_succ; e++) {
					uint32_t to = f->succs.data[at->succ_at + e];

					if (!seen[to])
						stack[depth++] = to;
					seen[to] = true;
				}
			}
		}
	return NULL;
}

/* ---- how often ------------------------------------------------------------------------------ */

/** Estimated by the shape alone: a branch backward is taken 7 times of 8, a way that never
 * comes back 1 time of 100, others evenly. */
static void weigh_edges(const struct sp_function *f, const struct sp_block *b, size_t k,
			double *out)
{
	double sum = 0;

	for (uint32_t e = 0; e < b->n_succ; e++) {
		uint32_t to = f->succs.data[b->succ_at + e];
		const struct sp_block *t = &f->blocks[to];

		out[e] = to <= k ? 7 : !t->n_succ && !t->leaves ? 0.01 : 1;
		sum += out[e];
	}
	for (uint32_t e = 0; e < b->n_succ; e++)
		out[e] /= sum;
}

#define OFTEN_ROUNDS 40
#define OFTEN_MAX 1e6

static struct err *estimate(struct sp_function *f)
{
	_cleanup_free_ double *weight = calloc(f->succs.size + 1, sizeof(*weight));
	_cleanup_free_ double *next = calloc(f->n_blocks + 1, sizeof(*next));

	if (!weight || !next)
		return &err_nomem;
	for (size_t k = 0; k < f->n_blocks; k++)
		weigh_edges(f, &f->blocks[k], k, weight + f->blocks[k].succ_at);
	for (int round = 0; round < OFTEN_ROUNDS; round++) {
		for (size_t k = 0; k < f->n_blocks; k++) {
			const struct sp_block *b = &f->blocks[k];
			double v = b->entry == SP_ENTRY_CALL ? 1 :
				   b->entry == SP_ENTRY_ODD  ? 0.01 :
							       0;

			for (uint32_t e = 0; e < b->n_pred; e++) {
				uint32_t from = f->preds.data[b->pred_at + e];
				const struct sp_block *p = &f->blocks[from];

				for (uint32_t s = 0; s < p->n_succ; s++)
					if (f->succs.data[p->succ_at + s] == k) {
						v += p->often * weight[p->succ_at + s];
						break;
					}
			}
			f->blocks[k].often = v < OFTEN_MAX ? v : OFTEN_MAX;
		}
	}
	return NULL;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static struct err *build(struct builder *b, size_t range)
{
	size_t n;
	struct sp_range *ranges = sp_image_ranges(b->m, &n);
	struct sp_function *f = b->f;
	struct err *err = NULL;

	f->name = ranges[range].name;
	f->start = ranges[range].start;
	for (size_t i = 0; !err && !f->unsound && i < n; i++)
		if (ranges[i].owner == range)
			err = sweep(b, &ranges[i]);
	f->insns = b->insns.data;
	f->n_insns = b->insns.size;
	if (err || f->unsound || !f->n_insns)
		return err;
	b->begins = calloc(f->n_insns + 1, sizeof(*b->begins));
	b->entry = calloc(f->n_insns + 1, sizeof(*b->entry));
	if (!b->begins || !b->entry)
		return &err_nomem;
	for (size_t i = 0; i < n; i++) {
		size_t at = ranges[i].owner == range && !ranges[i].is_cold ?
				    sp_function_insn_at(f, ranges[i].start) :
				    SIZE_MAX;

		if (at != SIZE_MAX)
			b->entry[at] = SP_ENTRY_CALL;
	}
	b->begins[0] = true;
	err = mark_beginnings(b);
	if (err || f->unsound)
		return err;
	err = make_blocks(b);
	err = err ?: add_edges(b);
	err = err ?: find_odd_entries(f);
	return err ?: estimate(f);
}

struct err *sp_function_build(const struct sp_image *m, size_t range,
			      struct sp_function *ret)
{
	struct builder b = { .m = m, .f = ret };
	struct err *err;

	*ret = (struct sp_function){};
	err = build(&b, range);
	free(b.begins);
	free(b.entry);
	vec_deinit(&b.indirect);
	if (err)
		sp_function_deinit(ret);
	return err;
}

struct err *sp_function_find_ends(struct sp_image *m)
{
	size_t n;
	struct sp_range *ranges = sp_image_ranges(m, &n);
	bool has_changed = true;

	// Each round finds callers of those found before; depth beyond four is rare.
	for (int round = 0; has_changed && round < 4; round++) {
		has_changed = false;
		for (size_t i = 0; i < n; i++) {
			_cleanup_(sp_function_deinit) struct sp_function f = {};
			struct err *err;

			if (ranges[i].owner != i ||
			    sp_image_callee(m, ranges[i].start, 0) != SP_CALLEE_PLAIN)
				continue;
			err = sp_function_build(m, i, &f);
			if (!err && !f.unsound && f.n_insns && !f.returns) {
				err = sp_image_never_returns(m, f.start);
				has_changed = true;
			}
			if (err)
				return err;
		}
	}
	return NULL;
}
