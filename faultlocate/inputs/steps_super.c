// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Superblocks are made: of blocks that are gone over one behind the other, while all that happens in them happened
 * before.
 */

#include "faultlocate/inputs/steps_int.h"

enum {
	LEAST = 3, // blocks: with fewer nothing is gained
	MOST = 64, // .. are as much as is mostly met again
	ALIKE = 8, // that begin with the same block: all are tried
	MAX_PIECES = 1 << 21,
};

void fl_steps_begin_super(struct walker *w, uint32_t number, uint64_t next)
{
	struct steps *m = &w->steps;
	uint32_t n = 0;

	for (uint32_t at = m->blocks.data[number].super; at;
	     at = m->superblocks.data[at].other)
		n++;
	if (n >= ALIKE || m->super_pieces.size >= MAX_PIECES)
		return;
	m->making = (struct super_making){ .of = w->at,
					   .from = w->at->needs,
					   .next = next,
					   .first = m->super_blocks.size };
}

struct err *fl_steps_super_block(struct walker *w, uint32_t what)
{
	struct steps *m = &w->steps;

	if (!m->making.of)
		return NULL;
	if (m->making.n == MOST || w->trace->blocks.data[what >> 6].is_watched)
		return fl_steps_finish_super(w);
	return vec_add(&m->super_blocks,
		       (struct super_block){ .what = what,
					     .first = m->super_pieces.size,
					     .first_op = m->super_ops.size,
					     .n_insns = m->making.n_insns });
}

/* All that was noted from block @p first on is of no use. */
static void forget_from(struct steps *m, uint32_t first)
{
	if (m->super_blocks.size > first) {
		m->super_pieces.size = m->super_blocks.data[first].first;
		m->super_ops.size = m->super_blocks.data[first].first_op;
	}
	m->super_blocks.size = first;
}

struct err *fl_steps_sum(struct steps *m, const struct super_piece *p,
			 const struct super_piece *end,
			 const struct automaton_needs *from, uint64_t next,
			 uint32_t *last)
{
	struct automaton *a = &m->automaton;
	struct automaton_step step = { .place = STEPS_SUPER, .outcome = next };
	struct automaton_needs to = *from;

	for (*last = 0; p < end; p++) {
		const struct automaton_step *s = automaton_at(a, p->step);

		step.touched |= p->step ? s->touched : m->pieces.data[p->place].regs;
		if (!p->step)
			continue;
		automaton_take(s, &to);
		*last = p->step;
	}
	return fl_automaton_add(a, &step, from, &to, 0, true);
}

struct err *fl_steps_finish_super(struct walker *w)
{
	struct steps *m = &w->steps;
	struct super_making *k = &m->making;
	struct superblock s = { .first = k->first, .n = k->n, .n_insns = k->n_insns };
	struct automaton *a = &m->automaton;
	uint32_t was = a->last, *newest;
	struct err *err;

	if (!k->of)
		return NULL;
	k->of = NULL;
	forget_from(m, k->first + k->n);
	if (k->n < LEAST) {
		forget_from(m, k->first);
		return NULL;
	}
	err = vec_add(&m->super_blocks,
		      (struct super_block){ .first = m->super_pieces.size,
					    .first_op = m->super_ops.size,
					    .n_insns = k->n_insns });
	if (!err)
		err = fl_steps_sum(
			m, m->super_pieces.data + m->super_blocks.data[k->first].first,
			m->super_pieces.data + m->super_pieces.size, &k->from, k->next,
			&s.last);
	s.step = a->last;
	s.touched = automaton_at(a, s.step)->touched;
	s.from = automaton_at(a, s.step)->from;
	a->last = was;
	newest = &m->blocks.data[m->super_blocks.data[k->first].what >> 6].super;
	s.other = *newest;
	*newest = m->superblocks.size;
	m->is_ready &= !fl_automaton_is_full(a);
	return err ?: vec_add(&m->superblocks, s);
}
