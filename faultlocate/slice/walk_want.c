// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What is wanted of registers and memory. A register that is got back from the stack, and wanted, is
 * looked for there: where the same register was kept, in the same call, and nothing else has to do
 * with the word, neither is in the slice (paper 002, section 5.4.2).
 */

#include "faultlocate/slice/walk.h"

/* ---- what is left out ---- */

bool fl_walk_is_pruned(const struct fl_slice *s, enum fl_prune_kind kind, uint64_t at)
{
	for (size_t i = 0; i < s->options.n_prunes; i++) {
		const struct fl_prune *p = &s->options.prunes[i];

		if (p->kind == kind &&
		    (kind == FL_PRUNE_REG ? at == p->from :
					    at - p->from < p->to - p->from))
			return true;
	}
	return false;
}

/* ---- registers kept on the stack ---- */

/* Is what lies between a register's being kept and got back something else to somebody, too, or was
 * it changed there? Then getting it back is in the slice. */
static struct err *commit(struct fl_slice *s, uint32_t save)
{
	struct saved v = s->saves.data[save];
	struct fl_node node = { .position = v.position,
				.insn = v.insn,
				.tid = v.tid,
				.reg = v.reg,
				.size = 8 };
	uint32_t added;
	struct err *err;

	s->saved_hint[v.addr / 8 % WALK_HINTS]--;
	err = vec_add(&s->free_saves, save);
	if (!err)
		err = fl_share_take_mem(s, v.addr, 8, false);
	if (!err)
		err = fl_walk_add(s, &node, v.who, v.link, &added);
	if (!err)
		err = fl_walk_pend(s, v.insn, v.who, added);
	fl_live_mem_take(&s->mem, v.addr, 8, false);
	return err   ?:
		       fl_live_mem_want(&s->mem, v.addr, 8, v.who,
					link_to(added, FL_EDGE_DATA));
}

/* @return whether the word at @p addr is where a register is kept; which, comes into @p save. */
static bool is_saved(const struct fl_slice *s, uint64_t addr, uint32_t *save)
{
	uint32_t link;

	if (!s->saved_hint[addr / 8 % WALK_HINTS])
		return false;
	link = fl_live_mem_node(&s->mem, addr);
	*save = link_node(link);
	return link != UINT32_MAX && link_edge(link) == LINK_SAVED;
}

bool fl_walk_meets_saved(const struct fl_slice *s, uint64_t addr, uint64_t size)
{
	uint32_t save;

	if (s->saves.size == s->free_saves.size)
		return false;
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size; word += 8)
		if (is_saved(s, word, &save))
			return true;
	return false;
}

static struct err *commit_all(struct fl_slice *s, uint64_t addr, uint64_t size)
{
	struct err *err = NULL;
	uint32_t save;

	if (s->saves.size == s->free_saves.size)
		return NULL;
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size && !err; word += 8)
		if (is_saved(s, word, &save))
			err = commit(s, save);
	return err;
}

bool fl_walk_may_restore(const struct fl_slice *s, uint64_t addr)
{
	return !s->options.keeps_saves && !(addr & 7) &&
	       fl_live_mem_node(&s->mem, addr) == UINT32_MAX;
}

struct err *fl_walk_restore(struct fl_slice *s, uint32_t insn, uint64_t addr,
			    live_who who, uint32_t link)
{
	struct walk_thread *t = s->at;
	struct saved v = { .addr = addr,
			   .position = s->position,
			   .serial = t->frames.data[t->frames.size - 1].serial,
			   .link = link,
			   .insn = insn,
			   .tid = t->tid,
			   .who = who,
			   .reg = s->trace->insns.data[insn].effect->saved };
	uint32_t at;

	if (s->free_saves.size)
		at = s->free_saves.data[--s->free_saves.size];
	else if (vec_push(&s->saves))
		at = s->saves.size - 1;
	else
		return &err_nomem;
	s->saves.data[at] = v;
	s->saved_hint[addr / 8 % WALK_HINTS]++;
	// All of it: a part that is written is no restore of the whole.
	return fl_live_mem_want(&s->mem, addr, 8, who, link_to(at, LINK_SAVED));
}

bool fl_walk_find_save(const struct fl_slice *s, const struct effect *e, uint64_t addr,
		       uint32_t *save)
{
	const struct walk_thread *t = s->at;
	const struct saved *v;

	if (!is_saved(s, addr, save))
		return false;
	v = &s->saves.data[*save];
	return v->reg == e->saved && v->addr == addr && v->tid == t->tid &&
	       v->serial == t->frames.data[t->frames.size - 1].serial;
}

struct err *fl_walk_save(struct fl_slice *s, uint32_t save, live_who *who, uint32_t *link)
{
	const struct saved *v = &s->saves.data[save];

	fl_live_mem_take(&s->mem, v->addr, 8, false);
	*link = v->link;
	*who = v->who;
	s->saved_hint[v->addr / 8 % WALK_HINTS]--;
	s->stats.n_pairs++;
	return vec_add(&s->free_saves, save);
}

/* ---- registers and memory ---- */

struct err *fl_walk_want_reg(struct fl_slice *s, int reg, uint64_t bytes, live_who who,
			     uint32_t link)
{
	struct err *err;

	if ((reg == CAP_RSP && !s->options.follows_stack) ||
	    (s->options.n_prunes && fl_walk_is_pruned(s, FL_PRUNE_REG, reg)))
		return NULL;
	err = fl_share_reg(s, reg, bytes, link);
	return err   ?:
		       fl_live_reg_want(&s->at->regs, s->has_several, reg, bytes, who,
					link);
}

struct err *fl_walk_want_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			     live_who who, uint32_t link)
{
	struct err *err;

	if (s->prunes_memory && fl_walk_is_pruned(s, FL_PRUNE_MEM, addr))
		return NULL;
	err = commit_all(s, addr, size);
	if (!err)
		err = fl_share_mem(s, addr, size, link);
	return err ?: fl_live_mem_want(&s->mem, addr, size, who, link);
}

struct err *fl_walk_take_mem(struct fl_slice *s, uint64_t addr, uint64_t size, bool stays,
			     struct live_want *ret)
{
	struct err *err = commit_all(s, addr, size);

	if (!err)
		err = fl_share_parts(s, addr, size);
	*ret = err ? (struct live_want){} : fl_live_mem_take(&s->mem, addr, size, stays);
	return err || !ret->who ? err : fl_share_take_mem(s, addr, size, stays);
}

struct err *fl_walk_want_some(struct fl_slice *s, uint64_t addr, uint32_t size,
			      uint64_t bytes, live_who who, uint32_t link)
{
	struct err *err = NULL;

	if (bytes == ~UINT64_C(0))
		return fl_walk_want_mem(s, addr, size, who, link);
	bytes &= size < 64 ? (UINT64_C(1) << size) - 1 : ~UINT64_C(0);
	while (bytes && !err) {
		int from = __builtin_ctzll(bytes);
		uint64_t rest = ~(bytes >> from);
		int n = rest ? __builtin_ctzll(rest) : 64;

		n = n < 64 - from ? n : 64 - from;
		err = fl_walk_want_mem(s, addr + from, n, who, link);
		bytes &= n + from < 64 ? ~UINT64_C(0) << (n + from) : 0;
	}
	return err;
}
