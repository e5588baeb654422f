// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The heap's history from recovered values: as history/heap.c makes it from a replay, for the
 * window only. What the heap held before is told first, as far as it is known: blocks from
 * heap events, contents from the end where the window stores nothing. And behind the last
 * instruction comes what must have been stored, for memory at the end is known.
 */
#include "decode/past/flight.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/history/frames.h"
#include "decode/history/heap_calls.h"

enum { FLIGHT_BLOCK_MAX = 1 << 26 };

struct flight_heap {
	const struct capture *capture;
	struct dec_symbols *symbols;
	const struct dec_heap_options *o;
	const struct dec_heap_events *ev;
	struct dec_flight *flight;
	struct frames frames;
	struct heap_calls calls;
	uint64_t gpr[16]; ///< 0 where not known
	struct map
		first; ///< word -> its value when the window begins, where that is known
	struct map stored; ///< word -> 1: the window stores there
	struct map now;	   ///< word -> what the consumer was told last
	struct map live;   ///< blocks at the beginning: address -> size
	VEC(uint64_t) inferred;
	uint64_t stack_start, stack_end;
	uint64_t n_lost; ///< stores that went nobody knows where
};

/* ---- the beginning --------------------------------------------------------------------------- */

static bool heap_word_at_end(const struct flight_heap *h, uint64_t addr, uint64_t *ret)
{
	struct err *err = cap_core_read(h->capture, h->flight->core, addr, ret, 8);

	err_destroy(err);
	return !err;
}

/* Look ahead: which words does the window store to, and what did it load before? */
static struct err *heap_on_look(void *ctx, const struct dec_step *s)
{
	struct flight_heap *h = ctx;

	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];
		uint64_t end = r->addr + r->size, v;

		if (!r->is_mem)
			continue;
		if (r->addr_certainty == DEC_UNKNOWN) {
			h->n_lost += r->is_def;
			continue;
		}
		for (uint64_t w = r->addr & ~7ull; w < end; w += 8) {
			if (r->is_def) {
				if (map_put(&h->stored, w, 1))
					return &err_nomem;
			} else if (r->has_value && w >= r->addr && w + 8 <= end &&
				   !map_get(&h->stored, w) && !map_get(&h->first, w)) {
				memcpy(&v, r->value + (w - r->addr), 8);
				if (map_put(&h->first, w, v))
					return &err_nomem;
			}
		}
	}
	return NULL;
}

/* @return whether the word's value at the beginning is known. */
static bool heap_word_at_begin(const struct flight_heap *h, uint64_t addr, uint64_t *ret)
{
	const uint64_t *v = map_get(&h->first, addr);

	if (v)
		*ret = *v;
	return v || (!map_get(&h->stored, addr) && heap_word_at_end(h, addr, ret));
}

static struct err *heap_tell(struct flight_heap *h, uint64_t time, uint64_t addr,
			     uint64_t v, uint64_t rip)
{
	const struct dec_heap_store s = {
		.time = time, .addr = addr, .rip = rip, .pc = rip, .data = &v, .size = 8
	};

	if (map_put(&h->now, addr, v))
		return &err_nomem;
	return DEC_HEAP_TELL(h->ev, stores, &s, 1);
}

/* What lies in [start, end) at the beginning. */
static struct err *heap_tell_contents(struct flight_heap *h, uint64_t start, uint64_t end)
{
	struct err *err = NULL;
	uint64_t v;

	for (uint64_t at = (start + 7) & ~7ull; at + 8 <= end && !err; at += 8) {
		if (heap_word_at_begin(h, at, &v) && v)
			err = heap_tell(h, 0, at, v, DEC_HEAP_BEFORE);
	}
	return err;
}

static struct err *heap_block(struct flight_heap *h, uint64_t addr, uint64_t size)
{
	return addr && size && size < FLIGHT_BLOCK_MAX && map_put(&h->live, addr, size) ?
		       &err_nomem :
		       NULL;
}

/* glibc keeps a chunk's size in the word before it. */
static uint64_t heap_usable_size(const struct flight_heap *h, uint64_t addr)
{
	uint64_t head;

	if (!heap_word_at_end(h, addr - 8, &head) || (head & ~7ull) < 32)
		return 0;
	return (head & ~7ull) - 8;
}

/* Which blocks were there when the window began. */
static struct err *heap_find_blocks(struct flight_heap *h)
{
	const struct dec_flight *f = h->flight;
	struct err *err = NULL;

	for (size_t i = 0; i < f->earlier.size && !err; i++) {
		const struct dec_flight_call *c = &f->earlier.data[i];
		uint64_t size = c->fn == CAP_HEAP_CALLOC ? c->arg[0] * c->arg[1] :
				c->fn == CAP_HEAP_REALLOC ||
						c->fn == CAP_HEAP_ALIGNED_ALLOC ?
							   c->arg[1] :
							   c->arg[0];

		if (c->fn == CAP_HEAP_FREE || (c->fn == CAP_HEAP_REALLOC && c->result))
			map_remove(&h->live, c->arg[0]);
		if (c->fn != CAP_HEAP_FREE && c->fn != CAP_HEAP_POSIX_MEMALIGN &&
		    c->has_result)
			err = heap_block(h, c->result, size);
	}
	// Those that the window gives back without having got them.
	for (size_t i = f->calls.size; i > 0 && !err; i--) {
		const struct dec_flight_call *c = &f->calls.data[i - 1];
		bool gives = c->fn == CAP_HEAP_FREE || c->fn == CAP_HEAP_REALLOC;
		bool is_new = true;

		for (size_t k = 0; k < i - 1 && gives && is_new; k++)
			is_new = !f->calls.data[k].has_result ||
				 f->calls.data[k].result != c->arg[0];
		if (gives && is_new && c->arg[0] && !map_get(&h->live, c->arg[0]))
			err = heap_block(h, c->arg[0], heap_usable_size(h, c->arg[0]));
	}
	return err;
}

/* The program's own variables, the roots of its structures. */
static bool heap_is_data(const struct flight_heap *h, size_t i)
{
	const struct cap_mapping *m = &h->flight->core->mappings[i];
	const char *exe = capture_info(h->capture)->exe;

	if (!(m->prot & PROT_WRITE) || m->is_stack || m->is_heap ||
	    m->end - m->start > (1u << 20))
		return false;
	if (m->file)
		return exe && strcmp(m->name, exe) == 0;
	return i && m[-1].end == m->start && heap_is_data(h, i - 1);
}

static struct err *heap_begin(struct flight_heap *h)
{
	const struct cap_core *core = h->flight->core;
	struct err *err = dec_recover_trace(h->flight->recover, heap_on_look, h);

	if (!err)
		err = heap_find_blocks(h);
	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if ((m->prot & PROT_WRITE) && !m->file && !m->is_stack &&
		    !heap_is_data(h, i))
			err = DEC_HEAP_TELL(h->ev, region, 0, m->start, m->end - m->start,
					    false);
	}
	for (size_t i = 0; i < h->live.capacity && !err; i++) {
		const struct map_slot *b = &h->live.slots[i];

		if (b->key == MAP_EMPTY_KEY)
			continue;
		err = DEC_HEAP_TELL(h->ev, alloc, 0, b->key, b->value, false,
				    DEC_HEAP_BEFORE, DEC_HEAP_BEFORE);
		if (!err)
			err = heap_tell_contents(h, b->key, b->key + b->value);
	}
	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		if (heap_is_data(h, i))
			err = heap_tell_contents(h, core->mappings[i].start,
						 core->mappings[i].end);
	}
	return err;
}

/* ---- the way ------------------------------------------------------------------------------------ */

/* Remember what the consumer knows of memory, word by word. */
static struct err *heap_note_store(struct flight_heap *h, const struct dec_ref *r)
{
	for (uint32_t i = 0; i < r->size; i++) {
		uint64_t at = r->addr + i, word = at & ~7ull, v = 0;
		uint64_t *known = map_get(&h->now, word);

		if (known)
			v = *known;
		((uint8_t *)&v)[at & 7] = r->value[i];
		if (map_put(&h->now, word, v))
			return &err_nomem;
	}
	return NULL;
}

static struct err *heap_on_store(struct flight_heap *h, const struct dec_ref *r,
				 uint64_t pc, uint64_t time)
{
	struct dec_heap_store s;
	struct err *err;

	heap_calls_store(&h->calls, r->addr, r->size, r->value);
	if (r->addr >= h->stack_start && r->addr < h->stack_end)
		return NULL;
	if (r->certainty == DEC_INFERRED || r->addr_certainty == DEC_INFERRED) {
		if (vec_add(&h->inferred, time))
			return &err_nomem;
	}
	err = heap_note_store(h, r);
	if (err)
		return err;
	s = (struct dec_heap_store){ .time = time,
				     .addr = r->addr,
				     .rip = dec_frames_statement(&h->frames, pc),
				     .pc = pc,
				     .data = r->value,
				     .size = r->size,
				     .in_allocator = h->calls.call.is_open };
	return DEC_HEAP_TELL(h->ev, stores, &s, 1);
}

static void heap_see_regs(struct flight_heap *h, const struct dec_step *s, bool is_def)
{
	for (size_t i = 0; i < s->n_refs; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (r->is_mem || r->reg >= DEC_GPRS || r->is_def != is_def)
			continue;
		if (r->has_value)
			memcpy(&h->gpr[r->reg], r->value, 8);
		else if (r->reg != CAP_RSP)
			h->gpr[r->reg] = 0;
	}
}

static struct err *heap_on_step(void *ctx, const struct dec_step *s)
{
	const struct dec_insn *insn = s->insn;
	struct flight_heap *h = ctx;
	struct err *err;
	uint64_t rsp;

	heap_see_regs(h, s, false);
	rsp = h->gpr[CAP_RSP];
	err = frames_land(&h->frames, insn->rip);
	if (!err)
		err = dec_heap_calls_reach(&h->calls, insn->rip, h->gpr, s->position);
	for (size_t i = 0; i < s->n_refs && !err; i++) {
		const struct dec_ref *r = &s->refs[i];

		if (r->is_mem && r->is_def && r->has_value &&
		    r->addr_certainty != DEC_UNKNOWN && insn->flow == DEC_FLOW_NEXT)
			err = heap_on_store(h, r, insn->rip, s->position);
	}
	heap_see_regs(h, s, true);
	if (err)
		return err;
	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND)
		return dec_frames_call(&h->frames, insn->rip + insn->len, rsp - 8,
				       s->position);
	if (insn->flow == DEC_FLOW_RET) {
		dec_frames_return(&h->frames, rsp);
		return dec_heap_calls_return(&h->calls, rsp, h->gpr[CAP_RAX],
					     s->position);
	}
	if (insn->flow != DEC_FLOW_NEXT)
		h->frames.jump_end = dec_frames_jump_end(&h->frames, insn);
	return NULL;
}

/* ---- the end ------------------------------------------------------------------------------------- */

/* Words that are not as the consumer was told: something stored there unseen. */
static struct err *heap_finish(struct flight_heap *h, uint64_t time, uint64_t *n_unseen)
{
	struct map told = h->now;
	struct err *err = NULL;

	h->now = (struct map){};
	*n_unseen = 0;
	for (size_t i = 0; i < told.capacity && !err; i++) {
		const struct map_slot *w = &told.slots[i];
		uint64_t v;

		if (w->key == MAP_EMPTY_KEY || !heap_word_at_end(h, w->key, &v) ||
		    v == w->value)
			continue;
		(*n_unseen)++;
		err = heap_tell(h, time, w->key, v, DEC_HEAP_UNSEEN);
	}
	map_deinit(&told);
	return err;
}

static char *heap_notes(const struct flight_heap *h, uint64_t n_unseen)
{
	const struct dec_flight *f = h->flight;
	char *text = NULL;

	if (asprintf(
		    &text,
		    "nothing was replayed: the last %lu of %lu recorded instructions were "
		    "recovered; statements marked (inferred) rest on a guess\n"
		    "%s%lu stores of the window have no address, %lu words of the heap "
		    "changed unseen\n",
		    f->stats.steps, f->n_decoded,
		    f->calls.size + f->earlier.size ?
			    "" :
			    "no allocator calls were recorded: allocations from before the window "
			    "are not known\n",
		    h->n_lost, n_unseen) < 0)
		return NULL;
	return text;
}

static void heap_fill_run(struct flight_heap *h, uint64_t n_unseen, struct dec_run *ret)
{
	const struct cap_end_core *end = &capture_info(h->capture)->end_core;

	*ret = (struct dec_run){
		.has_allocator = true,
		.instructions = h->flight->stats.steps,
		.has_matched = true,
		.end = end->reason == CAP_END_CORE_CRASH ? CAP_END_SIGNAL : CAP_END_EXIT,
		.end_value = end->signo,
		.end_rip = h->flight->core->regs.rip,
		.fault_addr = end->reason == CAP_END_CORE_CRASH ? end->address : 0,
		.seconds = h->flight->stats.seconds,
		.notes = heap_notes(h, n_unseen),
		.is_recovered = true,
		.inferred = h->inferred.data,
		.n_inferred = h->inferred.size,
	};
	h->inferred.data = NULL;
}

/* ---- all of it ------------------------------------------------------------------------------------ */

static struct err *heap_modules(struct flight_heap *h)
{
	const struct cap_core *core = h->flight->core;
	struct err *err = dec_symbols_add_core(h->symbols, core);

	for (size_t i = 0; i < core->n_mappings && !err; i++) {
		const struct cap_mapping *m = &core->mappings[i];

		if (m->is_stack) {
			h->stack_end = m->end;
			h->stack_start = m->start;
		}
	}
	return err ? err : dec_heap_calls_mapped(&h->calls, NULL, NULL);
}

static void heap_deinit(struct flight_heap *h)
{
	dec_flight_close(h->flight);
	dec_frames_deinit(&h->frames);
	dec_heap_calls_deinit(&h->calls);
	map_deinit(&h->first);
	map_deinit(&h->stored);
	map_deinit(&h->now);
	map_deinit(&h->live);
	vec_deinit(&h->inferred);
}

struct err *dec_flight_heap_trace(const struct capture *c, struct dec_symbols *symbols,
				  const struct dec_heap_options *o,
				  const struct dec_heap_events *events,
				  struct dec_run *ret)
{
	struct flight_heap h = { .capture = c, .symbols = symbols, .o = o, .ev = events };
	uint64_t n_unseen = 0;
	struct err *err;

	dec_frames_init(&h.frames, symbols, capture_info(c)->exe);
	err = dec_heap_calls_init(&h.calls, c, symbols, events, o, &h.frames);
	if (!err)
		err = dec_flight_open(c, NULL, &h.flight);
	if (err)
		err = err_prefix(err, "cannot build the heap's history from '%s'",
				 capture_dir(c));
	if (!err)
		err = heap_modules(&h);
	if (!err)
		err = heap_begin(&h);
	if (!err)
		err = dec_recover_trace(h.flight->recover, heap_on_step, &h);
	if (!err)
		err = heap_finish(&h, h.flight->stats.steps, &n_unseen);
	if (!err)
		heap_fill_run(&h, n_unseen, ret);
	heap_deinit(&h);
	return err;
}
