// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/shared.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "decode/machine/closed.h"

#define PAGE 4096ull
#define PAGES_MAX (128u << 10) ///< in one turn; not there before they are used
#define NEAR 16 ///< bytes between two changes that do not pay for another head

struct shared_page {
	uint64_t addr;
	uint8_t bytes[PAGE];
};

struct shared_range {
	struct dec_share of;
	uint8_t *
		is_kept; ///< by page: it is read-only, or no store has gone there in the turn
};

static VEC(struct shared_range) ranges;

static struct {
	struct dec_guest *guest;
	struct shared_page *page; ///< what was stored to in this turn; mapped by itself
	size_t n_pages;
	bool has_lost;
	VEC(uint8_t)
	gone; ///< changes of this turn, where the guest has nothing shared any more
	// What was told last:
	size_t told_gone, told;
	uint64_t told_bytes; ///< of page[told]
} shared;

/* ---- stores ------------------------------------------------------------------------------ */

/* @return the byte that tells whether @p page is kept; NULL: it is not shared. */
ENGINE_BARE static uint8_t *shared_find(uint64_t page)
{
	for (size_t i = 0; i < ranges.size; i++) {
		const struct shared_range *r = &ranges.data[i];

		if (page >= r->of.start && page < r->of.end)
			return &r->is_kept[(page - r->of.start) / PAGE];
	}
	return NULL;
}

/* Keep what @p page holds, which may be written from here on. */
ENGINE_BARE static void shared_release(uint64_t page, uint8_t *is_kept)
{
	*is_kept = 0;
	if (shared.n_pages == PAGES_MAX) {
		shared.has_lost = true;
		return;
	}
	shared.page[shared.n_pages].addr = page;
	memcpy(shared.page[shared.n_pages++].bytes, (const void *)page, PAGE);
}

ENGINE_BARE static bool shared_on_fault(int signo, int code, uint64_t addr)
{
	uint64_t page = addr & ~(PAGE - 1);
	uint8_t *is_kept = signo == SIGSEGV && code == SEGV_ACCERR ? shared_find(page) :
								     NULL;

	// Else the guest may not write there, or it has code, which somebody else sees to.
	if (!is_kept || *is_kept != 1)
		return false;
	shared_release(page, is_kept);
	return dec_guest_protect_bare(page, PAGE, PROT_READ | PROT_WRITE);
}

/* The guest's mappings or protections in [start, end) are about to change. */
static void shared_on_remap(uint64_t start, uint64_t end)
{
	for (size_t i = 0; end != UINT64_MAX && i < ranges.size; i++) {
		const struct dec_share *s = &ranges.data[i].of;
		uint64_t from = start > s->start ? start & ~(PAGE - 1) : s->start;

		for (; from < s->end && from < end; from += PAGE) {
			uint8_t *is_kept =
				&ranges.data[i].is_kept[(from - s->start) / PAGE];

			// Of what may not be read nothing is known; nor has it been written.
			if (!*is_kept || !dec_guest_avail(shared.guest, from, PROT_READ))
				continue;
			if (*is_kept == 1)
				dec_guest_protect_bare(from, PAGE,
						       PROT_READ | PROT_WRITE);
			shared_release(from, is_kept);
		}
	}
}

/* Keep @p page from now on: 1: read-only for that; 2: it is, by the guest itself. */
static void shared_keep(uint64_t page, uint8_t *is_kept)
{
	bool is_writable = dec_guest_avail(shared.guest, page, PROT_WRITE) > 0 &&
			   !map_get(&shared.guest->code, page >> 12);

	*is_kept = is_writable ? 1 : 2;
	if (is_writable && !dec_guest_protect_bare(page, PAGE, PROT_READ))
		*is_kept = 2;
}

/* ---- turns ----------------------------------------------------------------------------------- */

void dec_shared_begin_turn(void)
{
	for (size_t i = 0; i < shared.n_pages; i++) {
		uint8_t *is_kept = shared_find(shared.page[i].addr);

		if (is_kept && !*is_kept)
			shared_keep(shared.page[i].addr, is_kept);
	}
	shared.n_pages = shared.gone.size = 0;
}

static uint64_t shared_word(const uint8_t *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* @return how many bytes of @p a and @p b, of a page, from @p at on are equal, in words. */
static uint64_t shared_same(const uint8_t *a, const uint8_t *b, uint64_t at)
{
	uint64_t end = at;

	while (end < PAGE && shared_word(a + end) == shared_word(b + end))
		end += 8;
	return end - at;
}

/* The next change in @p page from @p *at on. @return its size; 0: there is none. */
static uint64_t shared_next(const struct shared_page *page, uint64_t *at)
{
	const uint8_t *now = (const uint8_t *)page->addr;
	uint64_t end, same;

	*at += shared_same(now, page->bytes, *at);
	for (end = *at; end < PAGE; end += same) {
		while (end < PAGE &&
		       shared_word(now + end) != shared_word(page->bytes + end))
			end += 8;
		same = shared_same(now, page->bytes, end);
		if (same > NEAR || end + same == PAGE)
			break;
	}
	return end - *at;
}

static const struct dec_share *shared_share(uint64_t page)
{
	const struct shared_range *in =
		vec_find(&ranges, r, page >= r->of.start && page < r->of.end);

	return in ? &in->of : NULL;
}

/* Put the next change of page @p i, from @p *at in it on, into @p buf. @return its bytes there; 0: there
 * is none, or (@p is_full) it needs more than @p size. */
static size_t shared_tell(size_t i, uint64_t *at, uint8_t *buf, size_t size,
			  bool *is_full)
{
	const struct shared_page *p = &shared.page[i];
	const struct dec_share *s = shared_share(p->addr);
	struct dec_change c;

	*is_full = false;
	if (!s || !dec_guest_avail(shared.guest, p->addr, PROT_READ))
		return 0;
	c.size = shared_next(p, at);
	c.key = s->key;
	c.offset = s->offset + (p->addr - s->start) + *at;
	*is_full = c.size && sizeof(c) + c.size > size;
	if (!c.size || *is_full)
		return 0;
	memcpy(buf, &c, sizeof(c));
	memcpy(buf + sizeof(c), (const uint8_t *)p->addr + *at, c.size);
	*at += c.size;
	return sizeof(c) + c.size;
}

/* The next one of those that are gone, likewise. */
static size_t shared_tell_gone(uint8_t *buf, size_t size)
{
	const uint8_t *from = shared.gone.data + shared.told_gone;
	struct dec_change c;

	memcpy(&c, from, sizeof(c));
	if (sizeof(c) + c.size > size)
		return 0;
	memcpy(buf, from, sizeof(c) + c.size);
	shared.told_gone += sizeof(c) + c.size;
	return sizeof(c) + c.size;
}

size_t dec_shared_changes(bool is_first, uint8_t *buf, size_t size)
{
	size_t used = 0, n;
	bool is_full;

	if (is_first)
		shared.told_gone = shared.told = shared.told_bytes = 0;
	while (shared.told_gone < shared.gone.size) {
		n = shared_tell_gone(buf + used, size - used);
		if (!n)
			return used;
		used += n;
	}
	for (; shared.told < shared.n_pages; shared.told++, shared.told_bytes = 0) {
		while ((n = shared_tell(shared.told, &shared.told_bytes, buf + used,
					size - used, &is_full)))
			used += n;
		if (is_full)
			break;
	}
	return used;
}

/* What was stored to in [start, end), where the guest is about to have something else. */
static struct err *shared_let_go(uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < shared.n_pages; i++) {
		uint8_t change[sizeof(struct dec_change) + PAGE];
		uint64_t at = 0;
		bool is_full;
		size_t n;

		if (shared.page[i].addr < start || shared.page[i].addr >= end)
			continue;
		while ((n = shared_tell(i, &at, change, sizeof(change), &is_full))) {
			if (vec_reserve(&shared.gone, shared.gone.size + n))
				return &err_nomem;
			memcpy(shared.gone.data + shared.gone.size, change, n);
			shared.gone.size += n;
		}
		// Nothing of it is to be told once more: what was kept is what is there.
		shared.page[i].addr = 0;
	}
	return NULL;
}

bool dec_shared_has_lost(void)
{
	return shared.has_lost;
}

/* ---- which there are ------------------------------------------------------------------------- */

static struct err *shared_init(struct dec_guest *g)
{
	if (shared.guest)
		return NULL;
	shared.page = mmap(NULL, PAGES_MAX * sizeof(*shared.page), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (shared.page == MAP_FAILED)
		return err_errno("cannot keep what is shared");
	shared.guest = g;
	dec_closed_drop(g);
	g->remapping = shared_on_remap;
	dec_engine_ask_first(shared_on_fault);
	return NULL;
}

struct err *dec_shared_add(struct dec_guest *g, const struct dec_share *s)
{
	struct shared_range r = { *s, calloc((s->end - s->start) / PAGE + 1, 1) };
	struct err *err = shared_init(g);

	if (!err)
		err = dec_shared_cut(s->start, s->end);
	if (!err && (!r.is_kept || vec_add(&ranges, r)))
		err = &err_nomem;
	if (err) {
		free(r.is_kept);
		return err;
	}
	for (uint64_t at = s->start; at < s->end; at += PAGE)
		shared_keep(at, &r.is_kept[(at - s->start) / PAGE]);
	return NULL;
}

struct err *dec_shared_cut(uint64_t start, uint64_t end)
{
	struct err *err = ranges.size ? shared_let_go(start, end) : NULL;

	for (size_t i = 0; !err && i < ranges.size; i++) {
		struct shared_range *r = &ranges.data[i], rest = *r;

		if (r->of.start >= end || r->of.end <= start)
			continue;
		rest.is_kept += end > r->of.start ? (end - r->of.start) / PAGE : 0;
		rest.of.offset += end - r->of.start;
		rest.of.start = end;
		if (r->of.start < start)
			r->of.end = start;
		else
			*r = ranges.data[--ranges.size], i--;
		if (rest.of.start < rest.of.end)
			err = vec_add(&ranges, rest);
	}
	return err;
}

struct err *dec_shared_move(uint64_t from, uint64_t size, uint64_t to)
{
	for (size_t i = 0, n = ranges.size; i < n; i++) {
		struct shared_range r = ranges.data[i];

		if (r.of.start >= from + size || r.of.end <= from)
			continue;
		if (r.of.start < from) {
			r.is_kept += (from - r.of.start) / PAGE;
			r.of.offset += from - r.of.start;
			r.of.start = from;
		}
		if (r.of.end > from + size)
			r.of.end = from + size;
		r.of.start += to - from;
		r.of.end += to - from;
		if (vec_add(&ranges, r))
			return &err_nomem;
		// What has been stored to is told by where it is now.
		for (size_t k = 0; k < shared.n_pages; k++)
			if (shared.page[k].addr >= from &&
			    shared.page[k].addr < from + size)
				shared.page[k].addr += to - from;
	}
	return NULL;
}

size_t dec_shared_list(size_t from, struct dec_share *ret, size_t max)
{
	size_t n = 0;

	while (n < max && from + n < ranges.size) {
		ret[n] = ranges.data[from + n].of;
		n++;
	}
	return n;
}
