// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One access and memory: what is stored is loaded again, and what lies there in the end was
 * stored last. Where a store's address is not known, any word may have changed: when looking
 * for what is *known* nothing passes it; when inferring, it is asked about by whoever reads
 * a word that it may have hit (recover_lines.c, recover_alias.c).
 */
#include "decode/past/recover_guess.h"

#include <string.h>

enum { RANGE_MOST = 1 << 24 }; ///< larger than what is ever looked at

/* ---- addresses ------------------------------------------------------------------------------- */

/* Access @p a is not where it was in the last round: it spoils nothing there. */
static void hint_drop(struct dec_recover *r, const struct past_access *a)
{
	uint32_t i = a - r->ran.accesses.data;

	r->n_conflicts++;
	dec_recover_mem_spread(r, i, a->addr, a->size, true);
	dec_recover_mem_spread(r, i, a->addr, a->size, false);
}

void dec_recover_access_place(struct dec_recover *r, struct past_access *a)
{
	const struct dec_mem *m;
	struct past_at at;
	uint64_t addr;

	// What is lost behind the last step belongs to none.
	if (a->mem >= PAST_BELOW ||
	    a->placed >= (r->guess.is_guessing ? PAST_INFERRED : PAST_KNOWN))
		return;
	at = past_at(r, a->step);
	m = &at.form->insn.mem[a->mem];
	addr = m->disp;
	for (int i = 0; i < 2 && !m->is_absolute; i++) {
		uint8_t reg = i ? m->index : m->base;
		uint8_t slot = i ? at.form->index_in[a->mem] : at.form->base_in[a->mem];
		const struct past_bits *b;

		if (reg == DEC_REG_NONE)
			continue;
		if (slot == PAST_NONE || at.ref[slot] == PAST_NO_NODE)
			return;
		b = &r->bits.data[at.ref[slot]];
		if (b->m != UINT64_MAX)
			return;
		addr += i ? b->v * m->scale : b->v;
	}
	if (m->is_addr32)
		addr = (uint32_t)addr;
	if (m->is_fs)
		addr += r->mem.end->regs.fs_base;
	// A wrong guess would lead there.
	if (addr >= PAST_TOP - 64)
		return;
	if (a->placed == PAST_HINTED && a->addr != addr)
		hint_drop(r, a);
	a->addr = addr;
	a->placed = r->guess.is_guessing ? PAST_INFERRED : PAST_KNOWN;
	if (r->guess.is_guessing)
		dec_recover_bases_note(r, a);
	if (at.form->is_bulk)
		return;
	r->is_out |= !dec_recover_mem_list(r, a);
	past_marks_remove(&r->mem.lost, a - r->ran.accesses.data);
}

/* ---- ranges ------------------------------------------------------------------------------------ */

/* rep stos: the value, repeated; rep movs: what lies at the source. Only when the two do
 * not overlap is the one what the other was. */
static enum past_range_certainty bulk_find(struct dec_recover *r,
					   const struct past_at *at,
					   const struct past_access *a,
					   struct past_range *ret)
{
	struct past_bits n = past_reg(at, CAP_RCX, false),
			 from = past_reg(at, CAP_RSI, false);
	struct past_bits value = past_reg(at, CAP_RAX, false);
	unsigned unit = at->form->insn.mem[0].size;

	if ((r->ran.changes_df && !r->guess.is_guessing) || a->placed < PAST_INFERRED ||
	    n.m != UINT64_MAX || n.v > RANGE_MOST)
		return PAST_RANGE_UNKNOWN;
	*ret = (struct past_range){
		.to = a->addr, .n = n.v * unit, .unit = unit, .value = value.v
	};
	if (!at->form->n_mem_in)
		ret->is_fill = (value.m & past_ones(unit * 8)) == past_ones(unit * 8);
	else
		ret->is_copy = from.m == UINT64_MAX && from.v - ret->to >= ret->n &&
			       ret->to - from.v >= ret->n;
	ret->from = ret->is_copy ? from.v : 0;
	return ret->n ? PAST_RANGE_SOME : PAST_RANGE_NONE;
}

/* The recorder's probes wrote on the program's stack. */
static enum past_range_certainty below_find(const struct dec_recover *r,
					    const struct past_access *a,
					    struct past_range *ret)
{
	struct past_bits rsp = r->bits.data[a->node];

	if (rsp.m != UINT64_MAX)
		return r->guess.is_guessing ? PAST_RANGE_NONE : PAST_RANGE_UNKNOWN;
	*ret = (struct past_range){ .to = rsp.v + a->addr, .n = a->size };
	return PAST_RANGE_SOME;
}

/* fxsave, xsave. */
static enum past_range_certainty save_find(const struct past_at *at,
					   struct past_range *ret)
{
	const struct past_form *f = at->form;
	const uint8_t slot[2] = { f->agen_base, f->agen_index };

	if (!f->saves || (f->saves_more && !at->r->guess.is_guessing))
		return PAST_RANGE_UNKNOWN;
	*ret = (struct past_range){ .to = f->agen_disp, .n = f->saves };
	for (int i = 0; i < 2; i++) {
		const struct past_bits *b;

		if (slot[i] == PAST_NONE)
			continue;
		b = &at->r->bits.data[at->ref[slot[i]]];
		if (b->m != UINT64_MAX)
			return PAST_RANGE_UNKNOWN;
		ret->to += b->v * (i ? f->agen_scale : 1);
	}
	return PAST_RANGE_SOME;
}

enum past_range_certainty dec_recover_range_find(struct dec_recover *r,
						 const struct past_access *a,
						 struct past_range *ret)
{
	enum past_range_certainty is = PAST_RANGE_UNKNOWN;
	struct past_at at;

	if (a->mem == PAST_BELOW) {
		is = below_find(r, a, ret);
	} else if (a->slot != PAST_NONE) {
		at = past_at(r, a->step);
		is = a->mem != PAST_NONE	   ? bulk_find(r, &at, a, ret) :
		     at.form->kind == PAST_SYSCALL ? dec_recover_call_find(&at, ret) :
						     save_find(&at, ret);
	}
	if (is == PAST_RANGE_SOME &&
	    (ret->to >= PAST_TOP || ret->n > RANGE_MOST || ret->from >= PAST_TOP))
		return PAST_RANGE_UNKNOWN;
	return is;
}

static bool range_apply(struct dec_recover *r, struct past_access *a)
{
	uint32_t i = a - r->ran.accesses.data;
	enum past_range_certainty is;
	struct past_range range;

	dec_recover_access_place(r, a);
	is = dec_recover_range_find(r, a, &range);
	// Nothing tells when rsp is found: it is no operand of a step.
	r->mem.is_open = a->mem == PAST_BELOW && is != PAST_RANGE_SOME;
	if (is == PAST_RANGE_UNKNOWN)
		return true;
	past_marks_remove(&r->mem.lost, i);
	if (is == PAST_RANGE_NONE)
		return true;
	if (!dec_recover_mem_list_range(r, i, range.to, range.n) ||
	    (range.is_copy && !dec_recover_mem_list_range(r, i, range.from, range.n)))
		return false;
	if (range.is_copy && r->mem.is_backward)
		dec_recover_mem_spread(r, i, range.from, range.n, false);
	if ((range.is_copy || range.is_fill) && !r->mem.is_backward)
		dec_recover_mem_spread(r, i, range.to, range.n, true);
	return true;
}

/* ---- accesses ---------------------------------------------------------------------------------- */

/* Access @p a learns what memory held at this moment. */
static bool access_learn(struct dec_recover *r, struct past_access *a)
{
	struct past_bytes bytes;
	struct past_bits bits;

	if (a->node & PAST_VEC) {
		if (!dec_recover_mem_read(r, a->addr, a->size, &a->line, &bytes))
			return false;
		dec_recover_learn_bytes(r, a->node, &bytes);
	} else {
		if (!dec_recover_mem_read_bits(r, a->addr, a->size, &a->line, &bits))
			return false;
		dec_recover_learn(r, a->node, bits);
	}
	return true;
}

/* A store that nobody knows the place of comes. @return whether it was found. */
static bool store_find(struct dec_recover *r, struct past_access *a)
{
	if (!r->guess.is_guessing || !r->mem.is_backward || !dec_recover_alias_home(r, a))
		return false;
	dec_recover_access_place(r, a);
	return a->placed >= PAST_INFERRED;
}

/* A word of memory is read or written: was it another one before, and nobody wrote it? */
static void change_find(struct dec_recover *r, struct past_access *a)
{
	struct past_bits b = r->bits.data[a->node];
	uint32_t seen;
	uint64_t was;
	bool is_clear;

	if (b.m != UINT64_MAX ||
	    !dec_recover_mem_fact(r, a->addr, &was, &seen, &is_clear) || was == b.v)
		return;
	if (!r->guess.stage ||
	    !dec_recover_alias_missing(r, a->addr, seen, r->mem.is_backward ? was : b.v))
		r->mem.is_open = true;
}

/* It has no place yet: find one. @return whether it has. */
static bool access_find(struct dec_recover *r, struct past_access *a)
{
	dec_recover_access_place(r, a);
	if (r->guess.is_guessing && !a->is_write && a->placed < PAST_INFERRED) {
		dec_recover_mirror_apply(r, a);
		dec_recover_access_place(r, a);
		r->mem.is_open = a->placed < PAST_INFERRED && a->size == 8 &&
				 r->bits.data[a->node].m == UINT64_MAX;
	}
	return a->placed >= PAST_INFERRED ||
	       (a->placed < PAST_HINTED && a->is_write && store_find(r, a));
}

bool dec_recover_access_apply(struct dec_recover *r, struct past_access *a)
{
	struct past_at at;

	if (a->is_range)
		return range_apply(r, a);
	// What was told is not learned, but a contradiction is noticed.
	if (a->mem == PAST_TOLD)
		return access_learn(r, a);
	at = past_at(r, a->step);
	r->guess.is_element = at.form->insn.mem[a->mem].index != DEC_REG_NONE;
	if (!access_find(r, a) || at.form->is_bulk ||
	    (a->is_write && !r->mem.is_backward))
		return true;
	if (r->guess.is_guessing && a->size == 8 && !a->is_masked)
		change_find(r, a);
	if (!access_learn(r, a))
		return false;
	dec_recover_settle(r);
	return true;
}
