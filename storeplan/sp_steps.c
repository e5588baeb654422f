// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_steps.h"

#include <string.h>

#include "decode/x86/zydis.h"

#define OFF_UNKNOWN INT32_MIN

/** rsp, and registers that point into the frame, as offsets from rsp at entry. */
struct frame {
	int32_t off[SP_GPRS];
};

/** Registers that the ABI lets a call change; rsp comes back as it was. */
#define CALL_CHANGES                                                             \
	(SP_BIT(0) | SP_BIT(1) | SP_BIT(2) | SP_BIT(6) | SP_BIT(7) | SP_BIT(8) | \
	 SP_BIT(9) | SP_BIT(10) | SP_BIT(11) | SP_BIT(SP_FLAGS) |                \
	 ((SP_BIT(16) - 1) << SP_XMM))

static bool is_call(const struct sp_insn *i)
{
	return i->flow == SP_FLOW_CALL || i->flow == SP_FLOW_CALL_IND;
}

/* ---- where the frame is ------------------------------------------------------------- */

static int32_t add_offset(int32_t off, int32_t step)
{
	return off == OFF_UNKNOWN ? off : off + step;
}

static void frame_step(struct frame *fr, const struct sp_insn *i)
{
	int32_t rsp = fr->off[CAP_RSP];

	if (i->is_push) {
		fr->off[CAP_RSP] = add_offset(rsp, -8);
		return;
	}
	if (i->is_pop) {
		for (int r = 0; r < SP_GPRS; r++)
			if (r != CAP_RSP && i->writes >> r & 1)
				fr->off[r] = OFF_UNKNOWN;
		fr->off[CAP_RSP] = add_offset(rsp, 8);
		return;
	}
	if (i->mnemonic == ZYDIS_MNEMONIC_LEAVE) {
		fr->off[CAP_RSP] = add_offset(fr->off[CAP_RBP], 8);
		fr->off[CAP_RBP] = OFF_UNKNOWN;
		return;
	}
	if (i->has_step) {
		int32_t v = add_offset(fr->off[i->step_from], i->step);

		for (int r = 0; r < SP_GPRS; r++)
			if (i->writes >> r & 1)
				fr->off[r] = v;
		return;
	}
	for (int r = 0; r < SP_GPRS; r++)
		if ((is_call(i) ? CALL_CHANGES : i->writes) >> r & 1)
			fr->off[r] = OFF_UNKNOWN;
}

static bool meet(struct frame *to, const struct frame *from)
{
	bool has_changed = false;

	for (int r = 0; r < SP_GPRS; r++)
		if (to->off[r] != from->off[r] && to->off[r] != OFF_UNKNOWN) {
			to->off[r] = OFF_UNKNOWN;
			has_changed = true;
		}
	return has_changed;
}

/** The frame at the beginning of each block. */
static void follow_frame(const struct sp_function *f, struct frame *in, bool *has_in)
{
	bool has_changed = true;

	for (size_t k = 0; k < f->n_blocks; k++) {
		for (int r = 0; r < SP_GPRS; r++)
			in[k].off[r] = OFF_UNKNOWN;
		if (f->blocks[k].entry == SP_ENTRY_CALL)
			in[k].off[CAP_RSP] = 0;
		has_in[k] = f->blocks[k].entry != SP_ENTRY_NONE;
	}
	while (has_changed) {
		has_changed = false;
		for (size_t k = 0; k < f->n_blocks; k++) {
			const struct sp_block *b = &f->blocks[k];
			struct frame fr = in[k];

			if (!has_in[k])
				continue;
			for (uint32_t i = b->first; i < b->end; i++)
				frame_step(&fr, &f->insns[i]);
			for (uint32_t e = 0; e < b->n_succ; e++) {
				uint32_t to = f->succs.data[b->succ_at + e];

				if (has_in[to]) {
					has_changed |= meet(&in[to], &fr);
					continue;
				}
				in[to] = fr;
				has_in[to] = has_changed = true;
			}
		}
	}
}

/* ---- its words -------------------------------------------------------------------------- */

static bool frame_offset(const struct frame *fr, const struct sp_mem *m, int32_t *ret)
{
	if (m->is_odd || m->is_fs || m->is_absolute || m->index != SP_NONE ||
	    m->base == SP_NONE || fr->off[m->base] == OFF_UNKNOWN || m->disp > 1 << 28 ||
	    m->disp < -(1 << 28))
		return false;
	*ret = fr->off[m->base] + m->disp;
	return true;
}

static uint8_t find_slot(struct sp_steps *s, int32_t offset, uint16_t size, bool may_add)
{
	for (unsigned i = 0; i < s->n_slots; i++)
		if (s->slots[i].offset == offset && s->slots[i].size == size)
			return SP_SLOT + i;
	if (!may_add || s->n_slots == SP_LOCATIONS - SP_SLOT || size > 16)
		return SP_NONE;
	s->slots[s->n_slots] = (struct sp_slot){ offset, size };
	return SP_SLOT + s->n_slots++;
}

static sp_set overlapping(const struct sp_steps *s, int32_t offset, uint32_t size)
{
	sp_set set = 0;

	for (unsigned i = 0; i < s->n_slots; i++)
		if (s->slots[i].offset < offset + (int32_t)size &&
		    offset < s->slots[i].offset + s->slots[i].size)
			set |= SP_BIT(SP_SLOT + i);
	return set;
}

static sp_set all_slots(const struct sp_steps *s)
{
	return s->n_slots ? (((SP_BIT(s->n_slots - 1) << 1) - 1) << SP_SLOT) : 0;
}

/** Is rbp what compilers without optimization make of it, and nothing else? */
static bool is_frame_pointer(const struct sp_function *f)
{
	for (size_t i = 0; i < f->n_insns; i++) {
		const struct sp_insn *in = &f->insns[i];
		bool is_set = in->has_step && !in->step && in->step_from == CAP_RSP;

		if (in->writes >> CAP_RBP & 1 && !is_set && !in->is_pop &&
		    in->mnemonic != ZYDIS_MNEMONIC_LEAVE)
			return false;
	}
	return true;
}

/** Where in the frame each operand lies; which words there are; who else may know them. */
static void place_operands(const struct sp_function *f, const struct frame *in,
			   const bool *has_in, struct sp_steps *s)
{
	sp_set own = SP_BIT(CAP_RSP) | (is_frame_pointer(f) ? SP_BIT(CAP_RBP) : 0);

	for (size_t k = 0; k < f->n_blocks; k++) {
		struct frame fr = in[k];

		for (uint32_t i = f->blocks[k].first; has_in[k] && i < f->blocks[k].end;
		     i++) {
			const struct sp_insn *in_ = &f->insns[i];
			struct sp_step *st = &s->step[i];
			sp_set out = in_->writes & SP_ALL_GPRS & ~own;
			bool is_own = in_->writes & own && !out;

			for (int m = 0; m < in_->n_mem; m++) {
				st->has_frame_offset[m] = frame_offset(
					&fr, &in_->mem[m], &st->frame_offset[m]);
				st->slot[m] = SP_NONE;
				if (st->has_frame_offset[m])
					st->slot[m] = find_slot(s, st->frame_offset[m],
								in_->mem[m].size, true);
			}
			for (int r = 0; r < SP_GPRS; r++)
				if (fr.off[r] != OFF_UNKNOWN && in_->reads >> r & 1 &&
				    !is_own)
					s->is_exposed = true;
			if (fr.off[CAP_RSP] == OFF_UNKNOWN)
				s->is_exposed = true;
			frame_step(&fr, in_);
		}
	}
}

/* ---- what instructions do ------------------------------------------------------------------ */

static void add_effect(struct sp_step *st, sp_set src, sp_set dst)
{
	if (dst)
		st->effect[st->n_effects++] = (struct sp_effect){ src, dst };
}

static void add_undo(struct sp_step *st, sp_set after, sp_set gives)
{
	if (after && gives)
		st->undo[st->n_undos++] = (struct sp_undo){ after, gives };
}

/** What memory operand @p m holds comes from: a word, nothing (a constant), or (false)
 * from memory that is not followed. */
static bool source(const struct sp_image *im, const struct sp_insn *i,
		   const struct sp_step *st, int m, sp_set *ret)
{
	const struct sp_mem *mem = &i->mem[m];

	if (st->slot[m] != SP_NONE) {
		*ret |= SP_BIT(st->slot[m]);
		return true;
	}
	return mem->is_absolute && !mem->is_odd &&
	       sp_image_is_constant(im, mem->disp, mem->size);
}

/** What a store to operand @p m may change. */
static sp_set store_changes(const struct sp_steps *s, const struct sp_step *st,
			    const struct sp_insn *i, int m)
{
	const struct sp_mem *mem = &i->mem[m];

	if (st->has_frame_offset[m])
		return overlapping(s, st->frame_offset[m], mem->size);
	if (mem->is_absolute || (mem->is_odd && !s->is_exposed))
		return 0;
	// An array of the frame, or a frame whose place is not known.
	if (mem->base == CAP_RSP || mem->base == CAP_RBP || i->is_rep)
		return all_slots(s);
	return s->is_exposed ? all_slots(s) : 0;
}

static sp_set gpr_bit(uint8_t r)
{
	return r == SP_NONE ? 0 : SP_BIT(r);
}

static sp_set address_of(const struct sp_insn *i, const struct sp_mem *m)
{
	sp_set a = m->is_absolute ? 0 : gpr_bit(m->base) | gpr_bit(m->index);

	return i->is_rep ? a | SP_BIT(1) : a;
}

/** movs and stos. */
static bool is_string(const struct sp_insn *i)
{
	return i->is_string && sp_insn_store(i);
}

/** rdi and rsi move on by what is known; rcx ends at 0. The direction flag is clear, as
 * the ABI has it. */
static void string_effects(struct sp_step *st, const struct sp_insn *i)
{
	sp_set count = i->is_rep ? SP_BIT(1) : 0;

	for (int r = 6; r <= 7; r++)
		if (i->writes >> r & 1) {
			add_effect(st, SP_BIT(r) | count, SP_BIT(r));
			if (!i->is_rep)
				add_undo(st, SP_BIT(r), SP_BIT(r));
		}
	add_effect(st, 0, count);
}

static void note_store(const struct sp_image *im, struct sp_step *st,
		       const struct sp_insn *i, int m)
{
	sp_set from = i->reads;
	bool is_known = i->is_exact && !i->mem[m].is_odd;

	if (is_string(i))
		from = SP_BIT(0);
	for (int o = 0; o < i->n_mem; o++)
		if (i->mem[o].is_read)
			is_known = is_known && source(im, i, st, o, &from);
	st->is_frame_store = st->has_frame_offset[m];
	st->address = address_of(i, &i->mem[m]);
	st->has_value = is_known;
	st->needs = st->address | (is_known ? from : 0);
}

static void plain_effects(const struct sp_image *im, struct sp_step *st,
			  const struct sp_insn *i)
{
	sp_set src = i->reads, dst = i->writes, flags = SP_BIT(SP_FLAGS);
	bool is_known = i->is_exact;

	for (int m = 0; m < i->n_mem; m++) {
		if (i->mem[m].is_read)
			is_known = is_known && source(im, i, st, m, &src);
		if (i->mem[m].is_write && st->slot[m] != SP_NONE)
			dst |= SP_BIT(st->slot[m]);
	}
	if (!i->has_exact_flags)
		dst &= ~flags;
	if (is_known)
		add_effect(st, src, dst);
	if (i->undo == SP_UNDO_COPY && is_known && src)
		add_undo(st, dst & ~flags, src);
	if (i->undo == SP_UNDO_SELF && is_known)
		add_undo(st, (i->writes | src) & ~flags, i->writes & ~flags);
}

static void push_effects(struct sp_step *st, const struct sp_insn *i)
{
	sp_set slot = st->slot[0] == SP_NONE ? 0 : SP_BIT(st->slot[0]),
	       rsp = SP_BIT(CAP_RSP);

	add_effect(st, i->reads, slot);
	add_effect(st, rsp, rsp);
	add_undo(st, slot, i->reads);
	add_undo(st, rsp, rsp);
}

static void pop_effects(struct sp_step *st, const struct sp_insn *i)
{
	sp_set slot = st->slot[0] == SP_NONE ? 0 : SP_BIT(st->slot[0]),
	       rsp = SP_BIT(CAP_RSP);
	sp_set dst = i->writes & ~rsp;

	if (slot)
		add_effect(st, slot, dst);
	add_effect(st, rsp, rsp);
	add_undo(st, dst, slot);
	add_undo(st, rsp, rsp);
}

static void call_effects(const struct sp_image *im, const struct sp_steps *s,
			 const struct frame *fr, struct sp_step *st,
			 const struct sp_insn *i)
{
	st->changed = CALL_CHANGES;
	st->is_barrier = true;
	if (s->is_exposed)
		st->changed |= all_slots(s);
	for (unsigned n = 0; n < s->n_slots; n++)
		if (fr->off[CAP_RSP] == OFF_UNKNOWN ||
		    s->slots[n].offset < fr->off[CAP_RSP])
			st->changed |= SP_BIT(SP_SLOT + n);
	if (sp_image_callee(im, i->target, i->slot) == SP_CALLEE_RETURNS_TWICE)
		st->changed = ~SP_BIT(CAP_RSP);
}

static void make_step(const struct sp_image *im, const struct sp_steps *s,
		      const struct frame *fr, struct sp_step *st, const struct sp_insn *i)
{
	if (is_call(i)) {
		call_effects(im, s, fr, st, i);
		return;
	}
	st->changed = i->writes;
	for (int m = 0; m < i->n_mem; m++)
		if (i->mem[m].is_write) {
			st->changed |= store_changes(s, st, i, m);
			note_store(im, st, i, m);
		}
	if (i->is_other_write)
		st->changed |= all_slots(s);
	if (i->is_push && i->is_exact)
		push_effects(st, i);
	else if (i->is_pop && i->is_exact)
		pop_effects(st, i);
	else if (is_string(i))
		string_effects(st, i);
	else if (i->mnemonic != ZYDIS_MNEMONIC_LEAVE && i->flow != SP_FLOW_RET &&
		 !(i->mnemonic == ZYDIS_MNEMONIC_XCHG && i->n_mem))
		plain_effects(im, st, i);
	if (i->mnemonic == ZYDIS_MNEMONIC_LEAVE)
		add_effect(st, SP_BIT(CAP_RBP), SP_BIT(CAP_RSP));
}

struct err *sp_steps_make(const struct sp_image *m, const struct sp_function *f,
			  struct sp_steps *ret)
{
	_cleanup_free_ struct frame *in = calloc(f->n_blocks + 1, sizeof(*in));
	_cleanup_free_ bool *has_in = calloc(f->n_blocks + 1, sizeof(*has_in));

	*ret = (struct sp_steps){};
	ret->step = calloc(f->n_insns + 1, sizeof(*ret->step));
	if (!in || !has_in || !ret->step) {
		sp_steps_deinit(ret);
		return &err_nomem;
	}
	follow_frame(f, in, has_in);
	place_operands(f, in, has_in, ret);
	for (size_t k = 0; k < f->n_blocks; k++) {
		struct frame fr = in[k];

		for (uint32_t i = f->blocks[k].first; i < f->blocks[k].end; i++) {
			make_step(m, ret, &fr, &ret->step[i], &f->insns[i]);
			frame_step(&fr, &f->insns[i]);
		}
	}
	return NULL;
}

void sp_steps_deinit(struct sp_steps *s)
{
	free(s->step);
	s->step = NULL;
}
