// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Classes of values that hang together (recover_affine.h): steps that add what is known or
 * copy, and words that are stored and loaded again. A forest: each node points to another one of
 * its class, a root to itself.
 */
#include "decode/past/recover_affine.h"

#include <stdlib.h>

#include "decode/past/recover_rules.h"
#include "decode/x86/zydis.h"

enum { AFFINE_NEAR = 32 }; ///< accesses between two of a place that nobody knows

/* ---- terms ------------------------------------------------------------------------------------ */

static uint64_t low(const struct past_affine *x, uint64_t v)
{
	return v & past_ones(x->bits);
}

/* @p inner stands for the root of @p outer. */
static struct past_term term_compose(struct past_term outer, struct past_term inner)
{
	return (struct past_term){ inner.root, true, outer.mul * inner.mul,
				   outer.mul * inner.off + outer.off };
}

/* One link up from @p node; itself where there is none. */
static struct past_term link_up(const struct past_affine *x, uint32_t node)
{
	struct past_bits b = x->r->bits.data[node];

	return is_all(b, x->bits) ? past_term_const(low(x, b.v)) : x->up[node];
}

struct past_term dec_recover_affine_find(struct past_affine *x, uint32_t node)
{
	struct past_term found = { node, true, 1, 0 }, t, above;

	if (node == PAST_NO_NODE || (node & PAST_VEC))
		return (struct past_term){};
	for (;;) {
		t = link_up(x, found.root);
		if (t.root == found.root)
			return found;
		if (t.root == PAST_NO_NODE)
			return term_compose(found, t);
		// Half as long the next time.
		above = link_up(x, t.root);
		if (above.root != t.root)
			x->up[found.root] = term_compose(t, above);
		found = term_compose(found, t);
	}
}

/* @return whether the upper half of @p node is zero. */
static bool is_narrow(const struct past_affine *x, uint32_t node)
{
	struct past_bits b = {};

	if (node != PAST_NO_NODE && !(node & PAST_VEC))
		b = x->r->bits.data[node];
	return b.m >> 32 == UINT32_MAX && !(b.v >> 32);
}

struct past_term dec_recover_affine_operand(struct past_affine *x,
					    const struct past_at *at, int i, bool is_out)
{
	const struct past_operand *o = &at->form->op[i];
	uint8_t slot = is_out ? o->out : o->in;

	if (o->type == PAST_OP_IMM)
		return past_term_const(low(x, at->form->imm));
	if ((o->type != PAST_OP_GPR && o->type != PAST_OP_MEM) || o->bits < 32 ||
	    o->shift || slot == PAST_NONE ||
	    (o->bits < x->bits && !is_narrow(x, at->ref[slot])))
		return (struct past_term){};
	return dec_recover_affine_find(x, at->ref[slot]);
}

/* @return a + b * factor, unless there are two unknowns in it. */
static struct past_term term_sum(struct past_term a, struct past_term b, uint64_t factor)
{
	struct past_term sum = { a.root == PAST_NO_NODE ? b.root : a.root,
				 a.is_there && b.is_there, a.mul + b.mul * factor,
				 a.off + b.off * factor };

	if (a.root != PAST_NO_NODE && b.root != PAST_NO_NODE && a.root != b.root)
		sum.is_there = false;
	if (!sum.mul)
		sum.root = PAST_NO_NODE;
	return sum;
}

void dec_recover_affine_join(struct past_affine *x, struct past_term a,
			     struct past_term b)
{
	uint64_t inverse;

	if (!a.is_there || !b.is_there || a.root == b.root)
		return;
	if (!(a.mul & 1)) {
		struct past_term other = a;

		a = b;
		b = other;
	}
	if (!(a.mul & 1))
		return;
	inverse = inverse_of(a.mul);
	x->has_joined = true;
	x->up[a.root] = (struct past_term){ b.root, true, inverse * b.mul,
					    inverse * (b.off - a.off) };
}

/* ---- steps -------------------------------------------------------------------------------------- */

static struct past_term lea_term(struct past_affine *x, const struct past_at *at)
{
	const struct past_form *f = at->form;
	struct past_term t = past_term_const(f->agen_disp);

	if (f->agen_bits < x->bits)
		return (struct past_term){};
	if (f->agen_base != PAST_NONE)
		t = term_sum(t, dec_recover_affine_find(x, at->ref[f->agen_base]), 1);
	if (f->agen_index != PAST_NONE)
		t = term_sum(t, dec_recover_affine_find(x, at->ref[f->agen_index]),
			     f->agen_scale);
	return t;
}

/* What the first operand of @p at becomes, by what it reads. */
static struct past_term result_term(struct past_affine *x, const struct past_at *at)
{
	struct past_term a = dec_recover_affine_operand(x, at, 0, false);
	struct past_term b = dec_recover_affine_operand(x, at, 1, false);
	int is;

	switch ((enum past_kind)at->form->kind) {
	case PAST_MOV:
	case PAST_MOVSX:
		return b;
	case PAST_LEA:
		return lea_term(x, at);
	case PAST_ADD:
		return term_sum(a, b, 1);
	case PAST_SUB:
		return term_sum(a, b, -1);
	case PAST_INC:
		return term_sum(a, past_term_const(1), 1);
	case PAST_DEC:
		return term_sum(a, past_term_const(1), -1);
	case PAST_NEG:
		return term_sum(past_term_const(0), a, -1);
	case PAST_SHIFT:
		if (at->form->insn.mnemonic != ZYDIS_MNEMONIC_SHL ||
		    at->form->op[1].type != PAST_OP_IMM || at->form->imm >= x->bits)
			break;
		return term_sum(past_term_const(0), a, 1ull << at->form->imm);
	case PAST_CMOV:
		is = dec_recover_cond_of(node_get(at, at->form->flags_in), at->form->cc);
		return is < 0 ? (struct past_term){} : is ? b : a;
	default:
		break;
	}
	return (struct past_term){};
}

/* The slot of the memory operand that push writes and pop reads. */
static uint8_t stack_slot(const struct past_at *at)
{
	const struct past_form *f = at->form;

	return f->kind == PAST_PUSH ? f->n_in + f->n_out - 1 : f->n_in - 1;
}

static void step_join(struct past_affine *x, const struct past_at *at)
{
	struct past_term t;

	switch ((enum past_kind)at->form->kind) {
	case PAST_PUSH:
		t = dec_recover_affine_find(x, at->ref[stack_slot(at)]);
		dec_recover_affine_join(x, t,
					dec_recover_affine_operand(x, at, 0, false));
		break;
	case PAST_POP:
		t = dec_recover_affine_find(x, at->ref[stack_slot(at)]);
		dec_recover_affine_join(x, dec_recover_affine_operand(x, at, 0, true), t);
		break;
	default:
		t = result_term(x, at);
		if (t.is_there)
			dec_recover_affine_join(
				x, dec_recover_affine_operand(x, at, 0, true), t);
	}
}

/* ---- memory ------------------------------------------------------------------------------------- */

static uint64_t hash_of(struct past_term t)
{
	uint64_t h = t.off * 0x9e3779b97f4a7c15ull ^ t.mul * 0xc2b2ae3d27d4eb4full;

	return (h ^ h >> 29) + t.root * 0xd6e8feb86659fd93ull;
}

struct past_term dec_recover_affine_address(struct past_affine *x,
					    const struct past_access *a)
{
	struct past_at at = past_at(x->r, a->step);
	const struct dec_mem *m = &at.form->insn.mem[a->mem];
	struct past_term t = past_term_const(m->disp);

	if (m->is_absolute || m->is_addr32)
		return (struct past_term){};
	if (m->is_fs)
		t.off += x->r->mem.end->regs.fs_base;
	for (int i = 0; i < 2; i++) {
		uint8_t slot = i ? at.form->index_in[a->mem] : at.form->base_in[a->mem];

		if ((i ? m->index : m->base) == DEC_REG_NONE)
			continue;
		if (slot == PAST_NONE)
			return (struct past_term){};
		t = term_sum(t, dec_recover_affine_find(x, at.ref[slot]),
			     i ? m->scale : 1);
	}
	return t;
}

/* Who touched a word last: of each half 1 + access. */
static uint64_t *word_at(struct past_affine *x, uint64_t addr)
{
	uint64_t *at = map_get(&x->touched, addr / 8);

	if (at)
		return at;
	return map_put(&x->touched, addr / 8, 0) ? NULL : map_get(&x->touched, addr / 8);
}

static bool words_forget(struct past_affine *x, uint64_t addr, uint64_t n)
{
	for (uint64_t at = addr & ~7ull; at < addr + n; at += 8)
		map_remove(&x->touched, at / 8);
	return true;
}

/* Accesses @p from and @p to are of the same variable: the same value, unless too many
 * stores may have hit it between. */
static void access_join(struct past_affine *x, uint32_t from, uint32_t to)
{
	struct dec_recover *r = x->r;
	const struct past_access *a = &r->ran.accesses.data[from],
				 *b = &r->ran.accesses.data[to];

	if (a->size < 4 || b->size < 4 || (x->bits == 64 && a->size != b->size) ||
	    a->addr != b->addr ||
	    (is_all(r->bits.data[a->node], x->bits) &&
	     is_all(r->bits.data[b->node], x->bits)) ||
	    dec_recover_mem_lost(r, from, to, a->addr & ~7ull, (struct past_bits){},
				 r->guess.reach) > r->guess.reach)
		return;
	dec_recover_affine_join(x, dec_recover_affine_find(x, b->node),
				dec_recover_affine_find(x, a->node));
}

static bool range_join(struct past_affine *x, const struct past_access *a)
{
	struct past_range range;

	if (dec_recover_range_find(x->r, a, &range) != PAST_RANGE_SOME)
		return true;
	if (range.n < 1 << 16)
		return words_forget(x, range.to, range.n);
	map_deinit(&x->touched);
	return true;
}

/* @return whether no store lies between accesses @p from and @p to but those of the class. */
static bool unplaced_keeps(struct past_affine *x, uint32_t from, uint32_t to,
			   uint32_t root)
{
	for (uint32_t i = from + 1; i < to; i++) {
		const struct past_access *a = &x->r->ran.accesses.data[i];

		if (a->is_range ||
		    (a->is_write && dec_recover_affine_address(x, a).root != root))
			return false;
	}
	return true;
}

/* An access whose place is not known, but which is that of another one. */
static bool unplaced_join(struct past_affine *x, uint32_t i)
{
	const struct past_access *a = &x->r->ran.accesses.data[i], *b;
	struct past_term t = dec_recover_affine_address(x, a);
	uint64_t key = hash_of(t) | 1ull << 63, *at, last;

	if (!t.is_there || t.root == PAST_NO_NODE || (a->node & PAST_VEC) || a->is_masked)
		return true;
	at = map_get(&x->touched, key);
	last = at ? *at : 0;
	if (map_put(&x->touched, key, i + 1))
		return false;
	b = last ? &x->r->ran.accesses.data[last - 1] : NULL;
	if (b && !a->is_write && a->size == b->size && a->size >= 4 &&
	    i - last <= AFFINE_NEAR && unplaced_keeps(x, last - 1, i, t.root))
		dec_recover_affine_join(x, dec_recover_affine_find(x, a->node),
					dec_recover_affine_find(x, b->node));
	return true;
}

static bool memory_join(struct past_affine *x, uint32_t i)
{
	const struct past_access *a = &x->r->ran.accesses.data[i];
	uint64_t *word, half, last;

	if (a->is_range)
		return range_join(x, a);
	if (a->placed < PAST_INFERRED) {
		if (a->placed == PAST_HINTED && a->is_write)
			words_forget(x, a->addr, a->size);
		return a->mem >= PAST_BELOW || unplaced_join(x, i);
	}
	if (a->is_masked || (a->node & PAST_VEC) || a->size < 4 || a->addr % a->size)
		return !a->is_write || words_forget(x, a->addr, a->size);
	word = word_at(x, a->addr);
	if (!word)
		return false;
	half = a->size == 8 ? UINT64_MAX : a->addr & 4 ? ~0ull << 32 : UINT32_MAX;
	last = a->addr & 4 ? *word >> 32 : (uint32_t)*word;
	*word = (*word & ~half) | ((i + 1) * 0x100000001ull & half);
	if (last && !a->is_write)
		access_join(x, last - 1, i);
	return true;
}

/* ---- all of it ---------------------------------------------------------------------------------- */

bool dec_recover_affine_build(struct past_affine *x)
{
	struct dec_recover *r = x->r;

	if (!x->up)
		x->up = malloc((r->bits.size + 1) * sizeof(*x->up));
	if (!x->up)
		return false;
	for (size_t i = 0; i < r->bits.size; i++)
		x->up[i] = (struct past_term){ i, true, 1, 0 };
	for (size_t i = 0; i < r->ran.steps.size; i++) {
		struct past_at at = past_at(r, i);

		step_join(x, &at);
	}
	for (size_t i = 0; i < r->ran.ties.size; i++)
		dec_recover_affine_join(
			x, dec_recover_affine_find(x, r->ran.ties.data[i].a),
			dec_recover_affine_find(x, r->ran.ties.data[i].b));
	for (size_t i = 0; i < r->ran.accesses.size; i++) {
		if (!memory_join(x, i))
			return false;
	}
	map_deinit(&x->touched);
	return true;
}

void dec_recover_affine_deinit(struct past_affine *x)
{
	free(x->up);
	map_deinit(&x->touched);
	map_deinit(&x->bounds);
	vec_deinit(&x->intervals);
}

void dec_recover_affine_learn(struct past_affine *x)
{
	struct dec_recover *r = x->r;

	for (size_t i = 0; i < r->bits.size; i++) {
		struct past_term t = dec_recover_affine_find(x, i);
		const struct past_interval *in;
		uint64_t *at;

		if (is_all(r->bits.data[i], x->bits) || !t.is_there)
			continue;
		if (t.root == PAST_NO_NODE) {
			dec_recover_learn(r, i, bits_low(t.off, x->bits));
			continue;
		}
		at = map_get(&x->bounds, t.root);
		in = at ? &x->intervals.data[*at] : NULL;
		if (in && !in->n && !in->is_empty)
			dec_recover_learn(r, i,
					  bits_low(past_term_at(t, in->low), x->bits));
	}
}
