// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/history/heap_mute.h"

#define PAGE DEC_HEAP_PLAIN_BYTES

// Smaller blocks have no page to themselves.
#define LARGE (3 * PAGE)

void dec_heap_mute_deinit(struct heap_mute *m)
{
	vec_deinit(&m->large);
	vec_deinit(&m->data);
	map_deinit(&m->releases);
}

/* Index of the first large block that ends behind @p addr. */
static size_t mute_rank(const struct heap_mute *m, uint64_t addr)
{
	return vec_rank(m->large.size, i, m->large.data[i].end <= addr);
}

static void mute_forget(struct heap_mute *m, size_t i)
{
	memmove(&m->large.data[i], &m->large.data[i + 1],
		(m->large.size - i - 1) * sizeof(m->large.data[0]));
	m->large.size--;
}

struct err *dec_heap_mute_alloc(struct heap_mute *m, uint64_t addr, uint64_t size)
{
	struct heap_large made = { addr, addr + size, false };
	size_t i = mute_rank(m, addr);

	if (size > UINT64_MAX - addr)
		return NULL;
	m->is_doubtful |= vec_find(&m->data, d, addr < d->end && d->start < made.end) !=
			  NULL;
	// Its release was not seen.
	while (i < m->large.size && m->large.data[i].start < made.end) {
		m->is_doubtful |= m->large.data[i].is_muted;
		mute_forget(m, i);
	}
	if (size < LARGE)
		return NULL;
	if (!vec_push(&m->large))
		return &err_nomem;
	memmove(&m->large.data[i + 1], &m->large.data[i],
		(m->large.size - 1 - i) * sizeof(made));
	m->large.data[i] = made;
	return NULL;
}

void dec_heap_mute_release(struct heap_mute *m, uint64_t addr)
{
	size_t i = mute_rank(m, addr);

	if (i < m->large.size && m->large.data[i].start == addr)
		mute_forget(m, i);
}

struct err *dec_heap_mute_watch(struct heap_mute *m, struct dec_machine *machine)
{
	uint64_t entry[64];
	size_t n = dec_heap_calls_releases(m->calls, entry, 64);
	struct err *err = NULL;

	// Without all of them nothing may be muted.
	if (n > 64)
		m->is_off = true;
	for (size_t i = 0; i < n && i < 64 && !err; i++) {
		if (map_get(&m->releases, entry[i]))
			continue;
		if (map_put(&m->releases, entry[i], 1))
			return &err_nomem;
		err = dec_machine_log_release_at(machine, entry[i]);
	}
	return err;
}

static void mute_add(struct heap_mute *m, uint64_t page, uint64_t owner)
{
	if (m->n < HEAP_MUTES)
		m->of[m->n++] = (struct dec_mute){ page, owner };
}

/* Is the page that of a module's data, in which no allocator lies? */
static bool mute_is_data(struct heap_mute *m, uint64_t addr)
{
	struct dec_span s;

	if (!dec_symbols_extent(m->symbols, addr, &s.start, &s.end) ||
	    addr + PAGE + DEC_MUTE_BEYOND > s.end ||
	    dec_heap_calls_lie_in(m->calls, s.start, s.end))
		return false;
	return vec_find(&m->data, d, d->start == s.start) || !vec_add(&m->data, s);
}

static void mute_plain(struct heap_mute *m, uint64_t page)
{
	uint64_t addr = page * PAGE;
	size_t i = mute_rank(m, addr);
	struct heap_large *b = i < m->large.size ? &m->large.data[i] : NULL;

	if (b && b->start <= addr && addr + PAGE + DEC_MUTE_BEYOND <= b->end) {
		mute_add(m, page, b->start);
		b->is_muted = true;
	} else if (mute_is_data(m, addr)) {
		mute_add(m, page, DEC_MUTE_KEPT);
	}
}

struct err *dec_heap_mute(struct heap_mute *m, struct dec_machine *machine)
{
	uint64_t top = m->stores->stack_end / PAGE, low = m->stores->stack_start / PAGE;

	if (m->is_off)
		return NULL;
	m->n = 0;
	for (size_t i = 0; m->plain && i < DEC_HEAP_PLAINS; i++)
		if (m->plain[i].number != UINT64_MAX)
			mute_plain(m, m->plain[i].number);
	while (top > low && m->n < HEAP_MUTES)
		mute_add(m, --top, DEC_MUTE_DROPPED);
	return m->n ? dec_machine_mute(machine, m->of, m->n) : NULL;
}
