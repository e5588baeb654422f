// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Pointers that have an opposite. Of a node in a doubly linked list, or of a child in a tree
 * that knows its parent, a load `y = [b+d]` has its mirror in memory: [y+e] is b. Which
 * loads have one, and at which e, the window itself tells, by those whose b and y are both
 * there. Then b follows from y where a traversal's way is known only from its end: its nodes
 * may have been freed and used again since, and no register has kept them. A guess, as an
 * invariant of the program's data is one.
 */
#include "decode/past/recover_guess.h"

#include <string.h>

enum {
	MIRROR_WORDS = 16,  ///< from 64 bytes below y to 64 above
	MIRROR_SAMPLES = 64 ///< after so many without one, a load has none
};

/** What was seen of a load's executions. */
struct past_mirror {
	uint32_t n;
	uint32_t yes[MIRROR_WORDS], no[MIRROR_WORDS];
	int8_t best; ///< word that is its mirror, as far as seen; -1: none is
};

/* Loads whose base a mirror could tell: 8 bytes at a register and a constant. */
static bool mirror_fits(const struct past_form *f, uint8_t mem)
{
	const struct dec_mem *m = &f->insn.mem[mem];

	return f->kind == PAST_MOV && f->n_mem_in == 1 && m->size == 8 &&
	       !m->is_absolute && m->base != DEC_REG_NONE && m->base != PAST_RSP &&
	       m->index == DEC_REG_NONE && !m->is_fs && !m->is_addr32 &&
	       f->base_in[mem] != PAST_NONE;
}

static bool mirror_read(struct dec_recover *r, uint64_t y, int word, uint64_t *ret)
{
	uint32_t cached = PAST_NO_NODE;
	struct past_bytes b;

	if (!dec_recover_mem_read(r, y + 8 * (word - MIRROR_WORDS / 2), 8, &cached, &b) ||
	    (b.m & 0xff) != 0xff)
		return false;
	memcpy(ret, b.v, 8);
	return true;
}

static bool is_pointer(uint64_t y)
{
	return y >= 4096 && y < 1ull << 47 && !(y & 7);
}

/* See which words of y's neighbourhood hold b. */
static void mirror_see(struct dec_recover *r, struct past_mirror *m, uint64_t b,
		       uint64_t y)
{
	m->n++;
	for (int w = 0; w < MIRROR_WORDS; w++) {
		uint64_t v;

		// A word that told something else most of the time is not looked at.
		if (m->no[w] > 8 + m->yes[w] || !mirror_read(r, y, w, &v))
			continue;
		if (v == b)
			m->yes[w]++;
		else
			m->no[w]++;
	}
}

static struct past_mirror *mirror_of(struct dec_recover *r, uint32_t form)
{
	struct past_form *f = &r->ran.forms.data[form];
	struct past_mirror *m;

	if (f->mirror)
		return &r->guess.mirrors.data[f->mirror - 1];
	m = vec_push(&r->guess.mirrors);
	if (!m)
		return NULL;
	f->mirror = r->guess.mirrors.size;
	m->best = -1;
	return m;
}

static void mirror_choose(struct past_mirror *m)
{
	uint32_t most = 3;

	m->best = -1;
	for (int w = 0; w < MIRROR_WORDS; w++) {
		if (m->yes[w] <= most || m->no[w] * 16 > m->yes[w])
			continue;
		most = m->yes[w];
		m->best = w;
	}
}

void dec_recover_mirrors_begin(struct dec_recover *r)
{
	for (size_t i = 0; i < r->guess.mirrors.size; i++) {
		struct past_mirror *m = &r->guess.mirrors.data[i];

		*m = (struct past_mirror){ .best = m->best };
	}
	r->guess.is_mining = true;
}

void dec_recover_mirrors_end(struct dec_recover *r)
{
	r->guess.is_mining = false;
	for (size_t i = 0; i < r->guess.mirrors.size; i++)
		mirror_choose(&r->guess.mirrors.data[i]);
}

void dec_recover_mirror_apply(struct dec_recover *r, const struct past_access *a)
{
	struct past_at at = past_at(r, a->step);
	struct past_mirror *m;
	struct past_bits b, y;
	uint64_t v;

	if (!mirror_fits(at.form, a->mem))
		return;
	y = r->bits.data[at.ref[a->slot]];
	if (y.m != UINT64_MAX || !is_pointer(y.v))
		return;
	b = r->bits.data[at.ref[at.form->base_in[a->mem]]];
	if (r->guess.is_mining && b.m == UINT64_MAX) {
		m = mirror_of(r, r->ran.steps.data[a->step].form);
		if (m && m->n < 4096)
			mirror_see(r, m, b.v, y.v);
		return;
	}
	if (b.m == UINT64_MAX || !at.form->mirror)
		return;
	m = &r->guess.mirrors.data[at.form->mirror - 1];
	if (m->best < 0 || !mirror_read(r, y.v, m->best, &v) || !is_pointer(v))
		return;
	dec_recover_learn(r, at.ref[at.form->base_in[a->mem]], past_const(v));
}
