// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The fast way of glance.c through whole blocks, and from block to block, where values alone are followed: as long
 * as no register that a block has to do with lacks one, it is enough to look at its accesses, and where the stack
 * ends. Addresses are made of what its record has; registers are brought up to date when it ends.
 */
#include "faultlocate/bytes/glance_int.h"

_Static_assert(DEC_BLOCK_INSNS <= 32, "sets of instructions");

/* ---- plans -------------------------------------------------------------------------------------- */

static void plan_insn(const struct dec_glance *g, uint32_t i, struct hg_trail *t)
{
	struct bytes_seen_block *b = fl_seen_block(g);
	struct bytes_seen *q = fl_seen(g, i);

	b->regs |= q->regs;
	b->vec |= q->vec;
	if (q->kind == KIND_INERT)
		return;
	q->base = hg_trail_place(t, q->mem.base);
	q->index = hg_trail_place(t, q->mem.index);
	q->disp = q->mem.disp + (q->mem.base == CAP_RSP ? t->rsp_step : 0);
	if (hg_trail_pass(t, g, i))
		b->others |= 1u << i;
	q->rsp = t->gpr[CAP_RSP];
	q->rsp_step = t->rsp_step;
	if (q->mem.is_read || q->mem.is_write || q->moves_stack)
		b->relevant |= 1u << i;
}

/* How does the block end, whose last instruction is a step's? */
static enum bytes_end plan_end(const struct dec_glance *g)
{
	uint32_t i = g->block->n_insns - 1;
	const struct dec_insn *insn = &g->block->insn[i];
	bool is_indirect = insn->flow == DEC_FLOW_CALL_IND ||
			   insn->flow == DEC_FLOW_JMP_IND;
	const struct dec_mem *m = insn->mem;
	struct bytes_seen *q = fl_seen(g, i);

	if (!is_indirect && insn->flow != DEC_FLOW_CALL && insn->flow != DEC_FLOW_RET)
		return BYTES_END_STEP;
	// That of a call through a register is what it pushes.
	if (is_indirect && insn->n_mem && m->is_read) {
		if (m->is_gs || m->is_addr32 || m->size != 8 || m->is_write)
			return BYTES_END_STEP;
		q->mem = hg_glance_mem_of(insn);
	}
	return insn->flow == DEC_FLOW_RET     ? BYTES_END_RETURN :
	       insn->flow == DEC_FLOW_JMP_IND ? BYTES_END_JUMP :
						BYTES_END_CALL;
}

void fl_course_plan(const struct dec_glance *g, struct frames *frames)
{
	struct bytes_seen_block *b = fl_seen_block(g);
	uint32_t n = g->block->n_insns;
	enum dec_flow flow = g->plan->insn[n - 1].flow;
	struct hg_trail t;

	hg_trail_begin(&t);
	for (b->n = 0; b->n < n && fl_seen(g, b->n)->kind != KIND_STEP; b->n++)
		plan_insn(g, b->n, &t);
	b->n_finals = hg_trail_finals(&t, b->final);
	b->rsp_step = t.rsp_step;
	b->end = b->n == n	? BYTES_END_PLAIN :
		 b->n == n - 1u ? plan_end(g) :
				  BYTES_END_STEP;
	if (flow == DEC_FLOW_JMP || flow == DEC_FLOW_JMP_IND)
		b->jump_end = dec_frames_jump_end(frames, &g->block->insn[n - 1]);
}

/* ---- through a block ---------------------------------------------------------------------------- */

struct course {
	struct bytes_walk *w;
	const struct dec_glance *g;
	const uint8_t *from[PLACES];
};

static inline uint64_t value(const struct course *c, struct hg_place at)
{
	return log_word(c->from[at.from], at.at);
}

static inline uint64_t address(const struct course *c, const struct bytes_seen *q)
{
	uint64_t addr = q->disp + value(c, q->base) + value(c, q->index) * q->mem.scale;

	return q->mem.is_fs ? addr + c->g->fs_base : addr;
}

static struct err *go_insn(const struct course *c, const struct bytes_seen *q, uint32_t i,
			   uint64_t addr, const struct dec_heap_storer *storer)
{
	const struct dec_insn *insn = &c->g->block->insn[i];
	struct err *err = NULL;

	if (q->moves_stack)
		err = fl_values_follow_stack(c->w, insn, value(c, q->rsp) + q->rsp_step);
	if (!q->mem.is_write || err)
		return err;
	err = fl_values_give(&c->w->values, addr, q->mem.size);
	return err || !q->may_store ?
		       err :
		       storer->store(storer->ctx, insn, c->g->position + i, addr,
				     c->g->rec + q->store_at, q->mem.size);
}

/* Registers are as they are behind the first @p n instructions. */
static void define(const struct dec_glance *g, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (fl_seen(g, i)->kind != KIND_INERT)
			dec_glance_define(g, i);
}

static void finish(const struct dec_glance *g, const struct bytes_seen_block *b)
{
	for (uint32_t others = b->others; others; others &= others - 1)
		dec_glance_define(g, __builtin_ctz(others));
	for (uint32_t k = 0; k < b->n_finals; k++)
		g->gpr[b->final[k].reg] = log_word(g->rec, b->final[k].at);
	g->gpr[CAP_RSP] += b->rsp_step;
}

/* @return so many instructions were gone through; the next one is to be looked at by itself. */
static uint32_t go_course(struct bytes_walk *w, const struct dec_glance *g,
			  const struct dec_heap_storer *storer, struct err **err)
{
	static const uint64_t nothing;
	const struct bytes_seen_block *b = fl_seen_block(g);
	const struct bytes_regs *r = &w->thread->regs;
	const struct course c = {
		w, g, { (const uint8_t *)g->gpr, g->rec, (const uint8_t *)&nothing }
	};

	if (b->regs & r->live || b->vec & r->vec_live || !fl_has_flags(r) ||
	    b->is_watched)
		return 0;
	for (uint32_t left = b->relevant; left && !*err; left &= left - 1) {
		uint32_t i = __builtin_ctz(left);
		const struct bytes_seen *q = fl_seen(g, i);
		uint64_t addr = q->mem.is_there ? address(&c, q) : 0;

		if (q->mem.is_read &&
		    !fl_values_are_there(&w->values, addr, q->mem.size)) {
			define(g, i);
			return i;
		}
		*err = go_insn(&c, q, i, addr, storer);
	}
	finish(g, b);
	return b->n;
}

/* ---- how blocks end ----------------------------------------------------------------------------- */

/* The last instruction, a call, return or indirect jump. @return whether it is none for a step; then it was gone through. */
static bool go_branch(struct bytes_walk *w, struct frames *frames,
		      const struct dec_glance *g, const struct dec_heap_storer *storer,
		      struct err **err)
{
	const struct bytes_seen_block *b = fl_seen_block(g);
	uint32_t i = g->n_ran - 1;
	const struct bytes_seen *q = fl_seen(g, i);
	const struct dec_insn *insn = &g->block->insn[i];
	uint64_t rsp = g->gpr[CAP_RSP], next = insn->rip + insn->len;
	struct bytes_thread *t = w->thread;
	bool is_return = b->end == BYTES_END_RETURN;

	if (q->regs & t->regs.live || b->is_watched ||
	    (is_return && ((t->allocator_rsp && rsp >= t->allocator_rsp) ||
			   !fl_values_are_there(&w->values, rsp, 8))) ||
	    (q->mem.is_there &&
	     !fl_values_are_there(&w->values, hg_glance_address(&q->mem, g), 8)))
		return false;
	dec_glance_branch(g, i);
	*err = fl_values_follow_stack(w, insn, g->gpr[CAP_RSP]);
	if (!*err && b->end == BYTES_END_CALL)
		*err = fl_values_give(&w->values, g->gpr[CAP_RSP], 8);
	if (*err)
		return true;
	if (is_return) {
		*err = storer->returned(storer->ctx, insn->rip, rsp, g->gpr[CAP_RAX],
					g->position + i);
	} else if (b->end == BYTES_END_CALL) {
		*err = dec_frames_call(frames, next, g->gpr[CAP_RSP], g->position + i);
	} else {
		dec_frames_land_thrown(frames, rsp); // what was thrown landed
		frames->jump_end = b->jump_end;
	}
	return true;
}

/* ---- from block to block ------------------------------------------------------------------------ */

static bool is_fit(const struct bytes_walk *w, const struct frames *frames,
		   const struct dec_stretch *s)
{
	const struct bytes_thread *t = w->thread;

	return t && t->tid == s->g.tid && w->n_mapped == frames->n_mapped &&
	       !t->string.rsp;
}

/* Is the block one to stop in front of? */
static bool is_due(const struct bytes_walk *w, const struct frames *frames,
		   const struct dec_glance *g)
{
	const struct bytes_thread *t = w->thread;

	return !fl_seen_block(g)->is_known ||
	       fl_seen_block(g)->n_mapped != frames->n_mapped ||
	       (t->has_jumped && !t->allocator_rsp && fl_glance_is_entry(w, g));
}

static void find_watched(const struct bytes_walk *w, const struct dec_glance *g)
{
	struct bytes_seen_block *b = fl_seen_block(g);

	if (b->n_watched == w->looks.next)
		return;
	b->n_watched = w->looks.next;
	b->is_watched = false;
	for (uint32_t i = 0; i < g->block->n_insns; i++)
		b->is_watched |= fl_looks_is_watched(&w->looks, g->block->insn[i].rip);
}

/* @return whether the block at @p g was gone through to its end. */
static bool go_block(struct bytes_walk *w, struct frames *frames, struct dec_glance *g,
		     const struct dec_heap_storer *storer, struct err **err)
{
	const struct bytes_seen_block *b = fl_seen_block(g);
	uint32_t i;

	w->has_released = false;
	find_watched(w, g);
	i = go_course(w, g, storer, err);
	if (!*err && i < b->n)
		i = fl_glance_go_on(w, g, i, storer, err);
	g->at = i;
	if (i)
		w->thread->has_jumped = g->plan->insn[i - 1].flow != DEC_FLOW_NEXT;
	if (*err || i < b->n || b->end == BYTES_END_STEP)
		return false;
	if (b->end != BYTES_END_PLAIN) {
		if (!go_branch(w, frames, g, storer, err))
			return false;
		g->at = g->n_ran;
		w->thread->has_jumped = true;
	} else if (w->thread->has_jumped) {
		frames->jump_end = b->jump_end;
	}
	return true;
}

struct err *fl_bytes_stretch(void *ctx, struct frames *frames, struct dec_stretch *s,
			     const struct dec_heap_storer *storer)
{
	struct bytes_walk *w = ctx;
	struct dec_glance *g = &s->g;
	struct err *err = NULL;
	bool has_gone = false;

	if (!is_fit(w, frames, s))
		return NULL;
	w->frames = frames;
	while (!err && dec_stretch_next(s) && !is_due(w, frames, g)) {
		bool is_whole;

		err = frames_land(frames, g->block->rip);
		is_whole = !err && go_block(w, frames, g, storer, &err);
		has_gone |= g->at != 0;
		if (!is_whole || err)
			break;
		dec_stretch_advance(s);
	}
	if (has_gone) {
		memcpy(w->thread->gpr, g->gpr, sizeof(w->thread->gpr));
	}
	return err;
}
