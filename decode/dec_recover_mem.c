// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Memory: what is stored is loaded again, and what lies there in the end was stored last.
 * A sweep goes through all accesses, in time's direction or against it, with a picture of
 * memory as far as it is known at that moment. Where a store's address is not known, any
 * of it may have changed: when looking for what is *known* the picture is forgotten there
 * (one number does that, `kill_stamp`); when inferring, it is remembered, and asked about by
 * whoever reads a word that it may have hit (dec_recover_lines.c, dec_recover_alias.c).
 */
#include "decode/dec_recover_guess.h"

#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI };

/* ---- addresses ------------------------------------------------------------------------------- */

void rec_access_place(struct dec_recover *r, struct rec_access *a)
{
	struct rec_at at = rec_at(r, a->step);
	const struct dec_mem *m;
	uint64_t addr;

	if (a->mem >= REC_BELOW ||
	    a->placed >= (r->is_guessing ? REC_INFERRED : REC_KNOWN))
		return;
	m = &at.form->insn.mem[a->mem];
	addr = m->disp;
	for (int i = 0; i < 2 && !m->is_absolute; i++) {
		uint8_t reg = i ? m->index : m->base;
		uint8_t slot = i ? at.form->index_in[a->mem] : at.form->base_in[a->mem];
		const struct rec_bits *b;

		if (reg == DEC_REG_NONE)
			continue;
		if (slot == REC_NONE || at.ref[slot] == REC_NO_NODE)
			return;
		b = &r->bits.data[at.ref[slot]];
		if (b->m != UINT64_MAX)
			return;
		addr += i ? b->v * m->scale : b->v;
	}
	if (m->is_addr32)
		addr = (uint32_t)addr;
	if (m->is_fs)
		addr += r->end->regs.fs_base;
	if (a->placed == REC_HINTED && a->addr != addr)
		r->n_conflicts++;
	a->addr = addr;
	a->placed = r->is_guessing ? REC_INFERRED : REC_KNOWN;
	if (r->is_guessing)
		rec_bases_note(r, a);
}

static bool access_apply(struct dec_recover *r, struct rec_access *a);

static unsigned access_size(const struct rec_at *at, const struct rec_access *a)
{
	return at->form->insn.mem[a->mem].size;
}

/* ---- bulk writes -------------------------------------------------------------------------------- */

/* rep stos: the value, repeated; rep movs: what lies at the source. Only when the two do
 * not overlap is the one what the other was. */
static bool bulk_copy(struct dec_recover *r, const struct rec_at *at, uint64_t to,
		      uint64_t n)
{
	struct rec_bits from = rec_reg(at, RSI, false), value = rec_reg(at, RAX, false);
	bool is_fill = !at->form->n_mem_in;
	unsigned unit = at->form->insn.mem[0].size;

	if ((is_fill && (value.m & rec_ones(unit * 8)) != rec_ones(unit * 8)) ||
	    (!is_fill && (from.m != UINT64_MAX || from.v - to < n || to - from.v < n)))
		return rec_mem_forget(r, to, n);
	for (uint64_t i = 0, part; i < n; i += part) {
		uint32_t c1 = REC_NO_NODE, c2 = REC_NO_NODE;
		struct rec_bytes b;

		part = n - i < 64 ? n - i : 64;
		b.m = rec_ones(part);
		for (unsigned k = 0; is_fill && k < part; k++)
			b.v[k] = value.v >> 8 * ((i + k) % unit);
		if (!is_fill &&
		    !rec_mem_read(r, r->is_backward ? to + i : from.v + i, part, &c1, &b))
			return false;
		if (r->is_backward && !is_fill &&
		    !rec_mem_write(r, from.v + i, part, &c2, &b, true))
			return false;
		if (!r->is_backward && !rec_mem_write(r, to + i, part, &c2, &b, false))
			return false;
	}
	return !r->is_backward || rec_mem_forget(r, to, n);
}

static bool bulk_apply(struct dec_recover *r, struct rec_access *a)
{
	struct rec_at at = rec_at(r, a->step);
	struct rec_bits n = rec_reg(&at, RCX, false);
	unsigned unit = at.form->insn.mem[0].size;

	if (!a->is_write)
		return true;
	if ((r->changes_df && !r->is_guessing) || a->placed < REC_INFERRED ||
	    n.m != UINT64_MAX || n.v > (1u << 30)) {
		rec_mem_kill(r, REC_NO_NODE);
		return true;
	}
	return bulk_copy(r, &at, a->addr, n.v * unit);
}

/* ---- sweeps ------------------------------------------------------------------------------------ */

/* The address may be known to lie elsewhere than what others look at; else it kills. */
static bool wild_apply(struct dec_recover *r, const struct rec_access *a)
{
	struct rec_at at;

	if (a->slot != REC_NONE) {
		at = rec_at(r, a->step);
		if (at.form->kind == REC_SYSCALL)
			return rec_call_apply(r, &at);
	}
	rec_mem_kill(r, REC_NO_NODE);
	return true;
}

/* A store that leaves some bytes alone. */
static bool masked_apply(struct dec_recover *r, const struct rec_at *at,
			 struct rec_access *a, unsigned n)
{
	uint32_t node = at->ref[a->slot];
	uint64_t written, left = rec_masked(at, &written);
	struct rec_bytes now, b;

	if (!rec_mem_read(r, a->addr, n, &a->line, &now))
		return false;
	if (r->is_backward) {
		b = now;
		rec_learn_bytes(r, node, &b);
		rec_settle(r);
		now.m &= left;
		return rec_mem_write(r, a->addr, n, &a->line, &now, false);
	}
	rec_read_bytes(r, node, &b);
	for (uint64_t m = now.m & left & ~b.m; m; m &= m - 1) {
		b.v[__builtin_ctzll(m)] = now.v[__builtin_ctzll(m)];
		b.m |= m & -m;
	}
	return rec_mem_write(r, a->addr, n, &a->line, &b, false);
}

/* What memory held at this moment was told. */
static bool told_apply(struct dec_recover *r, struct rec_access *a)
{
	struct rec_bytes b;

	if (!rec_mem_read(r, a->addr, a->size, &a->line, &b))
		return false;
	rec_learn_bytes(r, a->node, &b); // learns nothing, notices a contradiction
	rec_read_bytes(r, a->node, &b);
	return rec_mem_write(r, a->addr, a->size, &a->line, &b, true);
}

/* The recorder's probes wrote on the program's stack. */
static bool below_apply(struct dec_recover *r, const struct rec_access *a)
{
	struct rec_bits rsp = r->bits.data[a->node];

	if (rsp.m == UINT64_MAX)
		return rec_mem_forget(r, rsp.v + a->addr, a->size);
	if (!r->is_guessing)
		rec_mem_kill(r, REC_NO_NODE);
	return true;
}

/* A store that nobody knows the place of comes. @return whether it was found. */
static bool store_find(struct dec_recover *r, struct rec_access *a)
{
	if (!r->is_guessing || !r->is_backward || !rec_alias_home(r, a))
		return false;
	rec_access_place(r, a);
	return a->placed >= REC_INFERRED && access_apply(r, a);
}

/* A word of memory is read or written: was it another one before, and nobody wrote it? */
static void change_find(struct dec_recover *r, struct rec_access *a, uint32_t node)
{
	uint64_t was;
	uint32_t seen;
	bool is_clear;
	struct rec_bits b = r->bits.data[node];

	if (b.m != UINT64_MAX || !rec_mem_fact(r, a->addr, &was, &seen, &is_clear) ||
	    was == b.v)
		return;
	rec_alias_missing(r, a->addr, seen, r->is_backward ? was : b.v);
}

static bool access_apply(struct dec_recover *r, struct rec_access *a)
{
	struct rec_bytes b, now;
	struct rec_at at;
	uint32_t node;
	unsigned n;

	if (a->mem == REC_NONE)
		return wild_apply(r, a);
	if (a->mem == REC_TOLD)
		return told_apply(r, a);
	if (a->mem == REC_BELOW)
		return below_apply(r, a);
	at = rec_at(r, a->step);
	rec_access_place(r, a);
	r->is_element = at.form->insn.mem[a->mem].index != DEC_REG_NONE;
	if (at.form->is_bulk)
		return bulk_apply(r, a);
	if (r->is_guessing && !a->is_write && (r->is_mining || a->placed < REC_HINTED))
		rec_mirror_apply(r, a);
	if (a->placed < REC_HINTED)
		rec_access_place(r, a);
	if (a->placed < REC_HINTED) {
		if (!a->is_write || store_find(r, a))
			return true;
		rec_mem_kill(r, a - r->accesses.data);
		return true;
	}
	n = access_size(&at, a);
	// Where it went in the last round: nothing of it is used, but for what it spoils.
	if (a->placed == REC_HINTED)
		return !a->is_write || rec_mem_forget(r, a->addr, n);
	if (at.form->kind == REC_MASKED_STORE && a->is_write)
		return masked_apply(r, &at, a, n);
	node = at.ref[a->slot];
	if (a->is_write && !r->is_backward) {
		rec_read_bytes(r, node, &b);
		return rec_mem_write(r, a->addr, n, &a->line, &b, false);
	}
	if (r->is_guessing && n == 8)
		change_find(r, a, node);
	if (!rec_mem_read(r, a->addr, n, &a->line, &now))
		return false;
	if (now.m)
		rec_learn_bytes(r, node, &now);
	if (r->queue_size)
		rec_settle(r);
	if (a->is_write)
		return rec_mem_forget(r, a->addr, n);
	rec_read_bytes(r, node, &b);
	return rec_mem_write(r, a->addr, n, &a->line, &b, true);
}

struct err *rec_sweep(struct dec_recover *r, bool is_backward)
{
	size_t n = r->accesses.size;

	r->is_backward = is_backward;
	r->sweep_stamp = ++r->stamp;
	r->kill_stamp = 0;
	r->n_lost = 0;
	r->lost_found = 0;
	if (r->is_guessing && !rec_homes_begin(r))
		return &err_nomem;
	r->stats.sweeps++;
	rec_calls_look(r);
	for (size_t i = 0; i < n; i++) {
		struct rec_access *a = &r->accesses.data[is_backward ? n - 1 - i : i];

		r->sweep_at = a->step;
		if (!access_apply(r, a))
			return &err_nomem;
	}
	return NULL;
}
