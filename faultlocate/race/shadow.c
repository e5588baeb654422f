// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/race/shadow.h"

#include <stdlib.h>
#include <string.h>

void fl_shadow_deinit(struct shadow *s)
{
	for (size_t i = 0; i < s->pages.capacity; i++)
		if (s->pages.slots[i].key != MAP_EMPTY_KEY)
			free((void *)s->pages.slots[i].value);
	map_deinit(&s->pages);
	vec_deinit(&s->more);
	*s = (struct shadow){};
}

/* The records of page @p number, made if @p make; NULL: none, no memory. */
static struct shadow_record *page_of(struct shadow *s, uint64_t number, bool make)
{
	size_t at = number % SHADOW_RECENT;
	struct shadow_record *records;
	const uint64_t *known;

	if (s->recent[at].records && s->recent[at].number == number)
		return s->recent[at].records;
	known = map_get(&s->pages, number);
	records = known ? (void *)*known :
		  make	? calloc(SHADOW_WORDS, sizeof(*records)) :
			  NULL;
	if (!records)
		return NULL;
	if (!known && map_put(&s->pages, number, (uint64_t)records)) {
		free(records);
		return NULL;
	}
	s->recent[at].number = number;
	s->recent[at].records = records;
	return records;
}

static void give_back(struct shadow *s, uint32_t index)
{
	s->more.data[index - 1].next = s->free;
	s->free = index;
}

/* Does @p x, behind or by the same thread as @p r, say all that @p r does? */
static bool covers(const struct shadow_record *x, const struct shadow_record *r)
{
	return !(r->bytes & ~x->bytes) && (x->is_write || !r->is_write) &&
	       (r->is_atomic || !x->is_atomic);
}

static bool conflicts(const struct shadow_record *x, const struct shadow_record *r)
{
	return r->bytes & x->bytes && (r->is_write || x->is_write) &&
	       !(r->is_atomic && x->is_atomic);
}

struct shadow_visit {
	const struct clocks *clocks;
	const struct shadow_record *x;
	uint64_t addr;
	shadow_race_fn fn;
	void *ctx;
};

/* Does @p r race with v->x, or is it superseded? */
static bool is_met(const struct shadow_visit *v, const struct shadow_record *r)
{
	bool is_before = clocks_is_before(v->clocks, r->thread, r->clock, v->x->thread);

	return is_before ? covers(v->x, r) : conflicts(v->x, r);
}

/* v->x against one before it. @return whether that is superseded. */
static bool meet(const struct shadow_visit *v, const struct shadow_record *r,
		 struct err **err)
{
	bool is_before = clocks_is_before(v->clocks, r->thread, r->clock, v->x->thread);

	if (!is_before && conflicts(v->x, r) && !*err)
		*err = v->fn(v->ctx, r, v->x, v->addr);
	return is_before && covers(v->x, r);
}

/* Tell the races with the list that begins at @p first, and take away what is superseded of it; @p first
 * itself is emptied. */
static struct err *meet_all(struct shadow *s, const struct shadow_visit *v,
			    struct shadow_record *first)
{
	uint32_t *link = &first->next;
	struct err *err = NULL;

	if (first->bytes && meet(v, first, &err))
		first->bytes = 0;
	while (*link) {
		struct shadow_record *r = &s->more.data[*link - 1];
		uint32_t index = *link;

		if (!meet(v, r, &err)) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		give_back(s, index);
	}
	return err;
}

static struct err *add(struct shadow *s, struct shadow_record *first,
		       const struct shadow_record *x)
{
	uint32_t next = first->next, index = s->free;

	if (!first->bytes) {
		*first = *x;
		first->next = next;
		return NULL;
	}
	if (index) {
		s->free = s->more.data[index - 1].next;
	} else {
		if (!vec_push(&s->more))
			return &err_nomem;
		index = s->more.size;
	}
	s->more.data[index - 1] = *x;
	s->more.data[index - 1].next = next;
	first->next = index;
	return NULL;
}

static bool is_same(const struct shadow_record *a, const struct shadow_record *b)
{
	return a->thread == b->thread && a->clock == b->clock && a->bytes == b->bytes &&
	       a->is_write == b->is_write && a->is_atomic == b->is_atomic;
}

static void renew(struct shadow_record *r, const struct shadow_record *x)
{
	r->time = x->time;
	r->statement = x->statement;
	r->locks = x->locks;
	r->begin = x->begin;
	r->size = x->size;
}

/* Where @p x would take the place of the same one before it, and do nothing else, it does so here: two variables in
 * one word are common. @return whether it did. */
static bool repeat(struct shadow *s, const struct shadow_visit *v,
		   struct shadow_record *first)
{
	uint32_t *link = &first->next, *same = NULL, index;
	const struct shadow_record *x = v->x;
	struct shadow_record *r = first;
	bool is_first = is_same(first, x);

	if (!first->bytes || (!is_first && is_met(v, first)))
		return false;
	for (; *link; link = &r->next) {
		r = &s->more.data[*link - 1];
		// There may be two, of which one had more bytes before some were cleared.
		if (is_same(r, x) && !is_first && !same)
			same = link;
		else if (is_met(v, r))
			return false;
	}
	if (is_first)
		renew(first, x);
	if (is_first || !same)
		return is_first;
	index = *same;
	r = &s->more.data[index - 1];
	renew(r, x);
	*same = r->next; // the last one comes first, as add() has them
	r->next = first->next;
	first->next = index;
	return true;
}

/* The word of @p first is accessed by v->x, which has the bytes of it. */
static struct err *access_word(struct shadow *s, const struct shadow_visit *v,
			       struct shadow_record *first)
{
	const struct shadow_record *x = v->x;
	bool was_settled = first->bytes && !first->next && first->thread == x->thread;
	struct err *err;

	// The same as the last time: in loops nearly always.
	if (was_settled && first->clock == x->clock && !(x->bytes & ~first->bytes) &&
	    first->is_write >= x->is_write && first->is_atomic == x->is_atomic)
		return NULL;
	if (first->next && repeat(s, v, first)) {
		s->is_settled = false;
		return NULL;
	}
	err = meet_all(s, v, first);
	if (!err)
		err = add(s, first, x);
	if (first->next) {
		s->is_settled = false;
		s->generation += was_settled;
	}
	return err;
}

struct err *fl_shadow_access(struct shadow *s, const struct clocks *c, uint64_t addr,
			     struct shadow_record *x, shadow_race_fn fn, void *ctx)
{
	uint64_t end = addr + x->size;
	struct shadow_visit visit = { c, x, addr, fn, ctx };
	struct err *err = NULL;

	s->is_settled = true;
	x->next = 0;
	x->begin = addr % 8;
	for (uint64_t at = addr; at < end && !err;) {
		uint64_t n = 8 - at % 8 < end - at ? 8 - at % 8 : end - at;
		struct shadow_record *page = page_of(s, at / SHADOW_PAGE, true);

		if (!page)
			return &err_nomem;
		x->bytes = ((1u << n) - 1) << at % 8;
		visit.addr = at;
		err = access_word(s, &visit, &page[at % SHADOW_PAGE / 8]);
		at += n;
	}
	return err;
}

static void clear_word(struct shadow *s, struct shadow_record *first, uint8_t bytes)
{
	uint32_t *link = &first->next;

	while (*link) {
		struct shadow_record *r = &s->more.data[*link - 1];
		uint32_t index = *link;

		r->bytes &= ~bytes;
		if (r->bytes) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		give_back(s, index);
	}
	first->bytes &= ~bytes;
}

void fl_shadow_clear(struct shadow *s, uint64_t addr, uint64_t size)
{
	uint64_t end = addr + size < addr ? UINT64_MAX - 7 : addr + size;

	s->generation++;
	for (uint64_t at = addr, n; at < end && s->pages.size; at += n) {
		struct shadow_record *page = page_of(s, at / SHADOW_PAGE, false);

		n = SHADOW_PAGE - at % SHADOW_PAGE;
		if (page) {
			n = 8 - at % 8 < end - at ? 8 - at % 8 : end - at;
			clear_word(s, &page[at % SHADOW_PAGE / 8],
				   ((1u << n) - 1) << at % 8);
		}
	}
}
