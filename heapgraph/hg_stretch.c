// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The fast way of hg_glance.c from block to block: as long as nothing but courses, calls, returns
 * and jumps is met, nobody else is asked in between. What comes of it is the same.
 */
#include "decode/machine/log.h"
#include "heapgraph/hg_glance_int.h"

/* A stretch under way. */
struct stretch {
	struct hg_finder *f;
	struct thread *t;
	struct frames *frames;
	struct dec_glance *g;
	const struct dec_heap_storer *storer;
	bool is_over; ///< the instruction at g->at is for a step
};

/* Is nothing under way that steps or glances have to see the end of? */
static bool is_fit(const struct hg_finder *f, const struct frames *frames,
		   const struct dec_glance *g)
{
	const struct thread *t = f->thread;

	return t && f->derive.regs->tid == g->tid && !t->is_back && !t->stranger &&
	       f->n_mapped == frames->n_mapped;
}

/* Is the block @p b one to stop in front of? */
static bool is_due(const struct stretch *st, const struct hg_glanced_block *b)
{
	const struct thread *t = st->t;

	return b->end == GLANCE_END_STEP ||
	       (t->string.rsp && st->g->gpr[CAP_RSP] > t->string.rsp) ||
	       (t->has_jumped && hg_glance_is_entry(st->f, st->g));
}

/* ---- how blocks end --------------------------------------------------------------------------- */

/* Whose is the block's end? That changes where modules are mapped. */
static void find_end(const struct stretch *st, struct hg_glanced_block *b)
{
	const struct dec_insn *last = &st->g->block->insn[st->g->n_ran - 1];

	if (b->n_mapped == st->frames->n_mapped)
		return;
	b->n_mapped = st->frames->n_mapped;
	b->is_own_end = dec_frames_is_own(st->frames, last->rip);
	b->jump_end = dec_frames_jump_end(st->frames, last);
}

/* A return: does it end a call that somebody is told of? */
static bool ends_call(const struct thread *t, uint64_t rsp)
{
	return (t->string.rsp && rsp >= t->string.rsp) ||
	       (t->allocator_rsp && rsp >= t->allocator_rsp) ||
	       (t->family && rsp >= t->family_rsp) ||
	       (t->open.size && t->open.data[t->open.size - 1].rsp <= rsp);
}

/* The operand of a jump or call. @return whether it may be gone through; then it was. */
static bool use_slot(const struct stretch *st, struct hg_glanced *q, uint32_t i,
		     struct err **err)
{
	const struct dec_glance *g = st->g;
	struct hg_derive *d = &st->f->derive;
	uint64_t addr = hg_glance_address(&q->mem, g);

	if (st->f->slots.size && map_get(&st->f->slots, addr))
		return false;
	if (d->regs->live & q->address)
		*err = hg_glance_check(st->f, g, q, i, addr,
				       q->mem.base < DEC_GPRS ? g->gpr[q->mem.base] : 0);
	hg_derive_recall(d, addr, hg_word_at(g->rec + q->load_at));
	return true;
}

static struct err *go_call(const struct stretch *st, const struct hg_glanced_block *b,
			   const struct dec_insn *insn, uint64_t position)
{
	uint64_t rsp = st->g->gpr[CAP_RSP], next = insn->rip + insn->len;

	if (!st->t->allocator_rsp)
		hg_derive_remember(&st->f->derive, rsp, next, 0);
	if (b->is_own_end)
		st->t->call_size = st->g->gpr[CAP_RDX];
	return dec_frames_call(st->frames, next, rsp, position);
}

static struct err *go_return(const struct stretch *st, const struct dec_insn *insn,
			     uint64_t rsp, uint64_t position)
{
	hg_string_call_return(&st->t->string, rsp);
	return st->storer->returned(st->storer->ctx, insn->rip, rsp, st->g->gpr[CAP_RAX],
				    position);
}

/* The last instruction, a call, return or indirect jump. */
static struct err *go_branch(struct stretch *st, const struct hg_glanced_block *b)
{
	struct dec_glance *g = st->g;
	uint32_t i = g->n_ran - 1;
	struct hg_glanced *q = &hg_glanced_insns(g)[i];
	const struct dec_insn *insn = &g->block->insn[i];
	uint64_t rsp = g->gpr[CAP_RSP], position = g->position + i;
	struct err *err = NULL;

	if ((b->end == GLANCE_END_RETURN && ends_call(st->t, rsp)) ||
	    (q->mem.is_there && !st->t->allocator_rsp && !use_slot(st, q, i, &err))) {
		st->is_over = true;
		return err;
	}
	dec_glance_branch(g, i);
	st->f->derive.regs->value[CAP_RSP] = g->gpr[CAP_RSP];
	st->t->has_jumped = true;
	if (err)
		return err;
	if (b->end == GLANCE_END_RETURN)
		return go_return(st, insn, rsp, position);
	if (b->end == GLANCE_END_CALL)
		return go_call(st, b, insn, position);
	st->frames->jump_end = b->jump_end;
	if (b->jump_end)
		st->t->call_size = g->gpr[CAP_RDX];
	return NULL;
}

/* Behind the first g->at instructions, of which none was for a step. */
static void go_plain(const struct stretch *st, const struct hg_glanced_block *b,
		     bool is_jumped)
{
	bool is_end = st->g->at == st->g->n_ran;

	st->t->has_jumped = is_end && st->g->plan->insn[b->n - 1].flow != DEC_FLOW_NEXT;
	// Behind a jump of the user's it is what it was there, or is brought up to date.
	if (is_jumped || (st->t->has_jumped && b->jump_end))
		st->t->call_size = st->g->gpr[CAP_RDX];
	if (st->t->has_jumped)
		st->frames->jump_end = b->jump_end;
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static struct err *go_block(struct stretch *st, struct hg_glanced_block *b)
{
	bool is_jumped = st->frames->jump_end != 0;
	struct err *err = NULL;
	uint32_t i = 0;

	if (!st->t->string.rsp && !st->t->allocator_rsp)
		err = hg_course_run(st->f, st->g, st->storer, &i);
	if (!err && i < b->n) {
		i = hg_glance_go_on(st->f, st->g, i, st->storer, &err);
		hg_glance_level(st->f, st->g);
	}
	st->g->at = i < b->n ? i : b->n;
	if (err)
		return err;
	find_end(st, b);
	if (st->g->at)
		go_plain(st, b, is_jumped);
	st->is_over = i < b->n;
	return b->end == GLANCE_END_PLAIN || st->is_over ? NULL : go_branch(st, b);
}

struct err *hg_access_stretch(void *ctx, struct frames *frames, struct dec_stretch *s,
			      const struct dec_heap_storer *storer)
{
	struct hg_finder *f = ctx;
	struct stretch st = {
		.f = f, .t = f->thread, .frames = frames, .g = &s->g, .storer = storer
	};
	struct err *err = NULL;

	f->frames = frames;
	if (!is_fit(f, frames, &s->g))
		return NULL;
	if (s->until > hg_recorder_due(f->recorder))
		s->until = hg_recorder_due(f->recorder);
	if (!f->is_level || f->derive.regs->value[CAP_RSP] != s->g.gpr[CAP_RSP])
		hg_glance_level(f, &s->g);
	while (!err && dec_stretch_next(s)) {
		struct hg_glanced_block *b = hg_glanced_block(&s->g);

		if (is_due(&st, b))
			break;
		err = frames_land(frames, s->g.block->rip);
		if (!err)
			err = go_block(&st, b);
		if (st.is_over || err)
			break;
		dec_stretch_advance(s);
	}
	return err ? err : f->derive.is_out_of_memory ? &err_nomem : NULL;
}
