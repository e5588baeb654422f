// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/past/recover_guess.h"

#include <stdlib.h>
#include <string.h>

/* ---- learning ------------------------------------------------------------------------------- */

void dec_recover_wake(struct dec_recover *r, uint32_t step)
{
	if (step == r->at) {
		r->again = true;
		return;
	}
	if (r->is_queued[step])
		return;
	r->is_queued[step] = 1;
	r->queue[(r->queue_head + r->queue_size++) % r->ran.steps.size] = step;
}

static void step_changed(struct dec_recover *r, uint32_t step, uint32_t node)
{
	dec_recover_wake(r, step);
	dec_recover_sweep_stir(r, step, node);
}

static void node_changed(struct dec_recover *r, uint32_t node)
{
	bool is_bytes = node & PAST_VEC;
	uint32_t def = is_bytes ? r->ran.bytes_def.data[node & ~PAST_VEC] :
				  r->ran.bits_def.data[node];
	uint32_t i = is_bytes ? r->bits.size + (node & ~PAST_VEC) : node;

	r->n_changes++;
	if (def != PAST_NO_NODE)
		step_changed(r, def, node);
	for (uint32_t u = r->ran.use_at[i]; u < r->ran.use_at[i + 1]; u++)
		step_changed(r, r->ran.use[u], node);
}

void dec_recover_learn(struct dec_recover *r, uint32_t node, struct past_bits b)
{
	struct past_bits *old;
	uint64_t new;

	if (node == PAST_NO_NODE || (node & PAST_VEC))
		return;
	old = &r->bits.data[node];
	new = b.m & ~old->m;
	if ((old->v ^ b.v) & old->m & b.m) {
		r->n_conflicts++;
		if (r->guess.is_guessing)
			dec_recover_refute(r, node);
	}
	if (!new)
		return;
	old->v |= b.v & new;
	old->m |= new;
	node_changed(r, node);
}

void dec_recover_learn_bytes(struct dec_recover *r, uint32_t node,
			     const struct past_bytes *b)
{
	struct past_bytes *old;
	uint64_t new, v;

	if (node == PAST_NO_NODE)
		return;
	if (!(node & PAST_VEC)) {
		memcpy(&v, b->v, 8);
		dec_recover_learn(r, node,
				  (struct past_bits){ v & past_bit_mask(b->m),
						      past_bit_mask(b->m) });
		return;
	}
	old = &r->bytes.data[node & ~PAST_VEC];
	new = b->m & ~old->m;
	for (uint64_t m = b->m & old->m; m; m &= m - 1) {
		if (old->v[__builtin_ctzll(m)] != b->v[__builtin_ctzll(m)]) {
			r->n_conflicts++;
			if (r->guess.is_guessing)
				dec_recover_refute(r, node);
			break;
		}
	}
	if (!new)
		return;
	for (uint64_t m = new; m; m &= m - 1)
		old->v[__builtin_ctzll(m)] = b->v[__builtin_ctzll(m)];
	old->m |= new;
	node_changed(r, node);
}

void dec_recover_read_bytes(const struct dec_recover *r, uint32_t node,
			    struct past_bytes *ret)
{
	if (node == PAST_NO_NODE) {
		ret->m = 0;
	} else if (node & PAST_VEC) {
		*ret = r->bytes.data[node & ~PAST_VEC];
	} else {
		memset(ret->v + 8, 0, 56);
		memcpy(ret->v, &r->bits.data[node].v, 8);
		ret->m = past_byte_mask(r->bits.data[node].m);
	}
}

/* Let the tied nodes of a step learn from each other. */
static void apply_ties(struct dec_recover *r, uint32_t step)
{
	size_t low = 0, high = r->ran.ties.size;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (r->ran.ties.data[mid].step < step)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < r->ran.ties.size && r->ran.ties.data[low].step == step; low++) {
		const struct past_tie *t = &r->ran.ties.data[low];

		dec_recover_learn(r, t->b, r->bits.data[t->a]);
		dec_recover_learn(r, t->a, r->bits.data[t->b]);
	}
}

void dec_recover_settle(struct dec_recover *r)
{
	while (r->queue_size) {
		uint32_t step = r->queue[r->queue_head];
		struct past_at at = past_at(r, step);

		r->queue_head = (r->queue_head + 1) % r->ran.steps.size;
		r->queue_size--;
		r->is_queued[step] = 0;
		r->at = step;
		do {
			r->again = false;
			dec_recover_apply(&at);
			if (r->guess.is_guessing && r->ran.steps.data[step].has_ties)
				apply_ties(r, step);
		} while (r->again);
	}
	r->at = PAST_NO_NODE;
}

/* ---- running --------------------------------------------------------------------------------- */

static uint32_t node_index(const struct dec_recover *r, uint32_t node)
{
	return node & PAST_VEC ? r->bits.size + (node & ~PAST_VEC) : node;
}

/* Pass 0 counts a reader of @p node, pass 1 notes it. */
static void index_use(struct dec_recover *r, uint32_t node, uint32_t step, int pass)
{
	uint32_t k = node_index(r, node);

	if (pass == 0)
		r->ran.use_at[k + 2]++;
	else
		r->ran.use[r->ran.use_at[k + 1]++] = step;
}

/* List each node's readers. */
static struct err *index_uses(struct dec_recover *r)
{
	size_t n = r->bits.size + r->bytes.size, n_steps = r->ran.steps.size;

	r->ran.use_at = calloc(n + 2, sizeof(*r->ran.use_at));
	r->ran.use = malloc((r->ran.refs.size + 2 * r->ran.ties.size + 1) *
			    sizeof(*r->ran.use));
	r->queue = malloc((n_steps + 1) * sizeof(*r->queue));
	r->is_queued = calloc(n_steps + 1, 1);
	if (!r->ran.use_at || !r->ran.use || !r->queue || !r->is_queued)
		return &err_nomem;
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n_steps; i++) {
			struct past_at at = past_at(r, i);

			for (int s = 0; s < at.form->n_in; s++)
				index_use(r, at.ref[s], i, pass);
		}
		for (size_t i = 0; i < r->ran.ties.size; i++) {
			index_use(r, r->ran.ties.data[i].a, r->ran.ties.data[i].step,
				  pass);
			index_use(r, r->ran.ties.data[i].b, r->ran.ties.data[i].step,
				  pass);
		}
		// Begin of node k is at k + 1 now; the second pass moves it to its end.
		for (size_t k = 2; pass == 0 && k < n + 2; k++)
			r->ran.use_at[k] += r->ran.use_at[k - 1];
	}
	return NULL;
}

static void learn_end(struct dec_recover *r)
{
	for (int reg = 0; reg < PAST_REGS; reg++) {
		uint32_t node = r->ran.current[reg];
		struct past_bytes b;

		if (node == PAST_NO_NODE)
			continue;
		if (reg < DEC_GPRS) {
			dec_recover_learn(r, node, past_const(r->mem.end->regs.gpr[reg]));
		} else if (past_is_vector(reg)) {
			memcpy(b.v, r->mem.end->vec[reg - DEC_REG_VEC], 64);
			b.m = r->mem.end->vec_mask[reg - DEC_REG_VEC];
			dec_recover_learn_bytes(r, node, &b);
		} else if (reg < DEC_REG_FLAGS) {
			if (r->mem.end->has_k)
				dec_recover_learn(
					r, node,
					past_const(r->mem.end->k[reg - DEC_REG_K]));
		} else {
			dec_recover_learn(r, node,
					  (struct past_bits){ r->mem.end->regs.rflags &
								      PAST_STATUS,
							      PAST_STATUS });
		}
	}
	for (size_t i = 0; i < r->ran.anchors.size; i++)
		dec_recover_learn(r, r->ran.anchors.data[i].node,
				  past_const(r->ran.anchors.data[i].value));
}

struct err *dec_recover_prepare(struct dec_recover *r)
{
	struct err *err = dec_recover_native_create(&r->native);

	r->stats.steps = r->ran.steps.size;
	r->stats.accesses = r->ran.accesses.size;
	r->at = PAST_NO_NODE;
	if (!err)
		err = dec_recover_show_create(&r->show);
	if (!err)
		err = index_uses(r);
	return err ?: dec_recover_sweep_create(r);
}

struct err *dec_recover_run(struct dec_recover *r, struct dec_recover_stats *ret)
{
	double begin = clock_now_s();
	struct err *err = dec_recover_prepare(r);

	if (err)
		return err;
	for (size_t i = 0; i < r->ran.steps.size; i++)
		dec_recover_wake(r, i);
	learn_end(r);
	err = dec_recover_settle_memory(r);
	r->stats.known_conflicts = r->n_conflicts;
	if (!err)
		err = dec_recover_guess(r);
	dec_recover_native_destroy(r->native);
	r->native = NULL;
	r->stats.seconds = clock_now_s() - begin;
	*ret = r->stats;
	return err;
}
