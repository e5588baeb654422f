// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where did a store go whose address is not known? Two observations tell. *A missing
 * writer*: a word held one value and then another, and between the two nothing was stored
 * there: then one of the stores between that went nobody knows where did it. *A home*: a
 * pointer that an allocator call gave lies in a word, and nothing is known to have put it
 * there. Of several stores, or several words, that would do, the one is taken whose base
 * would be a pointer that something else goes through as well (r->guess.bases): code goes
 * through pointers to the beginnings of things, not to just anywhere in them. If there is not
 * exactly one, none is taken. A guess; the sweep that makes it goes on with what it gives.
 */
#include "decode/past/recover_guess.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALIAS_HOMES = 4,
	ALIAS_HELD = 256, ///< accesses that are looked at for them
	ALIAS_AROUND = 32,
	ALIAS_ELEMENTS = 64,
	ALIAS_PLACED = 6,
	ALIAS_NEAR = 64
};

/** Where a pointer lies. */
struct past_home {
	struct past_chain at;	   ///< accesses that hold it
	uint64_t end[ALIAS_HOMES]; ///< words that hold it in the end
	uint32_t n_end;
};

/* ---- pointers that are gone through ------------------------------------------------------------ */

static bool is_pointer(uint64_t v)
{
	return v >= 4096 && v < 1ull << 47;
}

static bool bases_add(struct dec_recover *r, uint64_t v)
{
	return !is_pointer(v) || !map_put(&r->guess.bases, v, 1);
}

/* What lies in the end around a block of the heap: pointers to other blocks, and where the
 * ones are that allocator calls gave. */
static bool end_look(struct dec_recover *r, uint64_t line)
{
	uint64_t v[8];

	if (map_get(&r->guess.looked_at, line))
		return true;
	if (map_put(&r->guess.looked_at, line, 1))
		return false;
	if (r->mem.end->read(r->mem.end->ctx, line, v, 64) != DEC_MAP_PRIVATE)
		return true;
	for (int i = 0; i < 8; i++) {
		if (!is_pointer(v[i]) || (v[i] & 15))
			continue;
		if (map_get(&r->guess.fresh, v[i])) {
			if (vec_add(&r->guess.end_homes,
				    (struct past_end_home){ line + 8 * i, v[i] }))
				return false;
		} else if (v[i] - line + (1 << 20) < 2 << 20 &&
			   map_put(&r->guess.end_bases, v[i], 1)) {
			return false;
		}
	}
	return true;
}

/* The blocks that call @p c gave and took. */
static bool ends_look(struct dec_recover *r, const struct dec_recover_heap_call *c)
{
	for (int i = 0; i < 2; i++) {
		uint64_t v = (i ? c->taken : c->given) & ~63ull;

		for (int k = -ALIAS_AROUND; k <= ALIAS_AROUND && is_pointer(v); k++) {
			if (!end_look(r, v + 64 * k))
				return false;
		}
	}
	return true;
}

/* What the allocator gave, or was given back. */
static bool fresh_add(struct dec_recover *r, uint64_t v)
{
	return bases_add(r, v) && (!is_pointer(v) || !map_put(&r->guess.fresh, v, 1));
}

bool dec_recover_bases_begin(struct dec_recover *r)
{
	bool is_first = !r->guess.looked_at.size;

	map_deinit(&r->guess.bases);
	for (size_t i = 0; i < r->ran.forms.size; i++)
		r->ran.forms.data[i].n_placed = 0;
	for (size_t i = 0; i < r->guess.heap_calls.size; i++) {
		const struct dec_recover_heap_call *c = &r->guess.heap_calls.data[i];

		if (!fresh_add(r, c->given) || !fresh_add(r, c->taken))
			return false;
	}
	for (size_t i = 0; i < r->guess.heap_calls.size && is_first; i++) {
		if (!ends_look(r, &r->guess.heap_calls.data[i]))
			return false;
	}
	// Addresses that the code names.
	for (size_t i = 0; i < r->ran.forms.size; i++) {
		const struct past_form *f = &r->ran.forms.data[i];
		bool is_lea = f->kind == PAST_LEA && f->agen_base == PAST_NONE &&
			      f->agen_index == PAST_NONE;

		if ((is_lea && !bases_add(r, f->agen_disp)) ||
		    (f->kind == PAST_MOV && f->op[1].type == PAST_OP_IMM &&
		     !bases_add(r, f->imm)))
			return false;
	}
	return !vec_find(&r->ran.accesses, a,
			 a->placed == PAST_KNOWN && !dec_recover_bases_note(r, a));
}

/* The one register that an access goes through. */
static uint32_t base_node(const struct past_at *at, const struct past_access *a,
			  int64_t *off)
{
	const struct dec_mem *m = &at->form->insn.mem[a->mem];
	const struct past_bits *index;
	uint8_t slot = at->form->base_in[a->mem];

	if (m->is_absolute || m->is_fs || m->is_addr32 || m->base == DEC_REG_NONE ||
	    m->base == PAST_RSP || slot == PAST_NONE)
		return PAST_NO_NODE;
	*off = m->disp;
	if (m->index == DEC_REG_NONE)
		return at->ref[slot];
	slot = at->form->index_in[a->mem];
	if (slot == PAST_NONE || at->ref[slot] == PAST_NO_NODE)
		return PAST_NO_NODE;
	index = &at->r->bits.data[at->ref[slot]];
	if (index->m != UINT64_MAX)
		return PAST_NO_NODE;
	*off += index->v * m->scale;
	return at->ref[at->form->base_in[a->mem]];
}

/* Where a store instruction goes. */
static void store_note(struct past_form *f, uint64_t addr)
{
	bool is_new = !f->n_placed || addr < f->lowest || addr > f->highest;

	if (!f->n_placed || addr < f->lowest)
		f->lowest = addr;
	if (!f->n_placed || addr > f->highest)
		f->highest = addr;
	f->n_placed += is_new;
}

/* @return whether @p word is as far from where it goes else as to be something else. */
static bool store_is_far(const struct past_form *f, uint64_t word)
{
	uint64_t span = f->highest - f->lowest + ALIAS_NEAR;

	return f->n_placed >= ALIAS_PLACED && word + span - f->lowest > 3 * span;
}

bool dec_recover_bases_note(struct dec_recover *r, const struct past_access *a)
{
	struct past_at at;
	const struct dec_mem *m;
	uint32_t node;
	int64_t off;

	if (a->mem >= PAST_BELOW)
		return true;
	at = past_at(r, a->step);
	if (a->is_write)
		store_note(&r->ran.forms.data[r->ran.steps.data[a->step].form], a->addr);
	m = &at.form->insn.mem[a->mem];
	// Indexed: the base is an array's beginning, or nothing of the kind.
	if (m->index != DEC_REG_NONE)
		return true;
	node = base_node(&at, a, &off);
	return node == PAST_NO_NODE || r->bits.data[node].m != UINT64_MAX ||
	       bases_add(r, r->bits.data[node].v);
}

/* ---- a store at a word -------------------------------------------------------------------------- */

/* Of base and index of store @p a only one is known, and is a pointer: an element of what
 * begins there. May it be @p word? As far as the other one's bits tell how far it goes. */
static enum past_may element_fits(const struct past_at *at, const struct past_access *a,
				  uint64_t word)
{
	const struct past_form *f = at->form;
	const struct dec_mem *m = &f->insn.mem[a->mem];
	const uint8_t slots[2] = { f->base_in[a->mem], f->index_in[a->mem] };
	const struct past_bits *b[2];

	if (m->is_fs || m->is_addr32 || slots[0] == PAST_NONE || slots[1] == PAST_NONE)
		return PAST_MAY_PERHAPS;
	for (int i = 0; i < 2; i++) {
		if (at->ref[slots[i]] == PAST_NO_NODE)
			return PAST_MAY_PERHAPS;
		b[i] = &at->r->bits.data[at->ref[slots[i]]];
	}
	for (int i = 0; i < 2; i++) {
		uint64_t from = b[i]->v + m->disp, most = b[!i]->v | ~b[!i]->m;
		unsigned scale = i ? 1 : m->scale;

		if (b[i]->m != UINT64_MAX || !is_pointer(b[i]->v) || (i && m->scale != 1))
			continue;
		if (most >= 1 << 16 && scale > 1)
			most = ALIAS_ELEMENTS;
		if (most < 1 << 16 && word + 7 - from >= most * scale + 7 + m->size)
			return PAST_MAY_NO;
		// Of bytes, the last ones of a copy are stored like this, mostly.
		return scale > 1 ? PAST_MAY_YES : PAST_MAY_PERHAPS;
	}
	return PAST_MAY_PERHAPS;
}

/* Can store @p a, of @p min bytes or more, have made @p word what it holds then, of which
 * @p now is known? Yes: with
 * base @p ret in node @p node, which something else goes through, too. */
static enum past_may store_fits(struct dec_recover *r, const struct past_access *a,
				int min, uint64_t word, struct past_bits now,
				uint32_t *node, uint64_t *ret)
{
	struct past_at at = past_at(r, a->step);
	int size = at.form->insn.mem[a->mem].size, unit = size < 8 ? size : 8;
	const struct past_bits *base;
	struct past_bytes b;
	int64_t off;

	if (dec_recover_heap_excludes(r, a->step, word))
		return PAST_MAY_NO;
	if (at.form->is_bulk || at.form->kind == PAST_MASKED_STORE || !unit)
		return PAST_MAY_PERHAPS;
	*node = base_node(&at, a, &off);
	if (store_is_far(at.form, word))
		return PAST_MAY_NO;
	if (*node == PAST_NO_NODE)
		return min ? PAST_MAY_NO : element_fits(&at, a, word);
	if (size < min)
		return PAST_MAY_NO;
	base = &r->bits.data[*node];
	dec_recover_read_bytes(r, at.ref[a->slot], &b);
	// Its first byte lies before the word's, or in it.
	for (int first = unit - size; first < 8; first += unit) {
		uint64_t v = 0, m = 0;

		for (int i = 0; i < 8; i++) {
			int k = i - first;

			if (k < 0 || k >= size || !(b.m >> k & 1))
				continue;
			v |= (uint64_t)b.v[k] << 8 * i;
			m |= 0xffull << 8 * i;
		}
		*ret = word + first - off;
		if (!((v ^ now.v) & m & now.m) && !((base->v ^ *ret) & base->m) &&
		    (map_get(&r->guess.bases, *ret) ||
		     map_get(&r->guess.end_bases, *ret)))
			return PAST_MAY_YES;
	}
	return PAST_MAY_NO;
}

bool dec_recover_alias_may_hit(struct dec_recover *r, uint32_t access, uint64_t word,
			       struct past_bits now)
{
	const struct past_access *a = &r->ran.accesses.data[access];
	uint64_t base;
	uint32_t node;

	return (a->is_range ? PAST_MAY_PERHAPS :
			      store_fits(r, a, 0, word, now, &node, &base)) >=
	       (r->guess.is_element ? r->guess.least_may_element : r->guess.least_may);
}

/* What was found past stores that may have gone there is found again, or is not. */
static bool assume(struct dec_recover *r, uint32_t node, uint64_t value)
{
	struct past_assumed *s;

	if (r->guess.reach)
		return true;
	s = vec_push(&r->guess.assumed);
	if (!s || map_put(&r->guess.assumed_at, node, r->guess.assumed.size - 1))
		return false;
	*s = (struct past_assumed){ node, value, r->guess.stage + r->guess.is_bold,
				    false };
	return true;
}

static void store_place(struct dec_recover *r, uint32_t node, uint64_t base)
{
	if (!assume(r, node, base))
		return;
	dec_recover_learn(r, node, past_const(base));
	dec_recover_settle(r);
}

void dec_recover_assumed_conflict(struct dec_recover *r, uint32_t node)
{
	uint64_t *at = map_get(&r->guess.assumed_at, node);

	if (at)
		r->guess.assumed.data[*at].is_refuted = true;
}

void dec_recover_assume_again(struct dec_recover *r)
{
	for (size_t i = 0; i < r->guess.assumed.size; i++) {
		const struct past_assumed *s = &r->guess.assumed.data[i];

		if (!s->is_refuted && s->from <= r->guess.stage)
			dec_recover_learn(r, s->node, past_const(s->value));
	}
}

bool dec_recover_alias_missing(struct dec_recover *r, uint64_t word, uint32_t seen,
			       uint64_t value)
{
	uint32_t found = PAST_NO_NODE, node, n = 0;
	uint64_t base = 0, b;

	for (uint32_t i =
		     dec_recover_lost_between(r, r->mem.moment, seen, PAST_NO_ACCESS);
	     i != PAST_NO_ACCESS;
	     i = dec_recover_lost_between(r, r->mem.moment, seen, i)) {
		const struct past_access *a = &r->ran.accesses.data[i];

		if (++n > PAST_LOST)
			return false;
		if (a->is_range || store_fits(r, a, 8, word, past_const(value), &node,
					      &b) != PAST_MAY_YES)
			continue;
		if (found != PAST_NO_NODE && (found != node || base != b))
			return false;
		found = node;
		base = b;
	}
	if (found == PAST_NO_NODE)
		return false;
	store_place(r, found, base);
	return true;
}

/* ---- homes ---------------------------------------------------------------------------------------- */

/* Where pointer @p value lies; NULL: out of memory. */
static struct past_home *home_of(struct dec_recover *r, uint64_t value)
{
	uint64_t *at = map_get(&r->guess.home_at, value);
	struct past_home *h = at ? &r->guess.homes.data[*at] : vec_push(&r->guess.homes);

	return h && (at || !map_put(&r->guess.home_at, value, r->guess.homes.size - 1)) ?
		       h :
		       NULL;
}

bool dec_recover_homes_note(struct dec_recover *r, uint32_t access)
{
	const struct past_access *a = &r->ran.accesses.data[access];

	// By offsets: a wrong guess may end with the last byte there is.
	for (unsigned i = -a->addr & 7; i + 8 <= a->size; i += 8) {
		struct past_home *h;
		uint64_t v;

		if (!dec_recover_access_word(r, a, a->addr + i, &v) || !is_pointer(v) ||
		    !map_get(&r->guess.fresh, v))
			continue;
		h = home_of(r, v);
		if (!h || !dec_recover_chain_add(&h->at, access))
			return false;
	}
	return true;
}

bool dec_recover_homes_begin(struct dec_recover *r)
{
	for (size_t i = 0; i < r->guess.homes.size; i++) {
		r->guess.homes.data[i].at.size = r->guess.homes.data[i].at.begin = 0;
		r->guess.homes.data[i].n_end = 0;
	}
	for (size_t i = 0; i < r->guess.end_homes.size; i++) {
		struct past_home *h = home_of(r, r->guess.end_homes.data[i].value);

		if (!h)
			return false;
		h->end[h->n_end++ % ALIAS_HOMES] = r->guess.end_homes.data[i].word;
	}
	return true;
}

void dec_recover_homes_deinit(struct dec_recover *r)
{
	for (size_t i = 0; i < r->guess.homes.size; i++)
		free(r->guess.homes.data[i].at.at);
	vec_deinit(&r->guess.homes);
	vec_deinit(&r->guess.end_homes);
	map_deinit(&r->guess.home_at);
}

/* Note @p word, if it is another one. @return how many there are. */
static int word_add(uint64_t words[ALIAS_HOMES], int n, uint64_t word)
{
	for (int i = 0; i < n; i++) {
		if (words[i] == word)
			return n;
	}
	if (n < ALIAS_HOMES)
		words[n++] = word;
	return n;
}

/* The words that hold @p value: those first that are seen next from this moment on. */
static int homes_find(const struct dec_recover *r, const struct past_home *h,
		      uint64_t value, uint64_t words[ALIAS_HOMES])
{
	uint32_t k = dec_recover_chain_rank(&h->at, r->mem.moment + 1);
	int n = 0;

	for (int i = 0; i < ALIAS_HELD && k + i < h->at.size && n < ALIAS_HOMES; i++) {
		const struct past_access *a =
			&r->ran.accesses.data[h->at.at[h->at.begin + k + i]];
		uint64_t v;

		for (unsigned j = -a->addr & 7; j + 8 <= a->size; j += 8) {
			if (dec_recover_access_word(r, a, a->addr + j, &v) && v == value)
				n = word_add(words, n, a->addr + j);
		}
	}
	for (uint32_t i = 0; i < h->n_end && i < ALIAS_HOMES; i++)
		n = word_add(words, n, h->end[i]);
	return n;
}

bool dec_recover_alias_home(struct dec_recover *r, const struct past_access *a)
{
	uint64_t base = 0, b, *home, words[ALIAS_HOMES], now;
	uint32_t node = PAST_NO_NODE, n, seen;
	struct past_bits v;
	unsigned found = 0;
	bool is_clear;
	int n_words;

	if (a->node & PAST_VEC)
		return false;
	v = r->bits.data[a->node];
	home = v.m == UINT64_MAX ? map_get(&r->guess.home_at, v.v) : NULL;
	n_words = home && r->guess.stage ?
			  homes_find(r, &r->guess.homes.data[*home], v.v, words) :
			  0;
	for (int i = 0; i < n_words; i++) {
		if (!dec_recover_mem_fact(r, words[i], &now, &seen, &is_clear) ||
		    now != v.v || !is_clear ||
		    store_fits(r, a, 8, words[i], v, &n, &b) != PAST_MAY_YES)
			continue;
		node = n;
		base = b;
		found++;
	}
	// Where it lies may be seen later.
	r->mem.is_open |= found != 1 && v.m == UINT64_MAX &&
			  map_get(&r->guess.fresh, v.v);
	if (found != 1)
		return false;
	store_place(r, node, base);
	return true;
}
