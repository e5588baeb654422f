// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Links between accesses: what an access read or wrote, the next one that touches the same
 * bytes reads, when nothing was stored there between. A sweep finds that out as it passes;
 * from then on what is learned of the one is learned of the other at once, in both
 * directions, and no other sweep is needed for it. As certain as the sweep that made it:
 * a round of guesses begins without the links of the one before.
 */
#include "decode/dec_recover_guess.h"

static struct rec_access *access_at(struct dec_recover *r, uint32_t i)
{
	return i == REC_NO_NODE ? NULL : &r->accesses.data[i];
}

static void link_cut(struct dec_recover *r, struct rec_access *from)
{
	struct rec_access *to = access_at(r, from->to);

	if (to)
		to->from = REC_NO_NODE;
	from->to = REC_NO_NODE;
}

static uint32_t node_of(struct dec_recover *r, const struct rec_access *a)
{
	return r->refs.data[r->steps.data[a->step].ref + a->slot];
}

/* @return whether what is known of two values cannot be of one. */
static bool bytes_differ(const struct rec_bytes *a, const struct rec_bytes *b)
{
	for (uint64_t m = a->m & b->m; m; m &= m - 1) {
		if (a->v[__builtin_ctzll(m)] != b->v[__builtin_ctzll(m)])
			return true;
	}
	return false;
}

/* Both hold the same. A guess that does not hold is dropped; a sweep sees to the rest. */
static void link_share(struct dec_recover *r, struct rec_access *from,
		       struct rec_access *to)
{
	uint32_t x = node_of(r, from), y = node_of(r, to);
	unsigned n = rec_at(r, from->step).form->insn.mem[from->mem].size;
	struct rec_bytes a, b;
	struct rec_bits v, w;

	if ((x | y) & REC_VEC) {
		rec_read_bytes(r, x, &a);
		rec_read_bytes(r, y, &b);
		a.m &= rec_ones(n);
		b.m &= rec_ones(n);
		if (r->is_guessing && bytes_differ(&a, &b)) {
			link_cut(r, from);
			return;
		}
		rec_learn_bytes(r, y, &a);
		rec_learn_bytes(r, x, &b);
		return;
	}
	v = r->bits.data[x];
	w = r->bits.data[y];
	v.m &= rec_ones(8 * n);
	w.m &= rec_ones(8 * n);
	if (r->is_guessing && (v.v ^ w.v) & v.m & w.m) {
		link_cut(r, from);
		return;
	}
	rec_learn(r, y, (struct rec_bits){ v.v & v.m, v.m });
	rec_learn(r, x, (struct rec_bits){ w.v & w.m, w.m });
}

void rec_link(struct dec_recover *r, uint32_t earlier, uint32_t later)
{
	struct rec_access *from = access_at(r, earlier), *to = access_at(r, later);

	if (from && from->to != later)
		link_cut(r, from);
	if (to && to->from != earlier && to->from != REC_NO_NODE)
		link_cut(r, &r->accesses.data[to->from]);
	if (!from || !to)
		return;
	from->to = later;
	to->from = earlier;
	link_share(r, from, to);
}

void rec_links_apply(struct dec_recover *r, uint32_t step)
{
	for (size_t i = r->steps.data[step].access;
	     i < r->accesses.size && r->accesses.data[i].step == step; i++) {
		struct rec_access *a = &r->accesses.data[i];

		if (a->placed < REC_INFERRED && r->is_guessing) {
			rec_access_place(r, a);
			if (a->placed >= REC_INFERRED)
				rec_sweep_found(r, a);
		}
		if (a->from != REC_NO_NODE)
			link_share(r, &r->accesses.data[a->from], a);
		if (a->to != REC_NO_NODE)
			link_share(r, a, &r->accesses.data[a->to]);
	}
}

void rec_links_forget(struct dec_recover *r)
{
	for (size_t i = 0; i < r->accesses.size; i++)
		r->accesses.data[i].from = r->accesses.data[i].to = REC_NO_NODE;
}
