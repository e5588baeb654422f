// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Alterations of a branch: when they are due, and what they do.
 */
#include <sys/mman.h>

#include "decode/machine/loose_int.h"

static void set_memory(struct dec_replay *r, const struct dec_alter *a)
{
	err_destroy(dec_guest_write(&r->guest, a->addr, &a->value,
				    a->bytes < 8 ? a->bytes : 8));
}

/* Execute the instruction at rip; if it is a conditional branch, to its other side. */
static enum dec_verdict invert(struct dec_replay *r)
{
	struct dec_ctx *c = r->engine.ctx;
	uint64_t rip = c->rip, n = dec_guest_avail(&r->guest, rip, PROT_EXEC), next;
	struct dec_insn insn;
	enum dec_verdict v;

	if (!dec_insn_decode((const uint8_t *)rip, n < 15 ? n : 15, rip, &insn) ||
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
	uint64_t n = dec_guest_avail(&r->guest, c->rip, PROT_EXEC);
	struct dec_insn insn;

	if (!dec_insn_decode((const uint8_t *)c->rip, n < 15 ? n : 15, c->rip, &insn))
		return;
	c->rip += insn.len;
	r->engine.now++;
}

static bool is_due(const struct dec_alter *a, uint64_t times)
{
	return times == a->nth ||
	       (a->every && times > a->nth && (times - a->nth) % a->every == 0);
}

/* Alter; @p is_moved: the instruction is done with. */
static enum dec_verdict alter(struct dec_replay *r, const struct dec_alter *a,
			      bool *is_moved)
{
	r->loose->out->n_altered++;
	switch (a->kind) {
	case DEC_ALTER_REG:
		r->engine.ctx->gpr[a->reg] = a->value;
		return DEC_GO;
	case DEC_ALTER_MEMORY:
		set_memory(r, a);
		return DEC_GO;
	case DEC_ALTER_SKIP:
		*is_moved = true;
		skip(r);
		return DEC_GO;
	case DEC_ALTER_INVERT:
		*is_moved = true;
		return invert(r);
	}
	return DEC_GO;
}

enum dec_verdict dec_loose_alter_here(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;
	uint64_t rip = r->engine.ctx->rip;
	bool is_moved = false;
	enum dec_verdict v = DEC_GO;

	for (size_t i = 0; v == DEC_GO && !is_moved && i < l->n_alters; i++)
		if (l->alters[i].rip == rip && is_due(&l->alters[i], ++l->times[i]))
			v = alter(r, &l->alters[i], &is_moved);
	return v;
}

enum dec_verdict dec_loose_alter_at_once(struct dec_replay *r)
{
	struct dec_loose *l = r->loose;
	enum dec_verdict v = DEC_GO;
	bool is_moved = false;

	for (size_t i = 0; v == DEC_GO && i < l->n_alters; i++)
		if (!l->alters[i].rip)
			v = alter(r, &l->alters[i], &is_moved);
		else
			dec_engine_set_break(&r->engine, l->alters[i].rip, true);
	return v == DEC_GO ? dec_loose_alter_here(r) : v;
}
