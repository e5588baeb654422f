// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Blocks and branches, piece by piece: what is met there, found again or recorded.
 */

#include "faultlocate/slice/walk.h"

#define DECIDES (UINT64_C(1) << 63) // | instruction: the place of a branch

/* @return whether instruction @p i of @p b gets back a register that is wanted. */
static bool restores(const struct fl_slice *s, const struct trace_block *b, uint32_t i,
		     uint64_t any)
{
	return b->restores >> i & 1 &&
	       any >> s->trace->insns.data[b->insn[i]].effect->saved & 1;
}

static struct operands operands_of(const struct trace_block *b, uint32_t i,
				   const uint8_t *rec)
{
	return (struct operands){ .mem = b->mem + b->first_mem[i], .rec = rec };
}

/** A piece as it is met. */
struct met {
	const struct trace_block *b;
	const uint8_t *rec;
	uint64_t first; ///< position of the block
	uint32_t i;	///< the piece ends with this instruction; then: begins
	struct live_want
		w; ///< what of its store was wanted, or who and for what a register was
	uint64_t outcome; ///< as that
	bool is_single;	  ///< it cannot be remembered
};

/* Instruction @p met->i, not to be remembered. */
static struct err *single(struct fl_slice *s, const struct met *met)
{
	const struct operands o = operands_of(met->b, met->i, met->rec);
	struct err *err = fl_memo_leave(s, s->at);

	s->position = met->first + met->i;
	if (!err)
		err = fl_walk_insn(s, met->b->insn[met->i], &o);
	return err ?: fl_memo_enter(s);
}

/* The first time of a piece. */
static struct err *record(struct fl_slice *s, struct met *met,
			  const struct automaton_step *step)
{
	static const struct live_want none;
	const struct trace_block *b = met->b;
	struct memo_recording r = { .mem = b->mem, .taken = &none, .first = met->first };
	struct err *err = fl_memo_begin(s, step->touched, &r);
	uint32_t k = met->i;
	bool is_met = met->outcome;

	if (met->w.size == MEMO_KEPT)
		fl_live_reg_want(&s->at->regs, s->has_several,
				 s->trace->insns.data[b->insn[k]].effect->saved, 0xff,
				 met->w.who, met->w.node);
	else if (met->w.size != MEMO_GOT_BACK)
		r.taken = &met->w;
	do {
		const struct operands o = operands_of(b, k, met->rec);

		s->position = met->first + k;
		if (!err && (is_met || b->defs[k] & s->at->regs.any))
			err = fl_walk_insn(s, b->insn[k], &o);
		is_met = false;
		r.taken = &none;
	} while (!err && k-- && !((b->stores | b->odd) >> k & 1) &&
		 !restores(s, b, k, s->at->regs.any));
	met->i = k + 1;
	s->memo.recording = NULL;
	return err ?: fl_memo_end(s, &r, step, met->i);
}

/* What is wanted of where the piece's last instruction stores, to @p m at @p addr? */
static struct err *meet_store(struct fl_slice *s, struct met *met,
			      const struct trace_mem *m, uint64_t addr)
{
	const struct effect *e = s->trace->insns.data[met->b->insn[met->i]].effect;
	uint32_t save;

	if (!fl_live_mem_may(&s->mem, addr, m->size))
		return NULL;
	if (!fl_walk_meets_saved(s, addr, m->size)) {
		met->w = fl_live_mem_take(&s->mem, addr, m->size,
					  met->b->maybes >> met->i & 1);
		return NULL;
	}
	if (e->is_save && fl_walk_find_save(s, e, addr, &save)) {
		met->w = (struct live_want){ .first = addr, .size = MEMO_KEPT };
		return fl_walk_save(s, save, &met->w.who, &met->w.node);
	}
	met->is_single = true;
	return NULL;
}

/* A register is got back that is wanted. */
static void meet_restore(struct fl_slice *s, struct met *met, uint64_t addr)
{
	uint8_t reg = s->trace->insns.data[met->b->insn[met->i]].effect->saved;
	uint32_t n;
	const uint64_t *need =
		automaton_words(&s->memo.automaton, s->at->needs.of[reg], &n);

	if (!fl_walk_may_restore(s, addr)) {
		met->is_single = true;
		return;
	}
	met->w = (struct live_want){ .first = addr, .size = MEMO_GOT_BACK };
	for (uint32_t i = 0; i < n; i += 2) {
		if (!(need[i] & 0xff))
			continue;
		met->w.who |= need[i + 1] >> 32;
		met->w.node = need[i + 1];
	}
}

/* What else but needs decides what happens in the piece? */
static struct err *meet(struct fl_slice *s, struct met *met)
{
	const struct trace_block *b = met->b;
	const struct trace_mem *m;
	struct err *err = NULL;
	uint64_t addr;

	if (b->odd >> met->i & 1) {
		met->is_single = true;
	} else if (b->stores >> met->i & 1) {
		m = &b->mem[b->written[met->i]];
		addr = trace_address(m, met->rec, s->fs_base);
		err = meet_store(s, met, m, addr);
		if (!err && met->w.who)
			err = fl_memo_outcome(s, &met->w, addr, m->size, &met->outcome);
	} else if (restores(s, b, met->i, s->at->needs.any)) {
		addr = trace_address(&b->mem[b->first_mem[met->i]], met->rec, s->fs_base);
		meet_restore(s, met, addr);
		if (met->w.who)
			err = fl_memo_outcome(s, &met->w, addr, 0, &met->outcome);
	}
	return err;
}

/* @return the number of @p step from the needs at hand; 0: it was not met. */
static uint32_t find(struct fl_slice *s, const struct automaton_step *step)
{
	struct automaton *a = &s->memo.automaton;
	const struct automaton_needs *needs = &s->at->needs;
	uint32_t at = automaton_next(a, needs, step->place, step->outcome);

	return at    ?:
		       fl_automaton_find(a, needs, step->place, step->outcome,
					 step->touched);
}

/* The piece that ends with instruction @p met->i; that becomes the first of it. */
static struct err *piece(struct fl_slice *s, struct met *met)
{
	const struct trace_block *b = met->b;
	struct automaton_step step = {
		.place = (uint64_t)(b - s->trace->blocks.data) << 6 | met->i,
		.touched = b->touched[met->i]
	};
	uint32_t at;
	struct err *err = meet(s, met);

	if (err)
		return err;
	if (met->is_single)
		return single(s, met);
	step.outcome = met->outcome;
	at = find(s, &step);
	if (!at)
		return record(s, met, &step);
	if (met->w.size == MEMO_GOT_BACK) {
		s->position = met->first + met->i;
		err = fl_walk_restore(s, b->insn[met->i], met->w.first, met->w.who,
				      met->w.node);
	}
	met->i = memo_step(&s->memo, at)->end;
	return err ?: fl_memo_do(s, at, NULL, met->rec, met->first, met->w.first);
}

struct err *fl_memo_block(struct fl_slice *s, const struct trace_block *b,
			  const uint8_t *rec, uint32_t n_ran, uint64_t first)
{
	struct err *err = fl_memo_room(s);

	if (!err && !s->at->is_numbered)
		err = fl_memo_enter(s);
	for (uint32_t i = n_ran; i && !err;) {
		struct met met = { .b = b, .rec = rec, .first = first, .i = i - 1 };

		err = piece(s, &met);
		i = met.i;
	}
	s->position = first;
	return err;
}

struct err *fl_memo_decide(struct fl_slice *s, uint32_t insn, const struct operands *o,
			   live_who who, uint32_t node)
{
	struct memo_recording r = { .mem = o->mem, .first = s->position };
	struct automaton *a = &s->memo.automaton;
	struct automaton_step step = { .place = DECIDES | insn };
	const struct effect *e;
	uint32_t at;
	struct err *err = fl_memo_room(s);

	if (!err && !s->at->is_numbered)
		err = fl_memo_enter(s);
	if (err)
		return err;
	step.outcome = fl_memo_decided(s, who, &node);
	at = automaton_next(a, &s->at->needs, step.place, step.outcome);
	if (!at) {
		e = fl_trace_effect(s->trace, insn);
		if (!e)
			return &err_nomem;
		step.touched = effect_touches(e);
		at = fl_automaton_find(a, &s->at->needs, step.place, step.outcome,
				       step.touched);
	}
	if (at)
		return fl_memo_do(s, at, o->mem, o->rec, s->position, 0);
	err = fl_memo_begin(s, step.touched, &r);
	if (!err)
		err = fl_walk_decide(s, insn, o, who, node);
	s->memo.recording = NULL;
	return err ?: fl_memo_end(s, &r, &step, 0);
}
