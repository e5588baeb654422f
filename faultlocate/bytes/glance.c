// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The fast way of bytes.c: most instructions have nothing to do with pointers to variables, nor with what has no
 * value. They are followed from their block's record, without steps; all others are left to the steps. What
 * comes of it is the same.
 */
#include <string.h>

#include "faultlocate/bytes/glance_int.h"

#include "decode/x86/zydis.h"

const size_t fl_bytes_glance_bytes = BYTES_SEEN_EACH;

/* ---- what is known of an instruction ------------------------------------------------------------ */

/* May it make a pointer to a variable of the user's? See objects.c. */
static bool may_make_pointer(const struct dec_insn *insn)
{
	return insn->mnemonic == ZYDIS_MNEMONIC_LEA ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOV && !insn->n_mem &&
		(!insn->gpr_read || insn->gpr_read >> CAP_RSP & 1)) ||
	       (insn->n_mem && insn->mem[0].index != DEC_REG_NONE);
}

static void learn(struct bytes_walk *w, struct bytes_seen *q, struct frames *frames,
		  const struct dec_glance *g, uint32_t i, enum dec_log_mode mode)
{
	const struct dec_insn *insn = &g->block->insn[i];
	struct hg_slots_at at;

	*q = (struct bytes_seen){ .kind = g->plan->insn[i].is_inert ? KIND_INERT :
								      KIND_STEP,
				  .regs = fl_values_regs(insn),
				  .vec = insn->other_read | insn->other_written,
				  .moves_stack = insn->gpr_written >> CAP_RSP & 1,
				  .reads_flags = insn->reads_flags,
				  .writes_flags = insn->writes_flags };
	q->is_call = w->events->access && fl_made_is_call(insn) &&
		     dec_frames_is_own(frames, insn->rip);
	if (q->kind == KIND_INERT || !hg_glance_is_plain(insn) ||
	    (w->events->access && (may_make_pointer(insn) || fl_dynamic_may_take(insn)) &&
	     dec_frames_is_own(frames, insn->rip)))
		return;
	at = hg_glance_slots(g, i);
	q->def = at.def;
	q->def_at = at.define;
	q->store_at = at.store;
	q->may_store = dec_heap_may_store(insn, mode);
	if (insn->n_mem)
		q->mem = hg_glance_mem_of(insn);
	// What a plain load reads is what it defines.
	q->word_at = at.load ? at.load : insn->is_plain_load ? at.define : 0;
	q->may_load = w->events->access && w->events->use && fl_made_may_load(insn) &&
		      dec_frames_is_own(frames, insn->rip);
	q->words = w->events->access && q->mem.is_read ? q->mem.size / 8 : 0;
	if ((q->words && (!q->word_at || (!at.load && at.n_defs != 1))) ||
	    (q->mem.is_write && !q->store_at))
		return;
	q->kind = KIND_PLAIN;
}

bool fl_glance_is_entry(const struct bytes_walk *w, const struct dec_glance *g)
{
	struct bytes_seen_block *b = fl_seen_block(g);
	size_t n = w->entries.size + w->strings.entries.size;

	if (b->n_entries != n) {
		b->is_entry = map_get(&w->entries, g->block->rip) ||
			      map_get(&w->strings.entries, g->block->rip);
		b->n_entries = n;
	}
	return b->is_entry;
}

static void learn_block(struct bytes_walk *w, struct frames *frames,
			const struct dec_glance *g, enum dec_log_mode mode)
{
	struct bytes_seen_block *b = fl_seen_block(g);

	for (uint32_t i = 0; i < g->block->n_insns; i++)
		learn(w, fl_seen(g, i), frames, g, i, mode);
	*b = (struct bytes_seen_block){ .is_known = true, .n_mapped = frames->n_mapped };
	fl_course_plan(g, frames);
}

/* ---- instructions ------------------------------------------------------------------------------- */

static bool loads_pointer(struct bytes_walk *w, const struct dec_glance *g,
			  struct bytes_seen *q, uint64_t rip, uint64_t addr)
{
	struct hg_derive *d = &w->objects.derive;

	for (unsigned i = 0; i < q->words; i++) {
		uint64_t word;

		memcpy(&word, g->rec + q->word_at + 8 * i, sizeof(word));
		if (hg_derive_word(d, addr + 8 * i, word) ||
		    d->pointer(d->pointer_ctx, word))
			return true;
		if (!q->may_load || !fl_made_is_block(w, word))
			continue;
		if (fl_made_is_asked(w, rip))
			return true;
		q->may_load = false;
	}
	return false;
}

/* What the allocator does with pointers is not looked at. */
static bool follows_words(const struct bytes_walk *w)
{
	return w->events->access && !w->thread->allocator_rsp;
}

/* May register @p reg lead into the frame? */
static bool is_in_frame(const struct dec_glance *g, int reg)
{
	return g->gpr[reg] - g->gpr[CAP_RSP] < 1u << 16;
}

/* Has it to do with what is followed? */
static bool is_concerned(struct bytes_walk *w, const struct dec_glance *g,
			 struct bytes_seen *q, uint64_t rip, uint64_t addr)
{
	const struct bytes_regs *r = &w->thread->regs;
	const struct hg_derived_regs *d = w->objects.derive.regs;
	bool has_objects = w->events->access;

	return (q->is_call && w->objects.has_literal &&
		(d->live & BYTES_ARGUMENTS || is_in_frame(g, CAP_RDI))) ||
	       q->regs & (r->live | (has_objects ? d->live : 0)) ||
	       q->vec & (r->vec_live | (has_objects ? d->vec_live : 0)) ||
	       (q->reads_flags && !fl_has_flags(r)) ||
	       (q->mem.is_read &&
		(!fl_values_are_there(&w->values, addr, q->mem.size) ||
		 (follows_words(w) && loads_pointer(w, g, q, rip, addr))));
}

static struct err *put(struct bytes_walk *w, const struct dec_glance *g,
		       const struct bytes_seen *q, uint32_t i, uint64_t addr,
		       const struct dec_heap_storer *storer)
{
	const uint8_t *value = g->rec + q->store_at;
	struct err *err = w->events->use ? fl_values_give(&w->values, addr, q->mem.size) :
					   NULL;

	for (unsigned at = 0; follows_words(w) && at + 8 <= q->mem.size; at += 8)
		hg_derive_set_word(&w->objects.derive, addr + at, 0, 0);
	if (err || !q->may_store)
		return err;
	return storer->store(storer->ctx, &g->block->insn[i], g->position + i, addr,
			     value, q->mem.size);
}

/* Instruction @p i ran. */
static struct err *carry_on(struct bytes_walk *w, const struct dec_glance *g,
			    const struct bytes_seen *q, uint32_t i, uint64_t addr,
			    const struct dec_heap_storer *storer)
{
	struct err *err = NULL;

	if (q->def != DEC_REG_NONE)
		memcpy(&g->gpr[q->def], g->rec + q->def_at, 8);
	else
		dec_glance_define(g, i);
	if (q->moves_stack && w->events->use)
		err = fl_values_follow_stack(w, &g->block->insn[i], g->gpr[CAP_RSP]);
	return err || !q->mem.is_write ? err : put(w, g, q, i, addr, storer);
}

uint32_t fl_glance_go_on(struct bytes_walk *w, const struct dec_glance *g, uint32_t i,
			 const struct dec_heap_storer *storer, struct err **err)
{
	struct bytes_regs *r = &w->thread->regs;
	bool is_in_string = w->thread->string.rsp;

	for (; i < g->n_ran && !*err; i++) {
		struct bytes_seen *q = fl_seen(g, i);
		uint64_t addr = q->mem.is_there ? hg_glance_address(&q->mem, g) : 0;

		if (q->kind == KIND_STEP ||
		    (is_in_string && (q->mem.is_read || q->moves_stack)) ||
		    (q->mem.is_read &&
		     fl_looks_is_watched(&w->looks, g->block->insn[i].rip)) ||
		    is_concerned(w, g, q, g->block->insn[i].rip, addr))
			break;
		if (q->writes_flags)
			r->no_zero = r->no_sign = r->no_carry = r->no_overflow =
				r->no_parity = false;
		if (q->kind == KIND_PLAIN)
			*err = carry_on(w, g, q, i, addr, storer);
	}
	return i;
}

/* Is something to be done at the next instruction that is none of its own? */
static bool is_due(const struct bytes_walk *w, const struct frames *frames,
		   const struct dec_glance *g)
{
	const struct bytes_thread *t = w->thread;

	return !t || t->tid != g->tid || w->n_mapped != frames->n_mapped ||
	       (t->string.rsp && g->gpr[CAP_RSP] > t->string.rsp) ||
	       (t->has_jumped && !t->allocator_rsp && !g->at && fl_glance_is_entry(w, g));
}

struct err *fl_bytes_glance(void *ctx, struct frames *frames, struct dec_glance *g,
			    const struct dec_heap_storer *storer)
{
	struct bytes_walk *w = ctx;
	struct bytes_seen_block *b = fl_seen_block(g);
	struct err *err = NULL;
	uint32_t i;

	if (is_due(w, frames, g))
		return NULL;
	if (!b->is_known || b->n_mapped != frames->n_mapped)
		learn_block(w, frames, g, storer->mode);
	i = fl_glance_go_on(w, g, g->at, storer, &err);
	if (i == g->at)
		return err;
	g->at = i;
	w->frames = frames;
	w->has_released = false;
	w->thread->has_jumped = g->plan->insn[i - 1].flow != DEC_FLOW_NEXT;
	memcpy(w->thread->gpr, g->gpr, sizeof(w->thread->gpr));
	if (w->events->access)
		memcpy(w->objects.derive.regs->value, g->gpr, sizeof(w->thread->gpr));
	return err || !w->objects.derive.is_out_of_memory ? err : &err_nomem;
}
