// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What no instruction of the program did: system calls and signals, threads that begin, what the
 * processor or the beginning of the trace had. There the way back ends.
 */

#include <assert.h>
#include <string.h>
#include <sys/syscall.h>

#include "faultlocate/slice/walk.h"

enum { SIGNAL_REGS = 1u << CAP_RDI | 1u << CAP_RSI | 1u << CAP_RDX | 1u << CAP_RAX };

static uint32_t insn_at(const struct fl_slice *s, uint64_t rip)
{
	const uint64_t *at = map_get(&s->trace->insn_of, rip);

	return at ? *at : UINT32_MAX;
}

static struct fl_node input(const struct fl_slice *s, enum fl_origin origin)
{
	return (struct fl_node){ .position = s->position,
				 .insn = FL_NONE,
				 .origin = origin };
}

/* Register @p reg was made by @p origin: a node, if it is wanted. */
static struct err *take_reg(struct fl_slice *s, int reg, struct fl_node node,
			    uint32_t *ret)
{
	struct live_want w =
		fl_live_reg_take(&s->at->regs, s->has_several, reg, ~UINT64_C(0), false);
	struct err *err;

	*ret = FL_NONE;
	if (!w.who)
		return NULL;
	err = fl_share_take_reg(s, reg, ~UINT64_C(0), false);
	if (err)
		return err;
	node.reg = reg;
	node.size = 64 - __builtin_clzll(w.bytes);
	err = fl_walk_add(s, &node, w.who, w.node, ret);
	return err || node.insn >= FL_NONE ? err :
					     fl_walk_pend(s, node.insn, w.who, *ret);
}

static struct err *take_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			    struct fl_node node, uint32_t *ret)
{
	struct live_want w;
	struct err *err = fl_walk_take_mem(s, addr, size, false, &w);

	*ret = FL_NONE;
	if (err || !w.who)
		return err;
	node.is_mem = true;
	node.addr = w.first;
	node.size = w.size;
	err = fl_walk_add(s, &node, w.who, w.node, ret);
	return err || node.insn >= FL_NONE ? err :
					     fl_walk_pend(s, node.insn, w.who, *ret);
}

/* ---- system calls ---------------------------------------------------------------------------- */

/* The call made thread @p tid: what that one still wants, it inherited. */
static struct err *birth(struct fl_slice *s, uint32_t tid, uint32_t insn)
{
	const uint64_t own = 1ull << CAP_RAX | 1ull << CAP_RSP | 1ull << CAP_RCX |
			     1ull << CAP_R11;
	struct walk_thread *parent = s->at, *child = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < s->threads.size; i++)
		if (s->threads.data[i]->tid == tid && s->threads.data[i] != parent)
			child = s->threads.data[i];
	if (!child)
		return NULL;
	for (uint64_t left = child->regs.any & ~own; left && !err; left &= left - 1) {
		int r = __builtin_ctzll(left);
		struct live_want w = fl_live_reg_take(&child->regs, s->has_several, r,
						      ~UINT64_C(0), false);

		err = fl_live_reg_want(&parent->regs, s->has_several, r, w.bytes, w.who,
				       w.node);
	}
	fl_live_regs_deinit(&child->regs);
	if (!err && child->pending.size && insn != UINT32_MAX) {
		struct fl_node node = { .position = s->position, .insn = insn };
		struct pending first = child->pending.data[0];
		live_who who = 0;
		uint32_t added;

		for (size_t i = 0; i < child->pending.size; i++)
			who |= child->pending.data[i].who;
		err = fl_walk_add(s, &node, who, link_to(first.node, FL_EDGE_CONTROL),
				  &added);
		if (!err)
			err = fl_walk_pend(s, insn, who, added);
	}
	child->pending.size = 0;
	child->frames.size = 1;
	return err;
}

/* A handler ends: what is wanted of registers behind it was so before it began. */
static struct err *leave_handler(struct fl_slice *s)
{
	struct walk_thread *t = s->at;
	struct frame f = { .serial = ++s->serial,
			   .first = t->pending.size,
			   .function = FLOW_NONE,
			   .interrupted = malloc(sizeof(t->regs)) };

	if (!f.interrupted)
		return &err_nomem;
	*f.interrupted = t->regs;
	t->regs = (struct live_regs){};
	t->era++;
	if (!vec_add(&t->frames, f))
		return NULL;
	t->regs = *f.interrupted;
	t->era--;
	free(f.interrupted);
	return &err_nomem;
}

/* Memory that the call made anew: what was there before is gone. */
static struct err *made_memory(struct fl_slice *s, const struct dec_rec *rec,
			       struct fl_node node)
{
	uint64_t nr = rec->value[0], ret = rec->value[1];
	uint64_t addr = rec->value[3], size = rec->value[4];
	uint32_t added;

	node.origin = FL_ORIGIN_MAPPED;
	if (ret > -4096ul)
		return NULL;
	if (nr == SYS_mmap)
		return take_mem(s, ret, (size + 4095) & ~UINT64_C(4095), node, &added);
	if (nr == SYS_brk && ret == addr && rec->value[11] == ret)
		return NULL;
	return NULL;
}

/* What mremap moved lay elsewhere before. */
static struct err *moved_memory(struct fl_slice *s, const struct dec_rec *rec,
				struct fl_node node)
{
	uint64_t from = rec->value[3], old = rec->value[4], size = rec->value[5];
	uint64_t to = rec->value[1];
	uint64_t common = old < size ? old : size;
	struct err *err = NULL;
	uint32_t added;

	if (to > -4096ul)
		return NULL;
	node.origin = FL_ORIGIN_MAPPED;
	if (size > old)
		err = take_mem(s, to + old, size - old, node, &added);
	for (uint64_t at = 0; to != from && at < common && !err; at += 8) {
		struct live_want w;

		if (!fl_live_mem_may(&s->mem, to + at, 8)) {
			at = (at | (LIVE_PAGE - 1)) - 7;
			continue;
		}
		err = fl_walk_take_mem(s, to + at, 8, false, &w);
		if (!err && w.who)
			err = fl_live_mem_want(&s->mem, from + at, 8, w.who, w.node);
	}
	return err;
}

static struct err *call(struct fl_slice *s, const struct dec_rec *rec)
{
	uint64_t nr = rec->value[0], ret = rec->value[1];
	struct fl_node node = input(s, FL_ORIGIN_RESULT);
	uint32_t insn = insn_at(s, rec->value[2]), added;
	struct err *err = fl_walk_meet(s, insn);

	for (size_t i = 0; i < s->of_call.size; i++) {
		struct fl_node *n = &s->nodes.data[s->of_call.data[i]];

		n->number = nr;
		n->event = rec->value[14];
	}
	s->of_call.size = 0;
	node.number = nr;
	node.event = rec->value[14];
	node.insn = insn == UINT32_MAX ? FL_NONE : insn;
	if (nr == SYS_rt_sigreturn)
		return err ?: leave_handler(s);
	if (!err)
		err = take_reg(s, CAP_RAX, node, &added);
	for (int i = 0; i < 2 && !err; i++)
		err = take_reg(s, i ? CAP_R11 : CAP_RCX, node, &added);
	if (!err && (nr == SYS_clone || nr == SYS_clone3))
		err = birth(s, ret, insn);
	if (!err && nr == SYS_mremap)
		err = moved_memory(s, rec, node);
	else if (!err)
		err = made_memory(s, rec, node);
	s->at->next = insn;
	return err;
}

static struct err *written(struct fl_slice *s, const struct dec_rec_write *w)
{
	struct fl_node node = input(s, FL_ORIGIN_WRITTEN);
	uint32_t added;
	struct err *err;

	if (w->by_insn)
		return NULL;
	node.origin = s->is_signal ? FL_ORIGIN_SIGNAL : FL_ORIGIN_WRITTEN;
	node.event = s->is_signal ? s->signal_event : 0;
	node.position -= node.position && !s->is_signal;
	err = take_mem(s, w->addr, w->n_bytes, node, &added);
	return err || added == FL_NONE || s->is_signal ? err :
							 vec_add(&s->of_call, added);
}

/* ---- signals, special instructions --------------------------------------------------------------- */

/* A handler begins: registers that the kernel gives it; the others are as they were. */
static struct err *begin_handler(struct fl_slice *s, const struct dec_rec *rec)
{
	struct walk_thread *t = s->at;
	struct fl_node node = input(s, FL_ORIGIN_SIGNAL);
	struct err *err = NULL;
	uint32_t added;
	size_t i = t->frames.size;

	s->is_signal = true;
	s->signal_event = node.event = rec->value[22];
	for (int r = 0; r < DEC_GPRS && !err; r++)
		if (SIGNAL_REGS >> r & 1)
			err = take_reg(s, r, node, &added);
	while (i && !t->frames.data[i - 1].interrupted)
		i--;
	t->next = UINT32_MAX;
	if (err || !i)
		return err;
	t->frames.size = i - 1;
	t->pending.size = t->frames.data[i - 1].first;
	// What the handler itself got from before are registers that it kept.
	for (uint64_t left = t->regs.any; left && !err; left &= left - 1) {
		int r = __builtin_ctzll(left);
		struct live_want w = fl_live_reg_take(&t->regs, s->has_several, r,
						      ~UINT64_C(0), false);

		err = fl_live_reg_want(t->frames.data[i - 1].interrupted, s->has_several,
				       r, w.bytes, w.who, w.node);
	}
	fl_live_regs_deinit(&t->regs);
	t->regs = *t->frames.data[i - 1].interrupted;
	t->era++;
	free(t->frames.data[i - 1].interrupted);
	return err;
}

static struct err *special(struct fl_slice *s, const struct dec_rec *rec)
{
	uint32_t insn = insn_at(s, rec->value[16] - rec->value[18]), added;
	struct fl_node node = input(s, FL_ORIGIN_PROCESSOR);
	const struct effect *e;
	struct err *err = NULL;

	if (insn == UINT32_MAX)
		return NULL;
	e = fl_trace_effect(s->trace, insn);
	if (!e)
		return &err_nomem;
	node.insn = insn;
	for (uint64_t left = e->regs & s->at->regs.any; left && !err; left &= left - 1)
		err = take_reg(s, __builtin_ctzll(left), node, &added);
	s->at->next = insn;
	return err;
}

struct err *fl_walk_other(struct fl_slice *s, const struct dec_rec *rec)
{
	switch (rec->id) {
	case DEC_REC_SYSCALL:
		s->position--;
		return call(s, rec);
	case DEC_REC_WRITE:
		return written(s, (const struct dec_rec_write *)rec);
	case DEC_REC_STATE:
		if (rec->value[18]) {
			s->position--;
			return special(s, rec);
		}
		if (rec->value[20] == DEC_STATE_SIGNAL)
			return begin_handler(s, rec);
		return NULL;
	default:
		return NULL;
	}
}

/* ---- the beginning --------------------------------------------------------------------------------- */

static struct err *start_range(void *ctx, uint64_t addr, uint64_t size, live_who who,
			       uint32_t link)
{
	struct fl_slice *s = ctx;
	struct fl_node node = input(s, FL_ORIGIN_START);
	uint32_t added;

	if (link_edge(link) == LINK_SAVED)
		link = s->saves.data[link_node(link)].link;
	node.is_mem = true;
	node.addr = addr;
	node.size = size;
	return s->nodes.size < FL_NONE / 2 ? fl_walk_add(s, &node, who, link, &added) :
					     NULL;
}

struct err *fl_walk_start(struct fl_slice *s)
{
	struct err *err = NULL;
	uint32_t added;

	s->position = s->stats.begin;
	s->stats.n_wanted = s->mem.n_bytes;
	s->stats.is_full = s->mem.is_full;
	for (size_t i = 0; i < s->threads.size && !err; i++) {
		s->at = s->threads.data[i];
		// A window's log begins with a record at which they were laid out.
		assert(!s->at->is_numbered);
		for (uint64_t left = s->at->regs.any; left && !err; left &= left - 1)
			err = take_reg(s, __builtin_ctzll(left),
				       input(s, FL_ORIGIN_START), &added);
	}
	return err ?: fl_live_mem_each(&s->mem, start_range, s);
}
