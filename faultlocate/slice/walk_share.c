// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Who else wanted what was found. What is wanted is so for one node, the latest; a node before it that
 * wants the same is noted here, by the place that it wants, until that is defined.
 */

#include "faultlocate/slice/walk.h"

enum { SHARES_MOST = 1 << 21 }; // waiting, and told: more are not noted

/* Registers of each thread, beside addresses of words. Across a handler they are others. */
static uint64_t reg_place(const struct walk_thread *t, int reg)
{
	return UINT64_C(1) << 63 | (uint64_t)t->era << 40 | (uint64_t)t->tid << 8 | reg;
}

static uint64_t word_place(uint64_t addr)
{
	return addr >> 3;
}

uint64_t fl_share_place(struct fl_slice *s)
{
	return UINT64_C(1) << 62 | ++s->serial;
}

static struct err *note(struct fl_slice *s, uint64_t place, uint64_t bytes, uint32_t link)
{
	struct walk_shares *x = &s->shares;
	const uint64_t *head = map_get(&x->heads, place);
	struct walk_share made = { .next = head ? *head : FL_NONE,
				   .link = link,
				   .bytes = bytes,
				   .place = place };
	uint32_t at = x->all.size;

	if (head && x->all.data[*head].link == link) {
		x->all.data[*head].bytes |= bytes;
		return NULL;
	}
	if (x->unused.size)
		at = x->unused.data[--x->unused.size];
	else if (x->all.size == SHARES_MOST)
		return NULL;
	else if (!vec_push(&x->all))
		return &err_nomem;
	x->all.data[at] = made;
	return map_put(&x->heads, place, at) ? &err_nomem : NULL;
}

struct err *fl_share_found(struct fl_slice *s, uint32_t link)
{
	return s->options.keeps_sharers && link_node(link) != FL_NONE ?
		       vec_add(&s->shares.found, link) :
		       NULL;
}

/* Bytes @p bytes at @p place are defined: who shared them is found. */
static struct err *take(struct fl_slice *s, uint64_t place, uint64_t bytes, bool stays)
{
	struct walk_shares *x = &s->shares;
	uint64_t *head = map_get(&x->heads, place);
	uint32_t kept = FL_NONE, next;
	struct err *err = NULL;

	for (uint32_t i = head ? *head : FL_NONE; i != FL_NONE && !err; i = next) {
		struct walk_share *share = &x->all.data[i];

		next = share->next;
		if (share->bytes & bytes)
			err = fl_share_found(s, share->link);
		if (!stays)
			share->bytes &= ~bytes;
		if (share->bytes) {
			share->next = kept;
			kept = i;
		} else if (!err) {
			err = vec_add(&x->unused, i);
		}
	}
	if (head && kept != FL_NONE)
		*head = kept;
	else if (head)
		map_remove(&x->heads, place);
	return err;
}

struct err *fl_share_reg(struct fl_slice *s, int reg, uint64_t bytes, uint32_t link)
{
	const struct live_reg *r = &s->at->regs.reg[reg];

	return s->options.keeps_sharers && (r->bytes & bytes) && r->node != link ?
		       note(s, reg_place(s->at, reg), bytes, link) :
		       NULL;
}

struct err *fl_share_take_reg(struct fl_slice *s, int reg, uint64_t bytes, bool stays)
{
	return s->shares.heads.size ? take(s, reg_place(s->at, reg), bytes, stays) : NULL;
}

/* Which bytes of the word at @p word [addr, addr + size) has. */
static uint64_t part(uint64_t word, uint64_t addr, uint64_t size)
{
	uint64_t bytes = 0xff;

	if (addr > word)
		bytes &= 0xffull << (addr - word);
	if (addr + size < word + 8)
		bytes &= 0xffull >> (word + 8 - addr - size);
	return bytes;
}

struct err *fl_share_mem(struct fl_slice *s, uint64_t addr, uint64_t size, uint32_t link)
{
	struct err *err = NULL;

	for (uint64_t word = addr & ~UINT64_C(7);
	     s->options.keeps_sharers && word < addr + size && !err; word += 8) {
		uint32_t known = fl_live_mem_node(&s->mem, word);

		if (known != UINT32_MAX && known != link &&
		    link_edge(known) != LINK_SAVED)
			err = note(s, word_place(word), part(word, addr, size), link);
	}
	return err;
}

/* Much at once: it is quicker to look at what is shared. */
static struct err *take_much(struct fl_slice *s, uint64_t addr, uint64_t size, bool stays)
{
	struct walk_shares *x = &s->shares;
	struct err *err = NULL;

	for (size_t i = 0; i < x->all.size && !err; i++) {
		uint64_t word = x->all.data[i].place << 3;

		if (x->all.data[i].bytes && !(x->all.data[i].place >> 61) &&
		    word + 8 > addr && word < addr + size)
			err = take(s, x->all.data[i].place, part(word, addr, size),
				   stays);
	}
	return err;
}

/** Memory that is looked for among what is wanted. */
struct part_of {
	struct fl_slice *s;
	uint64_t addr, size;
};

/* A live_range_fn. */
static struct err *find_part(void *ctx, uint64_t addr, uint64_t size, live_who who,
			     uint32_t link)
{
	const struct part_of *p = ctx;

	(void)who;
	return addr + size > p->addr && addr < p->addr + p->size &&
			       link_edge(link) != LINK_SAVED ?
		       fl_share_found(p->s, link) :
		       NULL;
}

struct err *fl_share_parts(struct fl_slice *s, uint64_t addr, uint64_t size)
{
	struct part_of all = { s, addr, size };
	uint32_t last = UINT32_MAX, link;
	struct err *err = NULL;

	if (!s->options.keeps_sharers || size <= 8)
		return NULL;
	if (size / 8 > s->mem.n_bytes)
		return fl_live_mem_each(&s->mem, find_part, &all);
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size && !err; word += 8) {
		link = fl_live_mem_node(&s->mem, word);
		if (link != UINT32_MAX && link != last && link_edge(link) != LINK_SAVED)
			err = fl_share_found(s, last = link);
	}
	return err;
}

struct err *fl_share_take_mem(struct fl_slice *s, uint64_t addr, uint64_t size,
			      bool stays)
{
	struct err *err = NULL;

	if (!s->shares.heads.size)
		return NULL;
	if (size / 8 > s->shares.all.size)
		return take_much(s, addr, size, stays);
	for (uint64_t word = addr & ~UINT64_C(7); word < addr + size && !err; word += 8)
		err = take(s, word_place(word), part(word, addr, size), stays);
	return err;
}

struct err *fl_share_pending(struct fl_slice *s, uint64_t place, uint32_t node)
{
	return s->options.keeps_sharers ?
		       note(s, place, 1, link_to(node, FL_EDGE_CONTROL)) :
		       NULL;
}

struct err *fl_share_take_pending(struct fl_slice *s, const struct pending *p,
				  uint32_t first)
{
	struct err *err = p->node == first ?
				  NULL :
				  fl_share_found(s, link_to(p->node, FL_EDGE_CONTROL));

	return err || !s->shares.heads.size ? err : take(s, p->place, 1, false);
}

/* Who shares what is at @p from shares what is at @p to. */
static struct err *move(struct fl_slice *s, uint64_t from, uint64_t to)
{
	struct walk_shares *x = &s->shares;
	struct err *err = x->heads.size ? take(s, from, 0xff, false) : NULL;

	for (size_t i = 0; i < x->found.size && !err; i++)
		err = note(s, to, 0xff, x->found.data[i]);
	x->found.size = 0;
	return err;
}

struct err *fl_share_restore(struct fl_slice *s, int reg, uint64_t addr)
{
	return move(s, reg_place(s->at, reg), word_place(addr));
}

struct err *fl_share_save(struct fl_slice *s, int reg, uint64_t addr)
{
	return move(s, word_place(addr), reg_place(s->at, reg));
}

struct err *fl_share_tell(struct fl_slice *s, uint32_t node)
{
	struct walk_shares *x = &s->shares;
	struct err *err = NULL;

	for (size_t i = 0; i < x->found.size && !err; i++) {
		uint32_t to = link_node(x->found.data[i]);

		if (to != s->nodes.data[node].parent && to < node &&
		    x->told.size < SHARES_MOST)
			err = vec_add(&x->told,
				      (struct fl_slice_share){
					      .from = node,
					      .to = to,
					      .edge = link_edge(x->found.data[i]) });
	}
	x->found.size = 0;
	return err;
}

const struct fl_slice_share *fl_slice_shares(const struct fl_slice *s, size_t *n)
{
	*n = s->shares.told.size;
	return s->shares.told.data;
}

void fl_share_deinit(struct walk_shares *x)
{
	map_deinit(&x->heads);
	vec_deinit(&x->all);
	vec_deinit(&x->unused);
	vec_deinit(&x->found);
	vec_deinit(&x->told);
}
