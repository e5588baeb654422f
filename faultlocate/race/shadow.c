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

static struct shadow_record *next_of(const struct shadow *s,
				     const struct shadow_record *r)
{
	return r->next ? &s->more.data[r->next - 1] : NULL;
}

static void give_back(struct shadow *s, uint32_t index)
{
	s->more.data[index - 1].next = s->free;
	s->free = index;
}

/* Is @p r nothing that @p x does not say, too? It happened before, or is of the same thread. */
static bool is_superseded(const struct clocks *c, const struct shadow_record *r,
			  const struct shadow_record *x)
{
	return !(r->bytes & ~x->bytes) && (x->is_write || !r->is_write) &&
	       (r->is_atomic || !x->is_atomic) &&
	       clocks_is_before(c, r->thread, r->clock, x->thread);
}

static bool is_race(const struct clocks *c, const struct shadow_record *r,
		    const struct shadow_record *x)
{
	return r->bytes & x->bytes && (r->is_write || x->is_write) &&
	       !(r->is_atomic && x->is_atomic) &&
	       !clocks_is_before(c, r->thread, r->clock, x->thread);
}

/* Take away what @p x supersedes of the list that begins at @p first; @p first itself is emptied. */
static void sweep(struct shadow *s, const struct clocks *c, struct shadow_record *first,
		  const struct shadow_record *x)
{
	uint32_t *link = &first->next;

	while (*link) {
		struct shadow_record *r = &s->more.data[*link - 1];
		uint32_t index = *link;

		if (!is_superseded(c, r, x)) {
			link = &r->next;
			continue;
		}
		*link = r->next;
		give_back(s, index);
	}
	if (first->bytes && is_superseded(c, first, x))
		first->bytes = 0;
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

/* @p x has the bytes of this word. */
static struct err *access_word(struct shadow *s, const struct clocks *c,
			       struct shadow_record *first, uint64_t addr,
			       const struct shadow_record *x, shadow_race_fn fn,
			       void *ctx)
{
	struct err *err = NULL;

	// The same as the last time: in loops nearly always.
	if (first->thread == x->thread && first->clock == x->clock && !first->next &&
	    !(x->bytes & ~first->bytes) && first->is_write >= x->is_write &&
	    first->is_atomic == x->is_atomic)
		return NULL;
	for (const struct shadow_record *r = first; r && !err; r = next_of(s, r))
		if (is_race(c, r, x))
			err = fn(ctx, r, x, addr);
	if (err)
		return err;
	sweep(s, c, first, x);
	return add(s, first, x);
}

struct err *fl_shadow_access(struct shadow *s, const struct clocks *c, uint64_t addr,
			     const struct shadow_record *x, shadow_race_fn fn, void *ctx)
{
	uint64_t end = addr + x->size;
	struct shadow_record part = *x;
	struct err *err = NULL;

	part.next = 0;
	part.begin = addr % 8;
	for (uint64_t at = addr; at < end && !err;) {
		uint64_t n = 8 - at % 8 < end - at ? 8 - at % 8 : end - at;
		struct shadow_record *page = page_of(s, at / SHADOW_PAGE, true);

		if (!page)
			return &err_nomem;
		part.bytes = ((1u << n) - 1) << at % 8;
		err = access_word(s, c, &page[at % SHADOW_PAGE / 8], at, &part, fn, ctx);
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
