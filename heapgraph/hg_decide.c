// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Algorithm 2: what each access, and each pointer that becomes known, says about the nodes.
 */
#include "heapgraph/hg_pieces_int.h"

// Places whose splits turned out to be none so often, and mostly, make no more of them.
#define BLAME_FROM 4

/* ---- Split_Node -------------------------------------------------------------------------- */

// Head `number` is within piece x of its source: it takes what it needs, up to end.
static void carve(struct hg_pieces *p, uint32_t x, uint32_t number, uint64_t end)
{
	struct hg_piece whole = *hg_piece_of(p, x);
	struct hg_head *h = hg_head_of(p, number);
	uint64_t time = h->born > whole.born ? h->born : whole.born;
	uint64_t from = h->addr > whole.start ? h->addr : whole.start;
	uint32_t before = whole.start ? hg_index_floor(&p->live, whole.start - 1) : 0;
	struct hg_piece rest = {
		.born = time, .head = whole.head, .source = x, .is_remnant = true
	};

	if (end > whole.end)
		end = whole.end;
	if (before && hg_piece_owner(p, before) == number && whole.start >= h->addr) {
		// One more field of a part that there is already.
		if (end < whole.end) {
			hg_piece_move_start(p, x, end);
		} else {
			hg_piece_take_out(p, x);
			hg_piece_of(p, x)->is_void = true;
		}
		hg_piece_of(p, before)->end = end;
		return;
	}
	if (from == whole.start && !whole.is_remnant && !h->piece &&
	    hg_head_of(p, hg_piece_owner(p, x))->piece != x) {
		// What was reached before the pointer became known as a head.
		hg_piece_of(p, x)->head = number;
		h->piece = x;
		return;
	}
	hg_piece_end(p, x, time);
	if (whole.start < from) {
		rest.start = whole.start;
		rest.end = from;
		hg_head_of(p, hg_head_find(p, whole.head))->piece =
			hg_piece_add(p, &rest);
	}
	if (end < whole.end) {
		rest.start = end;
		rest.end = whole.end;
		hg_piece_add(p, &rest);
	}
	x = hg_piece_add(p, &(struct hg_piece){ .start = from,
						.end = end,
						.born = time,
						.head = number,
						.source = x });
	if (!h->piece)
		h->piece = x;
}

// Two parts of one source: what the first seemed to reach was the second's.
static void cut(struct hg_pieces *p, uint32_t x, uint32_t number)
{
	struct hg_piece *whole = hg_piece_of(p, x);
	struct hg_piece rest = { .start = hg_head_of(p, number)->addr,
				 .end = whole->end,
				 .born = hg_head_of(p, number)->born,
				 .head = number };

	whole->end = rest.start;
	hg_head_of(p, number)->piece = hg_piece_add(p, &rest);
}

// A pointer that only moves on, at the same place, splits nothing behind it.
static uint32_t move_cursor(struct hg_pieces *p, uint32_t from, uint64_t place)
{
	const struct hg_head *h = hg_head_of(p, from);
	uint32_t whole = hg_head_parent(p, from);

	if (!h->part || h->place != place || p->parts.data[h->part - 1].is_shared)
		return from;
	hg_piece_take_back(p, from, whole, false);
	return whole;
}

uint32_t hg_pieces_split(struct hg_pieces *p, uint64_t time, uint32_t from, uint64_t addr,
			 uint64_t size, uint64_t rip, uint64_t place)
{
	struct hg_head new = { .addr = addr,
			       .size_at_least = size,
			       .born = time,
			       .rip = rip,
			       .place = place };
	uint32_t known = hg_pieces_at(p, addr), x = hg_piece_at(p, addr);
	struct hg_blame b = hg_blame_of(p, place);

	p->now = time;
	from = hg_head_find(p, from);
	if (addr == hg_head_of(p, from)->addr)
		return from;
	from = move_cursor(p, from, place);
	if (known && hg_head_is_below(p, known, from))
		return known;
	if (b.wrong >= BLAME_FROM && 2 * b.wrong > b.made)
		return from;
	b.made++;
	hg_blame_set(p, place, b);
	if (vec_push(&p->parts))
		new.part = p->parts.size;
	new.parent = x &&hg_head_is_below(p, hg_piece_owner(p, x), from) ?
			     hg_piece_owner(p, x) :
			     from;
	return hg_head_add(p, &new);
}

/* ---- Merge_Nodes, and what only seems to be ------------------------------------------------ */

static void take_over(struct hg_pieces *p, uint32_t x, uint32_t number)
{
	uint32_t former = hg_piece_owner(p, x);
	const struct hg_head *ended = hg_head_released(p, former);

	hg_piece_end(p, x, ended ? ended->released : hg_head_of(p, number)->born);
	hg_piece_of(p, x)->taken_by = number;
	hg_head_of(p, former)->is_suspended = !ended;
}

uint32_t hg_pieces_begin(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t size,
			 uint64_t rip)
{
	uint32_t x = hg_piece_at(p, addr), next;
	uint32_t number = hg_head_add(p, &(struct hg_head){ .addr = addr,
							    .size_at_least = size,
							    .born = time,
							    .rip = rip });

	// Whatever is known to be there was given back, as it seems.
	if (number && x)
		take_over(p, x, number);
	while (number && hg_piece_next(p, addr, &next) < addr + size)
		take_over(p, next, number);
	return number;
}

uint32_t hg_pieces_meet(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t rip)
{
	uint32_t known = hg_pieces_at(p, addr), x;

	if (known)
		return known;
	x = hg_piece_at(p, addr);
	if (x && !hg_head_released(p, hg_piece_owner(p, x)))
		return hg_piece_owner(p, x);
	return hg_pieces_begin(p, time, addr, 0, rip);
}

// Head `number` reaches into piece x, which is another's. True: try again, things changed.
static bool meet_other(struct hg_pieces *p, uint64_t time, uint32_t number, uint32_t x,
		       uint64_t addr, uint64_t end, bool is_write)
{
	struct hg_head *h = hg_head_of(p, number);
	struct hg_piece *there = hg_piece_of(p, x);
	uint32_t other = hg_piece_owner(p, x);
	const struct hg_head *ended = hg_head_released(p, other);

	if (hg_head_is_below(p, other, number)) {
		if (is_write)
			return false;
		hg_piece_take_back(p, other, number, true);
		return true;
	}
	if (hg_head_is_below(p, number, other)) {
		if (addr < h->addr)
			return false;
		carve(p, x, number, end);
		return true;
	}
	if (ended && h->born >= ended->released) {
		take_over(p, x, number);
		return true;
	}
	if (h->born > there->born && h->addr >= there->start && h->addr < there->end) {
		if (h->parent && hg_head_parent(p, number) == hg_head_parent(p, other) &&
		    h->addr > there->start)
			cut(p, x, number);
		else
			take_over(p, x, number);
		return true;
	}
	if (!there->touched) {
		there->touched = time;
		there->toucher = number;
	}
	return false;
}

static void note_use(struct hg_pieces *p, const struct hg_head *h, uint64_t time,
		     uint32_t call)
{
	struct hg_part *t = &p->parts.data[h->part - 1];

	if (t->used_call != call) {
		t->used_before = t->used;
		t->used_before_call = t->used_call;
	}
	t->used = time;
	t->used_call = call;
}

void hg_pieces_access(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t addr,
		      uint64_t size, bool is_write, uint32_t call)
{
	uint32_t number = hg_head_find(p, head);
	struct hg_head *h = hg_head_of(p, number), *ended;
	uint64_t end = addr + size;

	if (end < addr)
		return;
	p->now = time;
	h->used = time;
	if (h->part)
		note_use(p, h, time, call);
	ended = hg_head_released(p, number);
	if (ended && ended->piece && hg_piece_is_live(hg_piece_of(p, ended->piece)))
		hg_head_unrelease(p, ended);
	if (h->is_suspended)
		hg_piece_revive(p, number);
	while (addr < end && !p->is_out_of_memory) {
		uint32_t x = hg_piece_at(p, addr), next;
		uint64_t stop;

		if (!x) {
			stop = hg_piece_next(p, addr, &next);
			stop = stop < end ? stop : end;
			hg_piece_grow(p, time, number, addr, stop);
		} else {
			if (hg_piece_owner(p, x) != number &&
			    meet_other(p, time, number, x, addr, end, is_write))
				continue;
			stop = hg_piece_of(p, x)->end;
		}
		addr = stop;
	}
}
