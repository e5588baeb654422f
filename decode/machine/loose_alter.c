// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Alterations of a branch: when they are due, and what they do.
 */
#include <assert.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/machine/loose_int.h"
#include "decode/machine/threads.h"
#include "decode/x86/zydis.h"

static void set_memory(struct dec_replay *r, const struct dec_alter *a)
{
	err_destroy(dec_guest_write(&r->guest, a->addr, &a->value,
				    a->bytes < 8 ? a->bytes : 8));
}

/* Execute the instruction at rip; if it is a conditional branch, to its other side. */
static enum dec_verdict invert(struct dec_replay *r)
{
	struct dec_ctx *c = r->engine.ctx;
	uint64_t rip = c->rip, next;
	struct dec_insn insn;
	enum dec_verdict v;

	if (!dec_guest_insn(&r->guest, rip, &insn) ||
	    (insn.flow != DEC_FLOW_JCC && insn.flow != DEC_FLOW_JRCX))
		return dec_engine_step(&r->engine);
	next = rip + insn.len;
	v = dec_engine_step(&r->engine);
	if (v == DEC_GO)
		c->rip = c->rip == next ? insn.target : next;
	return v;
}

static void skip(struct dec_replay *r)
{
	struct dec_ctx *c = r->engine.ctx;
	struct dec_insn insn;

	if (!dec_guest_insn(&r->guest, c->rip, &insn))
		return;
	c->rip += insn.len;
	r->engine.now++;
}

/* Execute an instruction that accesses memory operand @p m as if that lay @p by bytes further
 * on: with what is there in its place, and then back. */
static enum dec_verdict access_elsewhere(struct dec_replay *r, const struct dec_mem *m,
					 uint64_t by)
{
	uint8_t here[64], there[64];
	const struct dec_ctx *c = r->engine.ctx;
	uint64_t a = dec_insn_address(m, c->gpr, c->fs_base, c->gs_base), size = m->size;
	struct dec_guest *g = &r->guest;
	enum dec_verdict v;

	assert(size <= sizeof(here) && "an operand is a register's size at most");
	if (dec_guest_avail(g, a + by, m->is_write ? PROT_WRITE : PROT_READ) < size)
		return dec_loose_signal(r, SIGSEGV, a + by);
	if (dec_guest_avail(g, a, PROT_READ) < size)
		return dec_loose_end(
			r->loose, DEC_FATE_MACHINE, 0,
			"an access at %#lx, where there is no memory, cannot "
			"be moved",
			a);
	memcpy(here, (const void *)a, size);
	memcpy(there, (const void *)(a + by), size);
	err_destroy(dec_guest_write(g, a, there, size));
	v = dec_engine_step(&r->engine);
	memcpy(there, (const void *)a, size);
	err_destroy(dec_guest_write(g, a, here, size));
	if (m->is_write)
		err_destroy(dec_guest_write(g, a + by, there, size));
	return v;
}

static enum dec_verdict move(struct dec_replay *r, uint64_t by)
{
	struct dec_ctx *c = r->engine.ctx;
	struct dec_insn insn;
	enum dec_verdict v;
	bool pushes;

	if (!dec_guest_insn(&r->guest, c->rip, &insn))
		return DEC_GO;
	if (insn.mnemonic == ZYDIS_MNEMONIC_LEA && insn.gpr_written) {
		v = dec_engine_step(&r->engine);
		c->gpr[__builtin_ctz(insn.gpr_written)] += by;
		return v;
	}
	// The stack's own accesses come last.
	pushes = dec_insn_rsp_step(&insn) || insn.flow == DEC_FLOW_CALL ||
		 insn.flow == DEC_FLOW_CALL_IND || insn.flow == DEC_FLOW_RET;
	if (insn.n_mem != 1 + pushes || insn.is_rep)
		return dec_loose_end(r->loose, DEC_FATE_MACHINE, 0,
				     "what %s at %#lx accesses cannot be moved",
				     dec_insn_name(&insn), c->rip);
	return access_elsewhere(r, &insn.mem[0], by);
}

bool dec_loose_place(struct dec_replay *r, uint32_t tid)
{
	struct replay_thread *t = dec_threads_find(r, tid);

	if (!t || t == dec_threads_current(r) || !dec_loose_can_go_on(t))
		return false;
	if (!r->loose->has_parted)
		dec_loose_part(r);
	r->loose->has_to_pause = false;
	return dec_loose_go_on(r, t) == DEC_GO;
}

static bool is_due(const struct dec_alter *a, uint64_t times)
{
	return times == a->nth ||
	       (a->every && times > a->nth && (times - a->nth) % a->every == 0);
}

/* Alter. */
static enum dec_verdict alter(struct dec_replay *r, const struct dec_alter *a)
{
	struct dec_loose *l = r->loose;

	l->out->n_altered++;
	switch (a->kind) {
	case DEC_ALTER_REG:
		r->engine.ctx->gpr[a->reg] = a->value;
		break;
	case DEC_ALTER_MEMORY:
		set_memory(r, a);
		break;
	case DEC_ALTER_SKIP:
		l->has_moved = true;
		skip(r);
		break;
	case DEC_ALTER_INVERT:
		l->has_moved = true;
		return invert(r);
	case DEC_ALTER_MOVE:
		l->has_moved = true;
		return move(r, a->value);
	case DEC_ALTER_THREAD:
		l->has_moved = dec_loose_place(r, a->value);
		l->out->n_altered -= !l->has_moved;
		break;
	}
	return DEC_GO;
}

/* Nothing more is to happen at @p rip: its passes need not be counted any longer. */
static bool is_done_at(const struct dec_loose *l, uint64_t rip)
{
	for (size_t i = 0; i < l->n_alters; i++)
		if (l->alters[i].rip == rip &&
		    (l->alters[i].every || l->times[i] < l->alters[i].nth))
			return false;
	return true;
}

enum dec_verdict dec_loose_alter_here(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;
	uint64_t rip = r->engine.ctx->rip;
	enum dec_verdict v = DEC_GO;

	l->has_moved = false;
	for (size_t i = 0; v == DEC_GO && !l->has_moved && i < l->n_alters; i++)
		if (l->alters[i].rip == rip && is_due(&l->alters[i], ++l->times[i]))
			v = alter(r, &l->alters[i]);
	if (is_done_at(l, rip))
		dec_engine_set_break(&r->engine, rip, false);
	return v;
}

enum dec_verdict dec_loose_alter_at_once(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;
	enum dec_verdict v = DEC_GO;

	for (size_t i = 0; v == DEC_GO && i < l->n_alters; i++)
		if (!l->alters[i].rip)
			v = alter(r, &l->alters[i]);
		else
			dec_engine_set_break(&r->engine, l->alters[i].rip, true);
	return v == DEC_GO ? dec_loose_alter_here(r) : v;
}
