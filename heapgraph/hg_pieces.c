// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_pieces_int.h"

#define HINT_BYTES 32

struct hg_piece *hg_piece_of(const struct hg_pieces *p, uint32_t number)
{
	return &p->pieces.data[number - 1];
}

uint32_t hg_piece_owner(const struct hg_pieces *p, uint32_t piece)
{
	return hg_head_find(p, hg_piece_of(p, piece)->head);
}

bool hg_piece_is_live(const struct hg_piece *x)
{
	return !x->is_void && x->died == UINT64_MAX;
}

static bool covers(const struct hg_piece *x, uint64_t addr)
{
	return hg_piece_is_live(x) && addr >= x->start && addr < x->end;
}

uint32_t hg_piece_at(struct hg_pieces *p, uint64_t addr)
{
	uint32_t *hint = &p->hints[addr / HINT_BYTES % HG_PIECE_HINTS], number = *hint;

	if (number && covers(hg_piece_of(p, number), addr))
		return number;
	number = hg_index_floor(&p->live, addr);
	if (!number || !covers(hg_piece_of(p, number), addr))
		return 0;
	return *hint = number;
}

static void insert(struct hg_pieces *p, uint32_t number)
{
	if (hg_index_prepare(&p->live))
		p->is_out_of_memory = true;
	else
		hg_index_insert(&p->live, hg_piece_of(p, number)->start, number);
}

void hg_piece_take_out(struct hg_pieces *p, uint32_t number)
{
	uint64_t start = hg_piece_of(p, number)->start;

	// Not there when memory was out.
	if (hg_index_floor(&p->live, start) == number)
		hg_index_remove(&p->live, start);
}

void hg_piece_move_start(struct hg_pieces *p, uint32_t number, uint64_t start)
{
	hg_piece_take_out(p, number);
	hg_piece_of(p, number)->start = start;
	insert(p, number);
}

uint32_t hg_piece_add(struct hg_pieces *p, const struct hg_piece *piece)
{
	struct hg_piece *slot = vec_push(&p->pieces);

	if (!slot) {
		p->is_out_of_memory = true;
		return 0;
	}
	*slot = *piece;
	slot->died = UINT64_MAX;
	insert(p, p->pieces.size);
	return p->pieces.size;
}

void hg_piece_end(struct hg_pieces *p, uint32_t number, uint64_t time)
{
	struct hg_piece *x = hg_piece_of(p, number);

	hg_piece_take_out(p, number);
	x->died = time < x->born ? x->born : time;
}

uint64_t hg_piece_next(const struct hg_pieces *p, uint64_t addr, uint32_t *number)
{
	*number = hg_index_ceil(&p->live, addr);
	return *number ? hg_piece_of(p, *number)->start : UINT64_MAX;
}

// Two neighbours of the same head become one. Where a split made one of them, it is no
// longer as if they had been one from the beginning: they form a cluster.
static uint32_t join(struct hg_pieces *p, uint32_t low, uint32_t high)
{
	struct hg_piece *a = hg_piece_of(p, low), *b = hg_piece_of(p, high);
	uint32_t number = low;

	if (a->source || b->source) {
		struct hg_piece cluster = {
			.start = a->start, .end = b->end, .born = p->now, .head = a->head
		};

		hg_piece_end(p, low, p->now);
		hg_piece_end(p, high, p->now);
		number = hg_piece_add(p, &cluster);
		if (!number)
			return low;
		hg_piece_of(p, low)->cluster = number;
		hg_piece_of(p, high)->cluster = number;
	} else {
		hg_piece_take_out(p, high);
		b->is_void = true;
		a->end = b->end;
		if (b->born < a->born)
			a->born = b->born;
	}
	for (int i = 0; i < 2; i++) {
		struct hg_head *h = hg_head_of(p, hg_piece_owner(p, i ? low : high));

		if (h->piece == high || h->piece == low)
			h->piece = number;
	}
	return number;
}

// Join piece `number` with its neighbours where they are its own head's.
static void join_neighbours(struct hg_pieces *p, uint32_t number)
{
	uint32_t other;

	if (hg_piece_of(p, number)->start) {
		other = hg_index_floor(&p->live, hg_piece_of(p, number)->start - 1);
		if (other && hg_piece_owner(p, other) == hg_piece_owner(p, number))
			number = join(p, other, number);
	}
	hg_piece_next(p, hg_piece_of(p, number)->start + 1, &other);
	if (other && hg_piece_owner(p, other) == hg_piece_owner(p, number))
		join(p, number, other);
}

bool hg_pieces_holds(struct hg_pieces *p, uint32_t head, uint64_t addr)
{
	uint32_t x = hg_piece_at(p, addr);

	return hg_pieces_addr(p, head) == addr ||
	       (x && hg_pieces_is_kin(p, hg_piece_owner(p, x), head));
}

bool hg_pieces_is_fresh(const struct hg_pieces *p, uint32_t head, uint64_t addr)
{
	uint32_t floor = hg_index_floor(&p->live, addr), next;

	if (floor && covers(hg_piece_of(p, floor), addr))
		return false;
	hg_piece_next(p, addr, &next);
	return !next || hg_piece_owner(p, next) != hg_head_find(p, head);
}

// Piece x is head `number`'s, and begins at addr: from its head on, if that has none yet.
static void grow_down(struct hg_pieces *p, uint32_t number, uint32_t x, uint64_t addr)
{
	struct hg_head *h = hg_head_of(p, number);
	uint32_t floor;

	if (!h->piece) {
		floor = addr ? hg_index_floor(&p->live, addr - 1) : 0;
		if (addr > h->addr && (!floor || hg_piece_of(p, floor)->end <= h->addr))
			addr = h->addr;
		hg_piece_of(p, x)->born = h->born;
		h->piece = x;
	}
	hg_piece_move_start(p, x, addr);
}

/* ---- taking back ------------------------------------------------------------------------ */

void hg_piece_take_back(struct hg_pieces *p, uint32_t part, uint32_t whole, bool is_wrong)
{
	uint64_t place = hg_head_of(p, part)->place;
	struct hg_blame b = hg_blame_of(p, place);
	uint32_t piece = hg_head_of(p, part)->piece;

	b.wrong += is_wrong;
	hg_blame_set(p, place, b);
	hg_head_unite(p, part, whole);
	if (!piece || !hg_piece_is_live(hg_piece_of(p, piece)))
		return;
	if (!hg_head_of(p, whole)->piece && hg_piece_of(p, piece)->start)
		grow_down(p, whole, piece, hg_piece_of(p, piece)->start);
	join_neighbours(p, piece);
}

// The pieces that lie where x wants to be again. False: they are not to be moved.
static bool make_way(struct hg_pieces *p, struct hg_piece *x, uint32_t head)
{
	uint32_t other = hg_index_floor(&p->live, x->start);

	if (!other || hg_piece_of(p, other)->end <= x->start)
		hg_piece_next(p, x->start, &other);
	while (other && hg_piece_of(p, other)->start < x->end) {
		struct hg_piece *y = hg_piece_of(p, other);

		if (hg_piece_owner(p, other) != head) {
			if (y->start <= x->start)
				return false;
			x->end = y->start;
			return true;
		}
		hg_piece_take_out(p, other);
		y->is_void = true;
		if (y->start < x->start)
			x->start = y->start;
		if (y->end > x->end)
			x->end = y->end;
		hg_piece_next(p, y->end, &other);
	}
	return true;
}

void hg_piece_revive(struct hg_pieces *p, uint32_t number)
{
	struct hg_head *h = hg_head_of(p, number);
	struct hg_piece *x;
	uint32_t taker;

	h->is_suspended = false;
	if (!h->piece)
		return;
	x = hg_piece_of(p, h->piece);
	if (hg_piece_is_live(x) || x->is_void || !x->taken_by)
		return;
	taker = hg_head_find(p, x->taken_by);
	if (taker <= number || hg_head_released(p, taker)) // an older one has it
		return;
	if (hg_head_of(p, taker)->is_suspended)
		hg_piece_revive(p, taker);
	hg_head_unite(p, taker, number);
	if (!make_way(p, x, number))
		return;
	x->taken_by = 0;
	x->died = UINT64_MAX;
	insert(p, h->piece);
}

/* ---- Create_Node, Join_Addresses --------------------------------------------------------- */

static void add_first_piece(struct hg_pieces *p, uint32_t number, uint64_t addr,
			    uint64_t end)
{
	struct hg_head *h = hg_head_of(p, number);
	uint32_t floor = hg_index_floor(&p->live, addr), next;
	uint64_t start = addr, limit, wanted = h->addr + h->size_at_least;

	if (addr > h->addr && (!floor || hg_piece_of(p, floor)->end <= h->addr))
		start = h->addr;
	if (start == h->addr && wanted > end) {
		for (limit = hg_piece_next(p, end, &next); limit < wanted;
		     limit = hg_piece_next(p, end, &next)) {
			struct hg_head *other =
				hg_head_released(p, hg_piece_owner(p, next));

			if (!other)
				break;
			hg_piece_end(p, next, other->released);
		}
		end = wanted < limit ? wanted : limit;
	}
	h->piece = hg_piece_add(
		p, &(struct hg_piece){
			   .start = start, .end = end, .born = h->born, .head = number });
}

void hg_piece_grow(struct hg_pieces *p, uint64_t time, uint32_t number, uint64_t addr,
		   uint64_t end)
{
	uint32_t floor = hg_index_floor(&p->live, addr), next;

	if (floor && hg_piece_owner(p, floor) == number) {
		hg_piece_of(p, floor)->end = end;
		join_neighbours(p, floor);
		return;
	}
	hg_piece_next(p, addr, &next);
	// What is in front of a part is its source's: an allocator's header.
	if (addr < hg_head_of(p, number)->addr && hg_head_parent(p, number))
		hg_piece_grow(p, time, hg_head_parent(p, number), addr, end);
	else if (next && hg_piece_owner(p, next) == number)
		grow_down(p, number, next, addr);
	else if (!hg_head_of(p, number)->piece)
		add_first_piece(p, number, addr, end);
	else
		hg_piece_add(p, &(struct hg_piece){ .start = addr,
						    .end = end,
						    .born = time,
						    .head = number });
}

void hg_pieces_keep(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t place)
{
	uint32_t number = hg_head_find(p, head);
	const struct hg_head *h = hg_head_of(p, number);

	p->now = time;
	if (h->part && h->place != place)
		p->parts.data[h->part - 1].is_shared = true;
	// A part may also be an end: one byte behind what there is.
	if (!h->parent && !h->piece && !hg_piece_at(p, h->addr))
		hg_piece_grow(p, time, number, h->addr, h->addr + 1);
}
