// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Back over the log, window by window, record by record, each block from its last instruction
 * (paper 001, Algorithms 4 and 5).
 */

#include "faultlocate/slice/walk.h"

#define NODES (1u << 20)	     // unless options say otherwise
#define MEM_PAGES ((size_t)96 << 20) // bytes of pages of wanted memory

/* ---- branches ---- */

/* Instruction @p insn ran, which is of kind @p flow. @p n_mem: its operands in memory. */
static struct err *flow(struct fl_slice *s, uint32_t insn, enum dec_flow flow,
			const struct operands *o, uint32_t n_mem)
{
	struct err *err;

	switch (flow) {
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		// The return address is the last operand.
		return fl_walk_call(s, insn, fl_walk_address(s, o, n_mem - 1), o);
	case DEC_FLOW_RET:
		return fl_walk_return(s, fl_walk_address(s, o, 0));
	case DEC_FLOW_JMP:
		return fl_walk_jump(s, insn, o);
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
		err = fl_walk_jump(s, insn, o);
		return err ?: fl_walk_branch(s, insn, o);
	default:
		return NULL;
	}
}

/* ---- seeds ---------------------------------------------------------------------------------------- */

static struct err *seed(struct fl_slice *s, const struct fl_seed *seed, uint32_t insn,
			const struct operands *o)
{
	live_who who = UINT32_C(1) << seed->slice;
	uint32_t link = link_to(FL_NONE, 0);

	switch (seed->kind) {
	case FL_SEED_REG:
		// Nobody would define bytes that it does not have.
		return fl_live_reg_want(&s->at->regs, s->has_several, seed->reg,
					seed->bytes & fl_effect_reg_bytes(seed->reg), who,
					link);
	case FL_SEED_MEM:
		return fl_walk_want_mem(s, seed->addr, seed->size, who, link);
	default:
		return insn == UINT32_MAX ?
			       NULL :
			       fl_walk_ask(s, insn, o, who, seed->kind == FL_SEED_INSN);
	}
}

/* Those at the position at hand, which instruction @p insn is at (UINT32_MAX: none). */
static struct err *seeds(struct fl_slice *s, uint32_t insn, const struct operands *o)
{
	struct err *err = NULL;

	while (!err && s->next_seed < s->seeds.size &&
	       s->seeds.data[s->next_seed].position >= s->position)
		err = seed(s, &s->seeds.data[s->next_seed++], insn, o);
	return err;
}

static bool is_seeded(const struct fl_slice *s, uint64_t position)
{
	return s->next_seed < s->seeds.size &&
	       s->seeds.data[s->next_seed].position >= position;
}

/* An instruction that was stepped: one of those of which only C knows what they touch, or any,
 * where the machine came close to a signal. */
static struct err *slow(struct fl_slice *s, const struct dec_rec_slow *rec)
{
	const uint64_t *at = map_get(&s->trace->insn_of, rec->rip);
	struct trace_mem mem[DEC_MEMS] = {};
	struct operands o = { .mem = mem };
	const struct dec_insn *insn;
	struct err *err;

	if (!at)
		return NULL;
	insn = &s->trace->insns.data[*at].insn;
	if (!fl_trace_effect(s->trace, *at))
		return &err_nomem;
	for (int m = 0; m < insn->n_mem; m++)
		mem[m] = (struct trace_mem){
			.disp = dec_insn_address(&insn->mem[m], rec->gpr, s->fs_base, 0),
			.scale = 1,
			.size = insn->mem[m].size
		};
	if (insn->is_slow_addr)
		o = (struct operands){ .slow = rec };
	err = fl_walk_meet(s, *at);
	if (!err && !insn->is_slow_addr)
		err = flow(s, *at, insn->flow, &o, insn->n_mem);
	s->at->next = *at;
	if (!err)
		err = insn->is_slow_addr ? fl_walk_touched(s, *at, rec) :
					   fl_walk_insn(s, *at, &o);
	if (!err && is_seeded(s, s->position))
		err = seeds(s, *at, &o);
	return err;
}

/* ---- blocks ---------------------------------------------------------------------------------------- */

static bool meets_store(const struct fl_slice *s, const struct trace_block *b,
			const uint8_t *rec)
{
	for (uint32_t i = 0; i < b->n_stores; i++) {
		const struct trace_mem *m = &b->mem[b->store[i]];

		if (fl_live_mem_may(&s->mem, trace_address(m, rec, s->fs_base), m->size))
			return true;
	}
	return false;
}

/* Does instruction @p i define something that is wanted? */
static bool is_met(const struct fl_slice *s, const struct trace_block *b, uint32_t i,
		   const uint8_t *rec)
{
	if (b->defs[i] & s->at->regs.any)
		return true;
	for (uint32_t m = b->first_mem[i]; m < b->first_mem[i + 1]; m++)
		if (b->mem[m].is_write &&
		    fl_live_mem_may(&s->mem, trace_address(&b->mem[m], rec, s->fs_base),
				    b->mem[m].size))
			return true;
	return false;
}

static struct err *block(struct fl_slice *s, const struct trace_block *b,
			 const uint8_t *rec, uint32_t n_ran)
{
	uint64_t first = s->position - n_ran;
	struct err *err = NULL;

	s->stats.n_blocks++;
	if (n_ran == b->n && b->flow != DEC_FLOW_NEXT) {
		const struct operands o = { .mem = b->mem + b->first_mem[b->n - 1],
					    .rec = rec };

		s->position--;
		err = flow(s, b->insn[b->n - 1], b->flow, &o,
			   b->first_mem[b->n] - b->first_mem[b->n - 1]);
	}
	s->at->next = b->insn[0];
	s->position = first;
	if (err)
		return err;
	if (!(b->regs & walk_any(s->at)) && !is_seeded(s, first) &&
	    !meets_store(s, b, rec)) {
		s->stats.n_skipped++;
		return NULL;
	}
	if (fl_memo_is_on(s) && !is_seeded(s, first))
		return fl_memo_block(s, b, rec, n_ran, first);
	err = fl_memo_leave(s, s->at);
	for (uint32_t i = n_ran; i-- && !err;) {
		const struct operands o = { .mem = b->mem + b->first_mem[i], .rec = rec };

		s->position = first + i;
		if (is_met(s, b, i, rec))
			err = fl_walk_insn(s, b->insn[i], &o);
		if (!err && is_seeded(s, s->position))
			err = seeds(s, b->insn[i], &o);
	}
	return err;
}

/* ---- windows ----------------------------------------------------------------------------------------- */

struct err *fl_walk_thread(struct fl_slice *s, uint32_t tid)
{
	struct walk_thread *t, **slot;

	if (s->at && s->at->tid == tid)
		return NULL;
	for (size_t i = 0; i < s->threads.size; i++) {
		if (s->threads.data[i]->tid == tid) {
			s->at = s->threads.data[i];
			return NULL;
		}
	}
	t = calloc(1, sizeof(*t));
	slot = t ? vec_push(&s->threads) : NULL;
	if (!slot) {
		free(t);
		return &err_nomem;
	}
	*slot = s->at = t;
	t->tid = tid;
	t->next = UINT32_MAX;
	return vec_add(&t->frames, (struct frame){ .function = FLOW_NONE });
}

static struct err *entry(struct fl_slice *s, const struct trace_entry *e)
{
	const uint8_t *rec = s->trace->window.log.data + 8 * (size_t)e->at;
	const struct operands none = {};
	const struct trace_block *b;
	struct err *err = NULL;

	// Threads inherit registers: all of them.
	for (size_t i = 0; i < s->threads.size && e->what >= ENTRY_OTHER && !err; i++)
		err = fl_memo_leave(s, s->threads.data[i]);
	if (err)
		return err;
	if (e->what == ENTRY_OTHER) {
		err = fl_walk_other(s, (const struct dec_rec *)rec);
		if (!err && is_seeded(s, s->position))
			err = seeds(s, s->at->next, &none);
		return err;
	}
	s->of_call.size = 0;
	s->is_signal = false;
	if (e->what == ENTRY_SLOW) {
		s->position--;
		return slow(s, (const struct dec_rec_slow *)rec);
	}
	b = &s->trace->blocks.data[e->what >> 6];
	if (!s->at->is_met)
		err = fl_walk_meet(s, b->insn[(e->what & 63) - 1]);
	return err ?: block(s, b, rec, e->what & 63);
}

/* Records are read from the end, and blocks lie anywhere: neither is foreseen by the processor. */
static void foresee(const struct fl_trace *t, size_t i)
{
	const struct trace_entry *e = &t->window.entries.data[i < 4 ? 0 : i - 4];

	__builtin_prefetch(t->window.log.data + 8 * (size_t)e->at);
	if (e->what < ENTRY_OTHER)
		__builtin_prefetch(&t->blocks.data[e->what >> 6]);
	e = &t->window.entries.data[i < 2 ? 0 : i - 2];
	if (e->what < ENTRY_OTHER) {
		const char *all = (const char *)t->blocks.data[e->what >> 6].mem;

		// Three lines are what a block has, mostly.
		for (size_t line = 0; line < 3; line++)
			__builtin_prefetch(all + 64 * line);
	}
}

/* The thread at hand is that of stretch @p i. */
static struct err *begin_stretch(struct fl_slice *s, size_t i)
{
	const struct trace_stretch *now = &s->trace->window.stretches.data[i];

	s->fs_base = now->fs_base;
	return fl_walk_thread(s, now->tid);
}

/* @return whether nothing further back can matter, or is asked for. */
static bool is_done(const struct fl_slice *s)
{
	bool is_full = s->options.ends_when_full && s->nodes.size >= s->max_nodes;
	bool is_wanted = s->mem.n_bytes || s->next_seed < s->seeds.size;

	for (size_t i = 0; i < s->threads.size; i++)
		is_wanted |= walk_any(s->threads.data[i]) ||
			     s->threads.data[i]->pending.size;
	return !is_wanted || is_full;
}

static struct err *window(struct fl_slice *s)
{
	struct trace_window *w = &s->trace->window;
	size_t stretch = w->stretches.size - 1;
	struct err *err = fl_walk_window(s, w->begin, w->end);

	s->position = w->end;
	if (!err)
		err = begin_stretch(s, stretch);
	// What is wanted behind the last instruction.
	if (!err && is_seeded(s, s->position))
		err = seeds(s, UINT32_MAX, &(const struct operands){});
	s->stats.log_bytes = s->stats.log_bytes > w->log.size ? s->stats.log_bytes :
								w->log.size;
	for (size_t i = w->entries.size; i-- && !err;) {
		// By then it is likely that what lies before it is wanted, too.
		if (i == w->entries.size - w->entries.size / 8 - 1 && !is_done(s))
			fl_trace_read_ahead(s->trace, s->options.begin, w->begin);
		foresee(s->trace, i);
		while (w->stretches.data[stretch].from > i && !err)
			err = begin_stretch(s, --stretch);
		if (!err)
			err = entry(s, &w->entries.data[i]);
	}
	fl_memo_count(s);
	s->stats.n_walked += w->end - w->begin;
	return err;
}

/* ---- all of it ----------------------------------------------------------------------------------------- */

static struct err *walk(struct fl_slice *s)
{
	uint64_t end = s->seeds.data[0].position + 1;
	struct err *err = NULL;

	end = end < s->trace->end.position ? end : s->trace->end.position;
	while (!err && end > s->options.begin && !is_done(s)) {
		err = fl_trace_load(s->trace, s->options.begin, end);
		if (!err)
			err = window(s);
		end = s->trace->window.begin;
		if (!err && s->options.progress)
			s->options.progress(s->options.ctx, end);
	}
	fl_trace_rest(s->trace);
	s->stats.begin = end;
	return err ?: fl_walk_start(s);
}

static int latest_first(const void *a, const void *b)
{
	const struct fl_seed *x = a, *y = b;

	return x->position > y->position ? -1 : x->position < y->position;
}

/* Take over the question. */
static struct err *ask(struct fl_slice *s, const struct fl_seed *seeds, size_t n)
{
	if (!n)
		return err_new(ERR_USAGE, "a slice of nothing");
	for (size_t i = 0; i < n; i++) {
		struct err *err = vec_add(&s->seeds, seeds[i]);

		if (err)
			return err;
		if (seeds[i].slice >= FL_SLICES)
			return err_new(ERR_USAGE, "more than %d slices at once",
				       FL_SLICES);
		if (seeds[i].position > s->trace->end.position)
			return err_new(ERR_USAGE,
				       "position %lu is behind the trace, which ends at "
				       "%lu",
				       seeds[i].position, s->trace->end.position);
		if (seeds[i].slice >= s->n)
			s->n = seeds[i].slice + 1;
	}
	s->has_several = s->n > 1;
	qsort(s->seeds.data, n, sizeof(*s->seeds.data), latest_first);
	s->mem.has_several = s->has_several;
	s->mem.max_pages =
		MEM_PAGES / (sizeof(struct live_page) +
			     (s->has_several ? LIVE_PAGE * sizeof(live_who) : 0));
	return NULL;
}

struct err *fl_slice_walk(struct fl_trace *t, const struct fl_seed *seeds, size_t n_seeds,
			  const struct fl_slice_options *o, struct fl_slice **ret)
{
	_cleanup_(fl_slice_destroyp) struct fl_slice *s = calloc(1, sizeof(*s));
	struct err *err;

	if (!s)
		return &err_nomem;
	s->trace = t;
	s->options = o ? *o : (struct fl_slice_options){};
	s->max_nodes = s->options.max_nodes ?: NODES;
	s->remembers = !s->options.right && !s->options.only_told &&
		       !s->options.keeps_sharers;
	if (s->options.only_told)
		s->options.without_control = s->options.without_addresses = true;
	for (size_t i = 0; i < s->options.n_prunes; i++) {
		s->remembers &= s->options.prunes[i].kind != FL_PRUNE_AT;
		s->prunes_memory |= s->options.prunes[i].kind == FL_PRUNE_MEM;
	}
	err = ask(s, seeds, n_seeds);
	if (!err)
		err = walk(s);
	if (err)
		return err;
	*ret = take_ptr(&s);
	return NULL;
}

void fl_slice_destroy(struct fl_slice *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->threads.size; i++) {
		struct walk_thread *t = s->threads.data[i];

		for (size_t k = 0; k < t->frames.size; k++) {
			if (t->frames.data[k].interrupted)
				fl_live_regs_deinit(t->frames.data[k].interrupted);
			free(t->frames.data[k].interrupted);
		}
		fl_live_regs_deinit(&t->regs);
		vec_deinit(&t->frames);
		vec_deinit(&t->pending);
		free(t);
	}
	for (size_t i = 0; i < s->n_kept; i++)
		free(s->kept[i].bits);
	free(s->kept);
	fl_memo_deinit(&s->memo);
	fl_live_mem_deinit(&s->mem);
	vec_deinit(&s->seeds);
	vec_deinit(&s->threads);
	vec_deinit(&s->saves);
	vec_deinit(&s->free_saves);
	vec_deinit(&s->of_call);
	fl_share_deinit(&s->shares);
	vec_deinit(&s->nodes);
	vec_deinit(&s->insns);
	vec_deinit(&s->folded);
	vec_deinit(&s->recent);
	vec_deinit(&s->counts);
	vec_deinit(&s->edges);
	map_deinit(&s->edge_of);
	free(s);
}

void fl_slice_destroyp(struct fl_slice **s)
{
	fl_slice_destroy(*s);
}
