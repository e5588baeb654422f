// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The pieces of a block.
 */

#include "faultlocate/inputs/steps_int.h"

/* The first instruction of the piece of @p b that ends before @p begin, whose last one may store. */
static uint32_t end_of(const struct trace_block *b, uint32_t begin, bool may_store)
{
	uint32_t below = begin - may_store;
	uint32_t stores = below ? b->stores & UINT32_MAX >> (32 - below) : 0;

	return stores ? 32 - __builtin_clz(stores) : 0;
}

/* The needs that instruction @p i of @p b has to do with. */
static uint64_t touches(const struct fl_trace *t, const struct trace_block *b, uint32_t i)
{
	return effect_touches(t->insns.data[b->insn[i]].effect);
}

static void describe(const struct fl_trace *t, const struct trace_block *b,
		     struct step_piece *p)
{
	uint32_t n = p->begin - p->end, last = p->begin - 1u;

	p->touched = UINT64_C(1) << STEPS_WAITS;
	for (uint32_t i = p->end; i < p->begin; i++) {
		p->regs |= b->defs[i];
		p->touched |= touches(t, b, i);
	}
	if (p->has_flow)
		p->touched |= touches(t, b, b->n - 1);
	p->is_odd = n && (b->odd >> p->end & UINT32_MAX >> (32 - n));
	if (p->has_flow || !(b->stores >> last & 1))
		return;
	p->stores = true;
	p->stays = b->maybes >> last & 1;
	p->store = b->written[last];
	p->is_odd |= b->mem[p->store].size > STEPS_LABELS_MAX;
}

struct err *fl_steps_find_pieces(struct steps *m, const struct fl_trace *t,
				 uint32_t number)
{
	const struct trace_block *b = &t->blocks.data[number];
	struct step_block *of = &m->blocks.data[number];
	uint32_t begin = b->n;
	bool has_flow = b->flow != DEC_FLOW_NEXT;
	struct err *err = NULL;

	of->first = m->pieces.size;
	while ((begin || has_flow) && !err) {
		struct step_piece p = { .begin = begin, .has_flow = has_flow };

		p.end = end_of(b, begin, !has_flow);
		describe(t, b, &p);
		err = vec_add(&m->pieces, p);
		begin = p.end;
		has_flow = false;
	}
	of->n = m->pieces.size - of->first;
	return err;
}
