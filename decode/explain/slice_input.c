// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where the way back ends: what came from outside. Each input that is wanted becomes a
 * node; memory that an input only may have written stays wanted behind it.
 */

#include "decode/explain/slice.h"

#include <sched.h>
#include <sys/syscall.h>

#define REG_BIT(r) (1ull << (r))

static uint32_t slice_input(struct slice *s, enum slice_origin origin,
			    const struct slice_want *want, struct slice_location location,
			    uint64_t position, size_t event)
{
	uint32_t n;

	if (want->cost == UINT32_MAX)
		return SLICE_NONE;
	n = dec_slice_node_add(s, origin, want, location, position);
	if (n != SLICE_NONE && event != SIZE_MAX)
		s->nodes.data[n].event = event;
	return n;
}

/* Wanted memory that the call at hand may have written, or that is of its making. */
static void slice_call_memory(struct slice *s, const struct history_event *e,
			      uint64_t position, size_t event)
{
	bool is_unlisted = e->flags & (CAP_SYS_UNLISTED | CAP_SYS_PARTIAL);

	for (size_t i = 0; i < s->wants.size; i++) {
		struct slice_want w = s->wants.data[i];
		struct slice_location location = { .is_mem = true };

		if (!w.mask)
			continue;
		location.addr = w.word + __builtin_ctz(w.mask);
		location.size = __builtin_popcount(w.mask);
		if (dec_history_call_maps(e, location.addr)) {
			slice_input(s, SLICE_MAPPED, &w, location, position, event);
			s->wants.data[i].mask = 0;
			map_remove(&s->mem, w.word);
		} else if (dec_history_call_may_write(e, location.addr)) {
			slice_input(s, is_unlisted ? SLICE_UNMODELLED : SLICE_QUIET, &w,
				    location, position, event);
		}
	}
}

static const struct slice_ref *slice_def_of(const struct slice *s,
					    const struct slice_step *step,
					    uint32_t n_refs, int reg)
{
	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def && !r->is_mem && r->reg == reg)
			return r;
	}
	return NULL;
}

/* The call made thread @p tid: what that one still wants it inherited. */
static void slice_birth(struct slice *s, uint32_t tid)
{
	struct slice_thread *child = NULL;
	struct slice_want why = slice_unwanted;

	for (size_t i = 0; i < s->threads.size; i++) {
		if (s->threads.data[i]->tid == tid && s->threads.data[i] != s->at)
			child = s->threads.data[i];
	}
	if (!child)
		return;
	// Of its own are what the call returned, the stack, and what the call clobbers.
	child->regs &= ~(REG_BIT(CAP_RAX) | REG_BIT(CAP_RSP) | REG_BIT(CAP_RCX) |
			 REG_BIT(CAP_R11));
	for (uint64_t left = child->regs; left; left &= left - 1) {
		const struct slice_want *w = &child->reg[__builtin_ctzll(left)];

		dec_slice_use_reg(s, __builtin_ctzll(left), w->cost, w->parent, w->edge);
	}
	child->regs = 0;
	for (int i = 0; i < SLICE_DEPTHS; i++) {
		dec_slice_cheaper(&why, &child->branch[i]);
		child->branch[i] = slice_unwanted;
	}
	dec_slice_cheaper(&s->at->branch[s->at->depth], &why);
}

void dec_slice_call(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	const struct slice_ref *ret = slice_def_of(s, step, n_refs, CAP_RAX);
	const struct slice_ref *nr = &s->refs.data[step->first_ref];
	struct slice_want best = slice_unwanted;
	struct slice_location location = {};
	size_t event;
	uint32_t n;

	if (!ret)
		return;
	event = dec_history_call_before(s->history, s->event, nr->value, ret->value,
					insn->rip);
	if (event != SIZE_MAX)
		s->event = event;
	if (nr->value == SYS_clone || nr->value == SYS_clone3)
		slice_birth(s, ret->value);
	if (nr->value == SYS_rt_sigreturn) {
		for (int r = 0; r < 64; r++)
			dec_slice_take_reg(s, r, &best, &location);
		slice_input(s, SLICE_SIGRETURN, &best, location, step->position, event);
		return;
	}
	dec_slice_take_reg(s, CAP_RAX, &best, &location);
	n = slice_input(s, SLICE_RESULT, &best, location, step->position, event);
	if (n != SLICE_NONE) {
		s->nodes.data[n].value = ret->value;
		s->nodes.data[n].has_value = true;
		s->nodes.data[n].insn = step->insn;
	}
	s->at->regs &= ~(REG_BIT(CAP_RCX) | REG_BIT(CAP_R11)); // rip and flags
	if (event != SIZE_MAX)
		slice_call_memory(s, &s->history->events.data[event], step->position,
				  event);
}

/* @return whether the instruction before step @p i wrote [addr, ...) itself: a long
 * repeat, whose bytes are logged behind it. */
static bool slice_is_own_bulk(const struct slice *s, size_t i, uint64_t addr)
{
	uint32_t end;

	while (i && s->steps.data[i].insn == SLICE_NONE)
		i--;
	if (s->steps.data[i].insn == SLICE_NONE)
		return false;
	end = s->steps.data[i + 1].first_ref;
	for (uint32_t r = s->steps.data[i].first_ref; r < end; r++) {
		const struct slice_ref *ref = &s->refs.data[r];

		if (ref->is_def && ref->is_mem && addr - ref->addr < ref->size)
			return true;
	}
	return false;
}

static enum slice_origin slice_written_by(const struct history_event *e)
{
	if (e->kind == CAP_EV_SIGNAL)
		return SLICE_FRAME;
	switch (e->nr) {
	case SYS_clone: // of fork: the kernel's own word
		return e->args[0] & CLONE_VM ? SLICE_CHILD : SLICE_WRITTEN;
	case SYS_vfork:
	case SYS_clone3:
		return SLICE_CHILD;
	case SYS_mmap:
		return SLICE_MAPPED;
	default:
		return SLICE_WRITTEN;
	}
}

void dec_slice_bulk(struct slice *s, size_t i)
{
	const struct slice_step *step = &s->steps.data[i];
	const struct slice_ref *w = &s->refs.data[step->first_ref];
	struct slice_want best = slice_unwanted;
	struct slice_location location = {};
	const struct history_event *e;
	size_t event;

	if (slice_is_own_bulk(s, i, w->addr))
		return;
	event = dec_history_writer_before(s->history, s->event, w->addr);
	if (event == SIZE_MAX)
		return;
	e = &s->history->events.data[event];
	dec_slice_take_mem(s, w->addr, w->size, &best, &location);
	slice_input(s, slice_written_by(e), &best, location, step->position, event);
}

void dec_slice_special(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	struct slice_want best = slice_unwanted;
	struct slice_location location = {};
	const struct slice_ref *def;
	uint32_t n;

	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def && !r->is_mem)
			dec_slice_take_reg(s, r->reg, &best, &location);
	}
	n = slice_input(s, insn->flow == DEC_FLOW_TSC ? SLICE_TSC : SLICE_CPUID, &best,
			location, step->position, SIZE_MAX);
	if (n == SLICE_NONE)
		return;
	s->nodes.data[n].insn = step->insn;
	def = slice_def_of(s, step, n_refs, location.reg);
	s->nodes.data[n].has_value = def != NULL;
	s->nodes.data[n].value = def ? def->value : 0;
}
