// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_slice.h"

#include <string.h>

// Beyond these the slice holds everything and says nothing.
#define SLICE_NODES (1u << 18)
#define SLICE_WANTS (1u << 16)

void slice_init(struct slice *s, const struct history *h, size_t event)
{
	*s = (struct slice){ .history = h, .event = event, .depth = SLICE_DEPTHS / 2 };
	for (int i = 0; i < SLICE_DEPTHS; i++)
		s->branch[i].cost = UINT32_MAX;
}

void slice_deinit(struct slice *s)
{
	vec_deinit(&s->nodes);
	vec_deinit(&s->insns);
	vec_deinit(&s->wants);
	vec_deinit(&s->steps);
	vec_deinit(&s->refs);
	map_deinit(&s->insn_of);
	map_deinit(&s->mem);
}

/* ---- wanting -------------------------------------------------------------------------- */

void slice_want_reg(struct slice *s, int reg)
{
	s->regs |= 1ull << reg;
	s->reg[reg] = (struct slice_want){ .parent = SLICE_NONE, .edge = SLICE_BEGIN };
}

void slice_want_flow(struct slice *s, uint32_t cost)
{
	s->branch[s->depth] = (struct slice_want){ .cost = cost,
						   .parent = SLICE_NONE,
						   .edge = SLICE_BEGIN };
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

void slice_want_mem(struct slice *s, uint64_t addr, uint64_t size, uint32_t cost,
		    uint32_t parent, enum slice_edge edge)
{
	uint64_t end = addr + size;

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

bool slice_is_done(const struct slice *s)
{
	if (s->regs || s->mem.size)
		return false;
	for (int i = 0; i < SLICE_DEPTHS; i++) {
		if (s->branch[i].cost != UINT32_MAX)
			return false;
	}
	return true;
}

uint32_t slice_node_add(struct slice *s, enum slice_origin origin,
			const struct slice_want *want, struct slice_place place,
			uint64_t position)
{
	struct slice_node *n = s->nodes.size < SLICE_NODES ? vec_push(&s->nodes) : NULL;

	if (!n) {
		s->is_full = true;
		return SLICE_NONE;
	}
	n->position = position;
	n->place = place;
	n->cost = want->cost;
	n->parent = want->parent;
	n->edge = want->edge;
	n->insn = n->event = SLICE_NONE;
	n->origin = origin;
	return s->nodes.size - 1;
}

void slice_end(struct slice *s, enum slice_origin origin, uint64_t position)
{
	for (uint64_t left = s->regs; left; left &= left - 1) {
		int r = __builtin_ctzll(left);

		slice_node_add(s, origin, &s->reg[r],
			       (struct slice_place){ .reg = r, .size = 8 }, position);
	}
	s->regs = 0;
	for (size_t i = 0; i < s->wants.size; i++) {
		const struct slice_want *w = &s->wants.data[i];

		if (!w->mask)
			continue;
		slice_node_add(
			s, origin, w,
			(struct slice_place){ .is_mem = true,
					      .addr = w->word + __builtin_ctz(w->mask),
					      .size = __builtin_popcount(w->mask) },
			position);
		map_remove(&s->mem, w->word);
	}
	s->wants.size = 0;
	for (int i = 0; i < SLICE_DEPTHS; i++)
		s->branch[i].cost = UINT32_MAX;
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

struct err *slice_window(struct slice *s, struct dec_machine *m, uint64_t begin,
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
	slice_sweep(s);
	return NULL;
}
