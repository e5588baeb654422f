// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the guard keeps of threads that do not run, and of what signals' handlers interrupted.
 */

#include <string.h>
#include <sys/mman.h>

#include "decode/translator/guard_int.h"
#include "decode/x86/insn.h"

/* ---- threads ------------------------------------------------------------------------------------ */

static void keep_pointers(const struct dec_engine *e, struct guard_thread *t)
{
	const struct dec_guard *g = e->guard;

	memcpy(t->tag, e->ctx->tag, sizeof(t->tag));
	memcpy(t->lanes, g->lanes, sizeof(t->lanes));
	memcpy(t->string_call, e->ctx->string_call, sizeof(t->string_call));
	t->vec_tags = e->ctx->vec_tags;
	t->passed = g->passed;
	t->fill = g->fill;
	t->call = g->call;
	t->family = g->family;
}

static void bring_pointers(struct dec_engine *e, const struct guard_thread *t)
{
	struct dec_guard *g = e->guard;

	memcpy(e->ctx->tag, t->tag, sizeof(t->tag));
	memcpy(g->lanes, t->lanes, sizeof(t->lanes));
	memcpy(e->ctx->string_call, t->string_call, sizeof(t->string_call));
	e->ctx->vec_tags = t->vec_tags;
	g->fill = t->fill;
	g->call = t->call;
	g->family = t->family;
	g->passed = t->passed;
	dec_guard_show_spans(e);
}

static bool keep_thread(const struct dec_engine *e, struct guard_thread *t)
{
	keep_pointers(e, t);
	return !e->guard->blank || dec_blank_keep(e, &t->blank);
}

static void bring_thread(struct dec_engine *e, const struct guard_thread *t)
{
	bring_pointers(e, t);
	if (e->guard->blank)
		dec_blank_bring(e, t->blank.regs ? &t->blank : NULL);
}

void dec_guard_switch(struct dec_engine *e, uint32_t from, uint32_t to, bool is_new)
{
	const struct guard_thread none = {};
	struct dec_guard *g = e->guard;
	struct guard_thread *t;

	if (!g)
		return;
	t = vec_find(&g->threads, k, k->tid == from);
	if (!t && (t = vec_push(&g->threads)))
		*t = (struct guard_thread){ .tid = from };
	if (!t || !keep_thread(e, t))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
	t = is_new ? NULL : vec_find(&g->threads, k, k->tid == to);
	bring_thread(e, t ?: &none);
}

/* ---- signals ------------------------------------------------------------------------------------ */

/* Registers that are not what they were, @p was, are no pointers. */
static void change_regs(struct dec_engine *e, const uint64_t was[16],
			const uint64_t now[16])
{
	for (int r = 0; r < DEC_GPRS; r++)
		if (was[r] != now[r])
			e->ctx->tag[r] = 0;
}

void dec_guard_signal(struct dec_engine *e, const uint64_t gpr[16], bool is_fault)
{
	const struct guard_thread none = {};
	struct dec_guard *g = e->guard;
	uint64_t frame = gpr[CAP_RSP] + 8;
	struct guard_handler *h;

	if (!g || g->is_without_pointers)
		return;
	// One that was left by longjmp has its frame no more.
	h = vec_find(&g->handlers, k, k->frame == frame) ?: vec_push(&g->handlers);
	if (!h || is_fault || g->call.is_open || g->family.family) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	h->frame = frame;
	memcpy(h->gpr, e->ctx->gpr, sizeof(h->gpr));
	h->was = none;
	keep_pointers(e, &h->was);
	bring_pointers(e, &none);
	memcpy(e->ctx->tag, h->was.tag, sizeof(h->was.tag));
	change_regs(e, h->gpr, gpr);
}

static bool has_tag(const struct dec_engine *e, uint8_t reg)
{
	return reg != DEC_REG_NONE && (reg >= DEC_GPRS || e->ctx->tag[reg]);
}

void dec_guard_fatal(struct dec_engine *e)
{
	const struct dec_guard *g = e->guard;
	struct blank_regs regs, writes;
	const struct dec_insn *insn;

	if (!g || !e->world.avail(e->world.ctx, e->ctx->rip, PROT_EXEC))
		return;
	insn = dec_engine_insn(e, e->ctx->rip);
	regs = dec_blank_regs(insn, &writes);
	if (g->blank && blank_regs_meet(blank_regs_add(regs, writes), dec_blank_live(e)))
		dec_guard_doubt(e, DEC_DOUBT_VALUE, e->ctx->rip);
	for (int i = 0; i < insn->n_mem && !g->is_without_pointers; i++)
		if (has_tag(e, insn->mem[i].base) || has_tag(e, insn->mem[i].index))
			dec_guard_doubt(e, DEC_DOUBT_ACCESS, e->ctx->rip);
}

void dec_guard_signal_over(struct dec_engine *e, uint64_t frame)
{
	struct dec_guard *g = e->guard;
	struct guard_handler *h;

	if (!g || g->is_without_pointers)
		return;
	h = vec_find(&g->handlers, k, k->frame == frame);
	if (!h || g->call.is_open) {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return;
	}
	bring_pointers(e, &h->was);
	change_regs(e, h->gpr, e->ctx->gpr);
	*h = g->handlers.data[--g->handlers.size];
}
