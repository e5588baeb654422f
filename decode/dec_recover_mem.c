// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Memory: what is stored is loaded again, and what lies there in the end was stored last.
 * A sweep goes through all accesses, in time's direction or against it, with a picture of
 * memory as far as it is known at that moment. Where a store's address is not known, any
 * of it may have changed: when looking for what is *known* the picture is forgotten there
 * (one number does that, `kill_stamp`); when inferring, it is taken to have hit something
 * that nobody looked at, until another round finds out where it went.
 */
#include "decode/dec_recover_int.h"

#include <string.h>

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI };

/* ---- lines ------------------------------------------------------------------------------------ */

static struct rec_line *line_add(struct dec_recover *r, uint64_t addr, uint32_t *ret)
{
	struct rec_line *l = vec_push(&r->lines);

	if (!l || map_put(&r->line_at, addr, r->lines.size - 1))
		return NULL;
	*ret = r->lines.size - 1;
	l->addr = addr;
	l->map = r->end->read(r->end->ctx, addr, l->end.v, 64);
	l->end.m = l->map == DEC_MAP_NONE ? 0 : UINT64_MAX;
	return l;
}

/* @return whether only this thread writes there. */
static bool line_is_own(const struct dec_recover *r, const struct rec_line *l)
{
	return l->map != DEC_MAP_SHARED && !r->has_company;
}

/* The line of @p addr, brought up to this moment of the sweep. NULL: out of memory. */
static struct rec_line *line_get(struct dec_recover *r, uint64_t addr, uint32_t *cached)
{
	struct rec_line *l = *cached != REC_NO_NODE ? &r->lines.data[*cached] : NULL;
	uint64_t *at;

	addr &= ~63ull;
	if (!l || l->addr != addr) {
		at = map_get(&r->line_at, addr);
		if (at)
			*cached = *at;
		l = at ? &r->lines.data[*at] : line_add(r, addr, cached);
	}
	if (!l)
		return NULL;
	if (l->map == DEC_MAP_CONST && l->stamp < r->sweep_stamp) {
		l->now = l->end;
		l->stamp = r->stamp;
	}
	if (l->stamp < r->sweep_stamp) {
		l->now.m = 0;
		memset(l->seen, 0, sizeof(l->seen));
		if (r->is_backward && l->map != DEC_MAP_NONE &&
		    (r->is_guessing || line_is_own(r, l)))
			l->now = l->end;
		l->stamp = r->sweep_stamp;
	}
	if (l->stamp < r->kill_stamp && l->map != DEC_MAP_CONST) {
		l->now.m = 0;
		l->stamp = r->kill_stamp;
	}
	return l;
}

/* @return the bytes that few enough stores may have changed since. */
static uint64_t line_reach(const struct dec_recover *r, const struct rec_line *l)
{
	uint64_t m = 0;

	if (!r->is_guessing || l->map == DEC_MAP_CONST)
		return UINT64_MAX;
	for (int i = 0; i < 8; i++)
		m |= r->n_lost - l->seen[i] <= r->reach ? 0xffull << 8 * i : 0;
	return m;
}

/* What memory is known to hold at [addr, addr+n), n up to 64. @return false: no memory. */
static bool mem_read(struct dec_recover *r, uint64_t addr, unsigned n, uint32_t *cached,
		     struct rec_bytes *ret)
{
	ret->m = 0;
	for (unsigned i = 0; i < n;) {
		unsigned at = (addr + i) & 63, part = 64 - at < n - i ? 64 - at : n - i;
		uint32_t other = REC_NO_NODE;
		struct rec_line *l = line_get(r, addr + i, i ? &other : cached);

		if (!l)
			return false;
		if (l->map == DEC_MAP_CONST && r->sweep_at < r->const_from &&
		    !r->is_guessing) {
			i += part;
			continue;
		}
		memcpy(ret->v + i, l->now.v + at, part);
		ret->m |= ((l->now.m & line_reach(r, l)) >> at & rec_ones(part)) << i;
		i += part;
	}
	return true;
}

/* From here on memory holds the known bytes of @p b, and nothing is known of the others;
 * @p is_more: what was known stays. */
static bool mem_write(struct dec_recover *r, uint64_t addr, unsigned n, uint32_t *cached,
		      const struct rec_bytes *b, bool is_more)
{
	for (unsigned i = 0; i < n;) {
		unsigned at = (addr + i) & 63, part = 64 - at < n - i ? 64 - at : n - i;
		uint32_t other = REC_NO_NODE;
		struct rec_line *l = line_get(r, addr + i, i ? &other : cached);
		uint64_t m = b->m >> i & rec_ones(part);

		if (!l)
			return false;
		if (!r->is_guessing && !line_is_own(r, l))
			m = 0;
		if (l->map != DEC_MAP_CONST) {
			if (!is_more)
				l->now.m &= ~(rec_ones(part) << at);
			for (uint64_t left = m; left; left &= left - 1) {
				unsigned k = __builtin_ctzll(left);

				l->now.v[at + k] = b->v[i + k];
			}
			l->now.m |= m << at;
			for (unsigned w = at / 8; m && w <= (at + part - 1) / 8; w++)
				l->seen[w] = r->n_lost;
		}
		i += part;
	}
	return true;
}

bool rec_mem_forget(struct dec_recover *r, uint64_t addr, uint64_t n)
{
	static const struct rec_bytes nothing;

	for (uint64_t i = 0; i < n;) {
		uint64_t part = 64 - ((addr + i) & 63);
		uint32_t cached = REC_NO_NODE;

		if (part > n - i)
			part = n - i;
		if (!mem_write(r, addr + i, part, &cached, &nothing, false))
			return false;
		i += part;
	}
	return true;
}

/* A store may have gone anywhere. */
void rec_mem_kill(struct dec_recover *r)
{
	r->n_lost++;
	if (!r->is_guessing)
		r->kill_stamp = ++r->stamp;
}

/* ---- addresses ------------------------------------------------------------------------------- */

/* Find where an access goes, once the registers are known. */
static void access_place(struct dec_recover *r, struct rec_access *a)
{
	struct rec_at at = rec_at(r, a->step);
	const struct dec_mem *m;
	uint64_t addr;

	if (a->mem == REC_NONE ||
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
}

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
		    !mem_read(r, r->is_backward ? to + i : from.v + i, part, &c1, &b))
			return false;
		if (r->is_backward && !is_fill &&
		    !mem_write(r, from.v + i, part, &c2, &b, true))
			return false;
		if (!r->is_backward && !mem_write(r, to + i, part, &c2, &b, false))
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
		rec_mem_kill(r);
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
	rec_mem_kill(r);
	return true;
}

/* A store that leaves some bytes alone. */
static bool masked_apply(struct dec_recover *r, const struct rec_at *at,
			 struct rec_access *a, unsigned n)
{
	uint32_t node = at->ref[a->slot];
	uint64_t written, left = rec_masked(at, &written);
	struct rec_bytes now, b;

	if (!mem_read(r, a->addr, n, &a->line, &now))
		return false;
	if (r->is_backward) {
		b = now;
		rec_learn_bytes(r, node, &b);
		rec_settle(r);
		now.m &= left;
		return mem_write(r, a->addr, n, &a->line, &now, false);
	}
	rec_read_bytes(r, node, &b);
	for (uint64_t m = now.m & left & ~b.m; m; m &= m - 1) {
		b.v[__builtin_ctzll(m)] = now.v[__builtin_ctzll(m)];
		b.m |= m & -m;
	}
	return mem_write(r, a->addr, n, &a->line, &b, false);
}

static bool access_apply(struct dec_recover *r, struct rec_access *a)
{
	struct rec_bytes b, now;
	struct rec_at at;
	uint32_t node;
	unsigned n;

	if (a->mem == REC_NONE)
		return wild_apply(r, a);
	at = rec_at(r, a->step);
	access_place(r, a);
	if (at.form->is_bulk)
		return bulk_apply(r, a);
	if (a->placed < REC_HINTED) {
		if (a->is_write)
			rec_mem_kill(r);
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
		return mem_write(r, a->addr, n, &a->line, &b, false);
	}
	if (!mem_read(r, a->addr, n, &a->line, &now))
		return false;
	if (now.m)
		rec_learn_bytes(r, node, &now);
	if (r->queue_size)
		rec_settle(r);
	if (a->is_write)
		return rec_mem_forget(r, a->addr, n);
	rec_read_bytes(r, node, &b);
	return mem_write(r, a->addr, n, &a->line, &b, true);
}

struct err *rec_sweep(struct dec_recover *r, bool is_backward)
{
	size_t n = r->accesses.size;

	r->is_backward = is_backward;
	r->sweep_stamp = ++r->stamp;
	r->kill_stamp = 0;
	r->n_lost = 0;
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
