// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/slice.h"

#include <string.h>

// Beyond these the slice holds everything and says nothing.
#define SLICE_NODES (1u << 20)
#define SLICE_WANTS (1u << 17)

// The cap at first, and after how many nodes it sinks by a quarter each time.
#define SLICE_CAP 2000
#define SLICE_CAP_NODES (1u << 16)

struct err *dec_slice_thread(struct slice *s, uint32_t tid)
{
	struct slice_thread **slot, *t;

	if (s->at && s->at->tid == tid)
		return NULL;
	for (size_t i = 0; i < s->threads.size; i++) {
		if (s->threads.data[i]->tid == tid) {
			s->at = s->threads.data[i];
			return NULL;
		}
	}
	slot = vec_push(&s->threads);
	t = slot ? calloc(1, sizeof(*t)) : NULL;
	if (!t) {
		s->threads.size -= slot != NULL;
		return &err_nomem;
	}
	t->tid = tid;
	t->depth = SLICE_DEPTHS / 2;
	for (int i = 0; i < SLICE_DEPTHS; i++)
		t->branch[i].cost = UINT32_MAX;
	*slot = s->at = t;
	return NULL;
}

struct err *dec_slice_init(struct slice *s, const struct history *h, size_t event,
			   uint32_t tid)
{
	*s = (struct slice){ .history = h, .event = event, .cap = SLICE_CAP };
	return dec_slice_thread(s, tid);
}

void dec_slice_deinit(struct slice *s)
{
	for (size_t i = 0; i < s->threads.size; i++)
		free(s->threads.data[i]);
	vec_deinit(&s->threads);
	vec_deinit(&s->nodes);
	vec_deinit(&s->insns);
	vec_deinit(&s->wants);
	vec_deinit(&s->steps);
	vec_deinit(&s->refs);
	map_deinit(&s->insn_of);
	map_deinit(&s->mem);
}

/* ---- wanting -------------------------------------------------------------------------- */

void dec_slice_want_reg(struct slice *s, int reg)
{
	s->at->regs |= 1ull << reg;
	s->at->reg[reg] =
		(struct slice_want){ .parent = SLICE_NONE, .edge = SLICE_BEGIN };
}

void dec_slice_want_flow(struct slice *s, uint32_t cost)
{
	s->at->branch[s->at->depth] = (struct slice_want){ .cost = cost,
							   .parent = SLICE_NONE,
							   .edge = SLICE_BEGIN };
}

void dec_slice_use_reg(struct slice *s, int reg, uint32_t cost, uint32_t parent,
		       enum slice_edge edge)
{
	struct slice_thread *t = s->at;

	if (cost > s->cap)
		return;
	if ((t->regs & 1ull << reg) && t->reg[reg].cost <= cost)
		return;
	t->regs |= 1ull << reg;
	t->reg[reg] = (struct slice_want){ .cost = cost, .parent = parent, .edge = edge };
}

static void slice_want_word(struct slice *s, const struct slice_want *want)
{
	uint64_t *at = map_get(&s->mem, want->word);
	struct slice_want *have;

	if (at) {
		have = &s->wants.data[*at];
		have->mask |= want->mask;
		if (want->cost >= have->cost)
			return;
		have->cost = want->cost;
		have->parent = want->parent;
		have->edge = want->edge;
		return;
	}
	have = s->wants.size < SLICE_WANTS ? vec_push(&s->wants) : NULL;
	if (!have || map_put(&s->mem, want->word, s->wants.size - 1)) {
		s->is_full = true;
		return;
	}
	*have = *want;
}

void dec_slice_want_mem(struct slice *s, uint64_t addr, uint64_t size, uint32_t cost,
			uint32_t parent, enum slice_edge edge)
{
	uint64_t end = addr + size;

	if (cost > s->cap)
		return;
	for (uint64_t word = addr & ~7ull; word < end; word += 8) {
		uint8_t mask = 0xff;

		if (word < addr)
			mask &= 0xff << (addr - word);
		if (end - word < 8)
			mask &= 0xff >> (8 - (end - word));
		slice_want_word(s,
				&(struct slice_want){ word, cost, parent, mask, edge });
	}
}

static void slice_thread_restrain(struct slice_thread *t, uint32_t cap)
{
	for (int r = 0; r < 64; r++) {
		if (t->reg[r].cost > cap)
			t->regs &= ~(1ull << r);
	}
	for (int i = 0; i < SLICE_DEPTHS; i++) {
		if (t->branch[i].cost > cap)
			t->branch[i] = slice_unwanted;
	}
}

void dec_slice_restrain(struct slice *s)
{
	uint32_t cap = SLICE_CAP;

	for (size_t n = s->nodes.size / SLICE_CAP_NODES; n; n--)
		cap -= cap / 4;
	if (cap == s->cap)
		return;
	s->cap = cap;
	for (size_t i = 0; i < s->threads.size; i++)
		slice_thread_restrain(s->threads.data[i], cap);
	for (size_t i = 0; i < s->wants.size; i++) {
		if (!s->wants.data[i].mask || s->wants.data[i].cost <= cap)
			continue;
		map_remove(&s->mem, s->wants.data[i].word);
		s->wants.data[i].mask = 0;
	}
}

/* ---- no longer wanted ------------------------------------------------------------------ */

void dec_slice_cheaper(struct slice_want *best, const struct slice_want *w)
{
	if (w->cost < best->cost)
		*best = *w;
}

static void slice_take_word(struct slice *s, uint64_t word, uint8_t mask,
			    struct slice_want *best, struct slice_location *location)
{
	uint64_t *at = map_get(&s->mem, word);
	struct slice_want *w;

	if (!at || !(s->wants.data[*at].mask & mask))
		return;
	w = &s->wants.data[*at];
	if (w->cost < best->cost) {
		mask &= w->mask;
		location->is_mem = true;
		location->addr = word + __builtin_ctz(mask);
		location->size = __builtin_popcount(mask);
		*best = *w;
	}
	w->mask &= ~mask;
	if (!w->mask)
		map_remove(&s->mem, word);
}

/* Which bytes of @p word lie in [addr, addr+size). */
static uint8_t slice_mask(uint64_t word, uint64_t addr, uint64_t size)
{
	uint8_t mask = 0;

	for (int i = 0; i < 8; i++) {
		if (word + i - addr < size)
			mask |= 1 << i;
	}
	return mask;
}

void dec_slice_take_mem(struct slice *s, uint64_t addr, uint64_t size,
			struct slice_want *best, struct slice_location *location)
{
	if (!s->mem.size)
		return;
	if (size / 8 < s->wants.size) {
		for (uint64_t word = addr & ~7ull; word < addr + size; word += 8)
			slice_take_word(s, word, slice_mask(word, addr, size), best,
					location);
		return;
	}
	for (size_t i = 0; i < s->wants.size; i++) {
		uint64_t word = s->wants.data[i].word;
		uint8_t mask = slice_mask(word, addr, size);

		if (s->wants.data[i].mask & mask)
			slice_take_word(s, word, mask, best, location);
	}
}

void dec_slice_take_reg(struct slice *s, int reg, struct slice_want *best,
			struct slice_location *location)
{
	if (!(s->at->regs & 1ull << reg))
		return;
	s->at->regs &= ~(1ull << reg);
	if (s->at->reg[reg].cost < best->cost) {
		*best = s->at->reg[reg];
		*location = (struct slice_location){ .reg = reg, .size = 8 };
	}
}

/* ---- the beginning and the end ----------------------------------------------------------- */

static uint32_t slice_lower(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t dec_slice_nearest(const struct slice *s)
{
	uint32_t cost = UINT32_MAX;

	for (size_t i = 0; i < s->threads.size; i++) {
		const struct slice_thread *t = s->threads.data[i];

		for (uint64_t left = t->regs; left; left &= left - 1)
			cost = slice_lower(cost, t->reg[__builtin_ctzll(left)].cost);
		for (int d = 0; d < SLICE_DEPTHS; d++)
			cost = slice_lower(cost, t->branch[d].cost);
	}
	for (size_t i = 0; i < s->wants.size; i++) {
		if (s->wants.data[i].mask)
			cost = slice_lower(cost, s->wants.data[i].cost);
	}
	return cost;
}

bool dec_slice_is_done(const struct slice *s)
{
	return dec_slice_nearest(s) == UINT32_MAX;
}

uint32_t dec_slice_node_add(struct slice *s, enum slice_origin origin,
			    const struct slice_want *want, struct slice_location location,
			    uint64_t position)
{
	struct slice_node *n = s->nodes.size < SLICE_NODES ? vec_push(&s->nodes) : NULL;

	if (!n) {
		s->is_full = true;
		return SLICE_NONE;
	}
	n->position = position;
	n->location = location;
	n->cost = want->cost;
	n->parent = want->parent;
	n->edge = want->edge;
	n->insn = n->event = SLICE_NONE;
	n->origin = origin;
	n->tid = s->at->tid;
	return s->nodes.size - 1;
}

static void slice_thread_end(struct slice *s, struct slice_thread *t,
			     enum slice_origin origin, uint64_t position)
{
	s->at = t;
	for (uint64_t left = t->regs; left; left &= left - 1) {
		int r = __builtin_ctzll(left);

		dec_slice_node_add(s, origin, &t->reg[r],
				   (struct slice_location){ .reg = r, .size = 8 },
				   position);
	}
	t->regs = 0;
	for (int i = 0; i < SLICE_DEPTHS; i++)
		t->branch[i].cost = UINT32_MAX;
}

void dec_slice_end(struct slice *s, enum slice_origin origin, uint64_t position)
{
	for (size_t i = 0; i < s->threads.size; i++)
		slice_thread_end(s, s->threads.data[i], origin, position);
	for (size_t i = 0; i < s->wants.size; i++) {
		const struct slice_want *w = &s->wants.data[i];

		if (!w->mask)
			continue;
		dec_slice_node_add(
			s, origin, w,
			(struct slice_location){ .is_mem = true,
						 .addr = w->word + __builtin_ctz(w->mask),
						 .size = __builtin_popcount(w->mask) },
			position);
		map_remove(&s->mem, w->word);
	}
	s->wants.size = 0;
}

/* ---- a window --------------------------------------------------------------------------- */

/* The instruction's number: the same for the same bytes at the same address. */
static uint32_t slice_intern(struct slice *s, const struct dec_insn *insn)
{
	uint64_t *at = map_get(&s->insn_of, insn->rip);
	struct dec_insn *made;

	if (at) {
		const struct dec_insn *known = &s->insns.data[*at];

		if (known->flow == insn->flow &&
		    !memcmp(known->bytes, insn->bytes, sizeof(insn->bytes)))
			return *at;
	}
	made = vec_push(&s->insns);
	if (!made || map_put(&s->insn_of, insn->rip, s->insns.size - 1))
		return SLICE_NONE;
	*made = *insn;
	return s->insns.size - 1;
}

static struct err *slice_record(void *ctx, const struct dec_step *step)
{
	struct slice *s = ctx;
	struct slice_step *to = vec_push(&s->steps);

	if (!to)
		return &err_nomem;
	to->position = step->position;
	to->tid = step->tid;
	to->first_ref = s->refs.size;
	to->insn = step->insn ? slice_intern(s, step->insn) : SLICE_NONE;
	if (step->insn && to->insn == SLICE_NONE)
		return &err_nomem;
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *from = &step->refs[i];
		struct slice_ref *r = vec_push(&s->refs);

		if (!r)
			return &err_nomem;
		*r = (struct slice_ref){ .addr = from->addr,
					 .size = from->size,
					 .reg = from->reg,
					 .is_def = from->is_def,
					 .is_mem = from->is_mem,
					 .has_value = from->has_value && from->value };
		if (r->has_value)
			memcpy(&r->value, from->value, from->size < 8 ? from->size : 8);
	}
	return NULL;
}

/* Words no longer wanted leave holes: close them. */
static void slice_compact(struct slice *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->wants.size; i++) {
		uint64_t *at;

		if (!s->wants.data[i].mask)
			continue;
		at = map_get(&s->mem, s->wants.data[i].word);
		if (at)
			*at = n;
		s->wants.data[n++] = s->wants.data[i];
	}
	s->wants.size = n;
}

struct err *dec_slice_window(struct slice *s, struct dec_machine *m, uint64_t begin,
			     uint64_t end)
{
	struct dec_where w;
	struct err *err = dec_machine_seek(m, begin, &w);

	s->steps.size = s->refs.size = 0;
	s->begin = begin;
	slice_compact(s);
	if (!err)
		err = dec_machine_trace(m, end, slice_record, s, &w);
	if (err)
		return err;
	return dec_slice_sweep(s);
}
