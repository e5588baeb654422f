// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_pieces.h"

#include <assert.h>

#include "heapgraph/hg_index.h"

#define HINTS 4096
#define HINT_BYTES 32

// Places whose splits turned out to be none so often, and mostly, make no more of them.
#define BLAME_FROM 4

/* Where a node begins. */
struct head {
	uint64_t addr, size_at_least;
	uint64_t born, rip, place;
	uint64_t used;			///< last access by its pointers
	uint64_t released, release_rip; ///< 0: not
	uint32_t parent;		///< the head it was split off from
	uint32_t same;			///< it turned out to be this one; 0: itself
	uint32_t part;	   ///< number of its struct part; 0: it has no parent
	uint32_t piece;	   ///< number of the one that begins at addr; 0: none yet
	bool is_suspended; ///< its piece was taken over, without a release
};

/* The comings and goings of a head that was split off. */
struct part {
	uint64_t given, giver; ///< first time, and by which function; 0: never
	uint64_t passed, passed_to, passed_rip; ///< last time it was an argument
	uint64_t used,
		used_before; ///< last access, and last one by another call than that
	uint32_t passed_call, used_call, used_before_call;
	bool is_shared; ///< given, or stored by another instruction than the one that made it
};

/* A part was given out once more. */
struct reissue {
	uint64_t released, release_rip,
		release_fn; ///< fn 0: nothing is known to have ended it
	uint64_t time, rip, giver;
	uint32_t head;
};

struct piece {
	uint64_t start, end;
	uint64_t born, died;
	uint64_t touched; ///< first access from elsewhere; 0: none
	uint32_t head, source;
	uint32_t cluster;  ///< piece that it was merged into when it died
	uint32_t toucher;  ///< whose
	uint32_t taken_by; ///< head that has its memory since it died
	bool is_void;	   ///< absorbed by another
	bool is_remnant;   ///< what a split left
};

/* How often a place made a head, and how often that was wrong. */
struct blame {
	uint32_t made, wrong;
};

struct hg_pieces {
	VEC(struct head) heads;	      ///< number - 1
	VEC(struct piece) pieces;     ///< number - 1
	VEC(struct part) parts;	      ///< number - 1
	VEC(struct reissue) reissues; ///< in order of time
	struct hg_index live;	      ///< start -> piece
	struct map at;		      ///< address -> latest head
	struct map places;	      ///< address of an instruction -> struct blame
	uint32_t hints[HINTS];	      ///< pieces met lately, by address
	uint64_t now;
	bool is_out_of_memory;
};

struct err *hg_pieces_create(struct hg_pieces **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? NULL : &err_nomem;
}

void hg_pieces_destroy(struct hg_pieces *p)
{
	if (!p)
		return;
	vec_deinit(&p->heads);
	vec_deinit(&p->pieces);
	vec_deinit(&p->parts);
	vec_deinit(&p->reissues);
	hg_index_deinit(&p->live);
	map_deinit(&p->at);
	map_deinit(&p->places);
	free(p);
}

void hg_pieces_destroyp(struct hg_pieces **p)
{
	hg_pieces_destroy(*p);
}

bool hg_pieces_is_out_of_memory(const struct hg_pieces *p)
{
	return p->is_out_of_memory;
}

/* ---- heads ------------------------------------------------------------------------------ */

static struct head *head_of(const struct hg_pieces *p, uint32_t number)
{
	return &p->heads.data[number - 1];
}

// What head `number` turned out to be.
static uint32_t find(const struct hg_pieces *p, uint32_t number)
{
	uint32_t top = number;

	while (head_of(p, top)->same)
		top = head_of(p, top)->same;
	while (number != top) {
		uint32_t next = head_of(p, number)->same;

		head_of(p, number)->same = top;
		number = next;
	}
	return top;
}

static uint32_t parent_of(const struct hg_pieces *p, uint32_t head)
{
	uint32_t parent = head_of(p, head)->parent;

	return parent ? find(p, parent) : 0;
}

// Was `head` split off from `other`, or from what was?
static bool is_below(const struct hg_pieces *p, uint32_t head, uint32_t other)
{
	while ((head = parent_of(p, head)))
		if (head == other)
			return true;
	return false;
}

static uint32_t add_head(struct hg_pieces *p, const struct head *head)
{
	struct head *slot = vec_push(&p->heads);

	if (!slot || map_put(&p->at, head->addr, p->heads.size)) {
		p->is_out_of_memory = true;
		return 0;
	}
	*slot = *head;
	return p->heads.size;
}

uint64_t hg_pieces_addr(const struct hg_pieces *p, uint32_t head)
{
	return head_of(p, find(p, head))->addr;
}

bool hg_pieces_is_same(const struct hg_pieces *p, uint32_t a, uint32_t b)
{
	return find(p, a) == find(p, b);
}

bool hg_pieces_is_kin(const struct hg_pieces *p, uint32_t a, uint32_t b)
{
	a = find(p, a);
	b = find(p, b);
	return a == b || is_below(p, a, b) || is_below(p, b, a);
}

// The head that ended, of `head` and those it was split off from; NULL: none.
static struct head *released_of(const struct hg_pieces *p, uint32_t head)
{
	for (; head; head = parent_of(p, head))
		if (head_of(p, head)->released)
			return head_of(p, head);
	return NULL;
}

bool hg_pieces_is_released(const struct hg_pieces *p, uint32_t head)
{
	return released_of(p, find(p, head)) != NULL;
}

uint32_t hg_pieces_at(const struct hg_pieces *p, uint64_t addr)
{
	const uint64_t *number = map_get(&p->at, addr);
	uint32_t head = number ? find(p, *number) : 0;

	return head && head_of(p, head)->addr == addr && !released_of(p, head) ? head : 0;
}

void hg_pieces_release(struct hg_pieces *p, uint64_t time, uint32_t number, uint64_t rip)
{
	struct head *h = head_of(p, find(p, number));

	if (h->released)
		return;
	h->released = time;
	h->release_rip = rip;
}

/* ---- pieces ----------------------------------------------------------------------------- */

static struct piece *piece_of(const struct hg_pieces *p, uint32_t number)
{
	return &p->pieces.data[number - 1];
}

static uint32_t owner_of(const struct hg_pieces *p, uint32_t piece)
{
	return find(p, piece_of(p, piece)->head);
}

static bool is_live(const struct piece *x)
{
	return !x->is_void && x->died == UINT64_MAX;
}

static bool covers(const struct piece *x, uint64_t addr)
{
	return is_live(x) && addr >= x->start && addr < x->end;
}

// The piece at addr; 0: none.
static uint32_t piece_at(struct hg_pieces *p, uint64_t addr)
{
	uint32_t *hint = &p->hints[addr / HINT_BYTES % HINTS], number = *hint;

	if (number && covers(piece_of(p, number), addr))
		return number;
	number = hg_index_floor(&p->live, addr);
	if (!number || !covers(piece_of(p, number), addr))
		return 0;
	return *hint = number;
}

static void insert(struct hg_pieces *p, uint32_t number)
{
	if (hg_index_prepare(&p->live))
		p->is_out_of_memory = true;
	else
		hg_index_insert(&p->live, piece_of(p, number)->start, number);
}

static void take_out(struct hg_pieces *p, uint32_t number)
{
	uint64_t start = piece_of(p, number)->start;

	// Not there when memory was out.
	if (hg_index_floor(&p->live, start) == number)
		hg_index_remove(&p->live, start);
}

static void move_start(struct hg_pieces *p, uint32_t number, uint64_t start)
{
	take_out(p, number);
	piece_of(p, number)->start = start;
	insert(p, number);
}

static uint32_t add_piece(struct hg_pieces *p, const struct piece *piece)
{
	struct piece *slot = vec_push(&p->pieces);

	if (!slot) {
		p->is_out_of_memory = true;
		return 0;
	}
	*slot = *piece;
	slot->died = UINT64_MAX;
	insert(p, p->pieces.size);
	return p->pieces.size;
}

static void end_piece(struct hg_pieces *p, uint32_t number, uint64_t time)
{
	struct piece *x = piece_of(p, number);

	take_out(p, number);
	x->died = time < x->born ? x->born : time;
}

// The first piece that starts at addr or above; its start, or UINT64_MAX.
static uint64_t next_start(const struct hg_pieces *p, uint64_t addr, uint32_t *number)
{
	*number = hg_index_ceil(&p->live, addr);
	return *number ? piece_of(p, *number)->start : UINT64_MAX;
}

// Two neighbours of the same head become one. Where a split made one of them, it is no
// longer as if they had been one from the beginning: they form a cluster.
static uint32_t join(struct hg_pieces *p, uint32_t low, uint32_t high)
{
	struct piece *a = piece_of(p, low), *b = piece_of(p, high);
	uint32_t number = low;

	if (a->source || b->source) {
		struct piece cluster = {
			.start = a->start, .end = b->end, .born = p->now, .head = a->head
		};

		end_piece(p, low, p->now);
		end_piece(p, high, p->now);
		number = add_piece(p, &cluster);
		if (!number)
			return low;
		piece_of(p, low)->cluster = number;
		piece_of(p, high)->cluster = number;
	} else {
		take_out(p, high);
		b->is_void = true;
		a->end = b->end;
		if (b->born < a->born)
			a->born = b->born;
	}
	for (int i = 0; i < 2; i++) {
		struct head *h = head_of(p, owner_of(p, i ? low : high));

		if (h->piece == high || h->piece == low)
			h->piece = number;
	}
	return number;
}

// Join piece `number` with its neighbours where they are its own head's.
static void join_neighbours(struct hg_pieces *p, uint32_t number)
{
	uint32_t other;

	if (piece_of(p, number)->start) {
		other = hg_index_floor(&p->live, piece_of(p, number)->start - 1);
		if (other && owner_of(p, other) == owner_of(p, number))
			number = join(p, other, number);
	}
	next_start(p, piece_of(p, number)->start + 1, &other);
	if (other && owner_of(p, other) == owner_of(p, number))
		join(p, number, other);
}

bool hg_pieces_holds(struct hg_pieces *p, uint32_t head, uint64_t addr)
{
	uint32_t x = piece_at(p, addr);

	return hg_pieces_addr(p, head) == addr ||
	       (x && hg_pieces_is_kin(p, owner_of(p, x), head));
}

bool hg_pieces_is_fresh(const struct hg_pieces *p, uint32_t head, uint64_t addr)
{
	uint32_t floor = hg_index_floor(&p->live, addr), next;

	if (floor && covers(piece_of(p, floor), addr))
		return false;
	next_start(p, addr, &next);
	return !next || owner_of(p, next) != find(p, head);
}

// Piece x is head `number`'s, and begins at addr: from its head on, if that has none yet.
static void grow_down(struct hg_pieces *p, uint32_t number, uint32_t x, uint64_t addr)
{
	struct head *h = head_of(p, number);
	uint32_t floor;

	if (!h->piece) {
		floor = addr ? hg_index_floor(&p->live, addr - 1) : 0;
		if (addr > h->addr && (!floor || piece_of(p, floor)->end <= h->addr))
			addr = h->addr;
		piece_of(p, x)->born = h->born;
		h->piece = x;
	}
	move_start(p, x, addr);
}

/* ---- taking back ------------------------------------------------------------------------ */

static struct blame blame_of(const struct hg_pieces *p, uint64_t place)
{
	const uint64_t *known = map_get(&p->places, place);

	return known ? (struct blame){ *known >> 32, (uint32_t)*known } :
		       (struct blame){ 0, 0 };
}

static void set_blame(struct hg_pieces *p, uint64_t place, struct blame b)
{
	if (map_put(&p->places, place, (uint64_t)b.made << 32 | b.wrong))
		p->is_out_of_memory = true;
}

// Head `part` is none: it is a field of `whole`. @is_wrong: its place is to blame.
static void take_back_split(struct hg_pieces *p, uint32_t part, uint32_t whole,
			    bool is_wrong)
{
	uint64_t place = head_of(p, part)->place;
	struct blame b = blame_of(p, place);
	uint32_t piece = head_of(p, part)->piece;

	b.wrong += is_wrong;
	set_blame(p, place, b);
	head_of(p, part)->same = whole;
	if (!piece || !is_live(piece_of(p, piece)))
		return;
	if (!head_of(p, whole)->piece && piece_of(p, piece)->start)
		grow_down(p, whole, piece, piece_of(p, piece)->start);
	join_neighbours(p, piece);
}

// The pieces that lie where x wants to be again. False: they are not to be moved.
static bool make_way(struct hg_pieces *p, struct piece *x, uint32_t head)
{
	uint32_t other = hg_index_floor(&p->live, x->start);

	if (!other || piece_of(p, other)->end <= x->start)
		next_start(p, x->start, &other);
	while (other && piece_of(p, other)->start < x->end) {
		struct piece *y = piece_of(p, other);

		if (owner_of(p, other) != head) {
			if (y->start <= x->start)
				return false;
			x->end = y->start;
			return true;
		}
		take_out(p, other);
		y->is_void = true;
		if (y->start < x->start)
			x->start = y->start;
		if (y->end > x->end)
			x->end = y->end;
		next_start(p, y->end, &other);
	}
	return true;
}

// Head `number` is still used, though its piece was taken over: whoever has it was no other.
static void revive(struct hg_pieces *p, uint32_t number)
{
	struct head *h = head_of(p, number);
	struct piece *x;
	uint32_t taker;

	h->is_suspended = false;
	if (!h->piece)
		return;
	x = piece_of(p, h->piece);
	if (is_live(x) || x->is_void || !x->taken_by)
		return;
	taker = find(p, x->taken_by);
	if (taker == number || released_of(p, taker))
		return;
	if (head_of(p, taker)->is_suspended)
		revive(p, taker);
	head_of(p, taker)->same = number;
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
	struct head *h = head_of(p, number);
	uint32_t floor = hg_index_floor(&p->live, addr), next;
	uint64_t start = addr, limit, wanted = h->addr + h->size_at_least;

	if (addr > h->addr && (!floor || piece_of(p, floor)->end <= h->addr))
		start = h->addr;
	if (start == h->addr && wanted > end) {
		for (limit = next_start(p, end, &next); limit < wanted;
		     limit = next_start(p, end, &next)) {
			struct head *other = released_of(p, owner_of(p, next));

			if (!other)
				break;
			end_piece(p, next, other->released);
		}
		end = wanted < limit ? wanted : limit;
	}
	h->piece = add_piece(
		p, &(struct piece){
			   .start = start, .end = end, .born = h->born, .head = number });
}

// Nobody has [addr, end): head `number` reaches it now.
static void grow(struct hg_pieces *p, uint64_t time, uint32_t number, uint64_t addr,
		 uint64_t end)
{
	uint32_t floor = hg_index_floor(&p->live, addr), next;

	if (floor && owner_of(p, floor) == number) {
		piece_of(p, floor)->end = end;
		join_neighbours(p, floor);
		return;
	}
	next_start(p, addr, &next);
	// What is in front of a part is its source's: an allocator's header.
	if (addr < head_of(p, number)->addr && parent_of(p, number))
		grow(p, time, parent_of(p, number), addr, end);
	else if (next && owner_of(p, next) == number)
		grow_down(p, number, next, addr);
	else if (!head_of(p, number)->piece)
		add_first_piece(p, number, addr, end);
	else
		add_piece(p, &(struct piece){ .start = addr,
					      .end = end,
					      .born = time,
					      .head = number });
}

void hg_pieces_keep(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t place)
{
	uint32_t number = find(p, head);
	const struct head *h = head_of(p, number);

	p->now = time;
	if (h->part && h->place != place)
		p->parts.data[h->part - 1].is_shared = true;
	// A part may also be an end: one byte behind what there is.
	if (!h->parent && !h->piece && !piece_at(p, h->addr))
		grow(p, time, number, h->addr, h->addr + 1);
}

/* ---- Split_Node -------------------------------------------------------------------------- */

// Head `number` is within piece x of its source: it takes what it needs, up to end.
static void carve(struct hg_pieces *p, uint32_t x, uint32_t number, uint64_t end)
{
	struct piece whole = *piece_of(p, x);
	struct head *h = head_of(p, number);
	uint64_t time = h->born > whole.born ? h->born : whole.born;
	uint64_t from = h->addr > whole.start ? h->addr : whole.start;
	uint32_t before = whole.start ? hg_index_floor(&p->live, whole.start - 1) : 0;
	struct piece rest = {
		.born = time, .head = whole.head, .source = x, .is_remnant = true
	};

	if (end > whole.end)
		end = whole.end;
	if (before && owner_of(p, before) == number && whole.start >= h->addr) {
		// One more field of a part that there is already.
		if (end < whole.end) {
			move_start(p, x, end);
		} else {
			take_out(p, x);
			piece_of(p, x)->is_void = true;
		}
		piece_of(p, before)->end = end;
		return;
	}
	if (from == whole.start && !whole.is_remnant && !h->piece &&
	    head_of(p, owner_of(p, x))->piece != x) {
		// What was reached before the pointer became known as a head.
		piece_of(p, x)->head = number;
		h->piece = x;
		return;
	}
	end_piece(p, x, time);
	if (whole.start < from) {
		rest.start = whole.start;
		rest.end = from;
		head_of(p, find(p, whole.head))->piece = add_piece(p, &rest);
	}
	if (end < whole.end) {
		rest.start = end;
		rest.end = whole.end;
		add_piece(p, &rest);
	}
	x = add_piece(p, &(struct piece){ .start = from,
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
	struct piece *whole = piece_of(p, x);
	struct piece rest = { .start = head_of(p, number)->addr,
			      .end = whole->end,
			      .born = head_of(p, number)->born,
			      .head = number };

	whole->end = rest.start;
	head_of(p, number)->piece = add_piece(p, &rest);
}

// A pointer that only moves on, at the same place, splits nothing behind it.
static uint32_t move_cursor(struct hg_pieces *p, uint32_t from, uint64_t place)
{
	const struct head *h = head_of(p, from);
	uint32_t whole = parent_of(p, from);

	if (!h->part || h->place != place || p->parts.data[h->part - 1].is_shared)
		return from;
	take_back_split(p, from, whole, false);
	return whole;
}

uint32_t hg_pieces_split(struct hg_pieces *p, uint64_t time, uint32_t from, uint64_t addr,
			 uint64_t size, uint64_t rip, uint64_t place)
{
	struct head new = { .addr = addr,
			    .size_at_least = size,
			    .born = time,
			    .rip = rip,
			    .place = place };
	uint32_t known = hg_pieces_at(p, addr), x = piece_at(p, addr);
	struct blame b = blame_of(p, place);

	p->now = time;
	from = find(p, from);
	if (addr == head_of(p, from)->addr)
		return from;
	from = move_cursor(p, from, place);
	if (known && is_below(p, known, from))
		return known;
	if (b.wrong >= BLAME_FROM && 2 * b.wrong > b.made)
		return from;
	b.made++;
	set_blame(p, place, b);
	if (vec_push(&p->parts))
		new.part = p->parts.size;
	new.parent = x &&is_below(p, owner_of(p, x), from) ? owner_of(p, x) : from;
	return add_head(p, &new);
}

/* ---- Merge_Nodes, and what only seems to be ------------------------------------------------ */

static void take_over(struct hg_pieces *p, uint32_t x, uint32_t number)
{
	uint32_t former = owner_of(p, x);
	const struct head *ended = released_of(p, former);

	end_piece(p, x, ended ? ended->released : head_of(p, number)->born);
	piece_of(p, x)->taken_by = number;
	head_of(p, former)->is_suspended = !ended;
}

uint32_t hg_pieces_begin(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t size,
			 uint64_t rip)
{
	uint32_t x = piece_at(p, addr), next;
	uint32_t number = add_head(p, &(struct head){ .addr = addr,
						      .size_at_least = size,
						      .born = time,
						      .rip = rip });

	// Whatever is known to be there was given back, as it seems.
	if (number && x)
		take_over(p, x, number);
	while (number && next_start(p, addr, &next) < addr + size)
		take_over(p, next, number);
	return number;
}

uint32_t hg_pieces_meet(struct hg_pieces *p, uint64_t time, uint64_t addr, uint64_t rip)
{
	uint32_t known = hg_pieces_at(p, addr), x;

	if (known)
		return known;
	x = piece_at(p, addr);
	if (x && !released_of(p, owner_of(p, x)))
		return owner_of(p, x);
	return hg_pieces_begin(p, time, addr, 0, rip);
}

// Head `number` reaches into piece x, which is another's. True: try again, things changed.
static bool meet_other(struct hg_pieces *p, uint64_t time, uint32_t number, uint32_t x,
		       uint64_t addr, uint64_t end, bool is_write)
{
	struct head *h = head_of(p, number);
	struct piece *there = piece_of(p, x);
	uint32_t other = owner_of(p, x);
	const struct head *ended = released_of(p, other);

	if (is_below(p, other, number)) {
		if (is_write)
			return false;
		take_back_split(p, other, number, true);
		return true;
	}
	if (is_below(p, number, other)) {
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
		if (h->parent && parent_of(p, number) == parent_of(p, other) &&
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

static void note_use(struct hg_pieces *p, const struct head *h, uint64_t time,
		     uint32_t call)
{
	struct part *t = &p->parts.data[h->part - 1];

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
	uint32_t number = find(p, head);
	struct head *h = head_of(p, number), *ended;
	uint64_t end = addr + size;

	if (end < addr)
		return;
	p->now = time;
	h->used = time;
	if (h->part)
		note_use(p, h, time, call);
	ended = released_of(p, number);
	if (ended && ended->piece && is_live(piece_of(p, ended->piece)))
		ended->released = 0;
	if (h->is_suspended)
		revive(p, number);
	while (addr < end && !p->is_out_of_memory) {
		uint32_t x = piece_at(p, addr), next;
		uint64_t stop;

		if (!x) {
			stop = next_start(p, addr, &next);
			stop = stop < end ? stop : end;
			grow(p, time, number, addr, stop);
		} else {
			if (owner_of(p, x) != number &&
			    meet_other(p, time, number, x, addr, end, is_write))
				continue;
			stop = piece_of(p, x)->end;
		}
		addr = stop;
	}
}

/* ---- allocators of the program's own ------------------------------------------------------- */

void hg_pieces_pass(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip)
{
	struct head *h = head_of(p, find(p, head));
	struct part *t = h->part ? &p->parts.data[h->part - 1] : NULL;

	if (!t)
		return;
	t->passed = time;
	t->passed_to = fn;
	t->passed_rip = rip;
	t->passed_call = call;
}

// Was the part not used since it was passed, but by who got it, and by call number `but`?
static bool is_unused_since(const struct part *t, uint32_t but)
{
	bool is_but = but && t->used_call == but;
	uint64_t used = is_but ? t->used_before : t->used;
	uint32_t call = is_but ? t->used_before_call : t->used_call;

	return t->passed && (used < t->passed || call == t->passed_call);
}

void hg_pieces_give(struct hg_pieces *p, uint64_t time, uint32_t head, uint64_t fn,
		    uint32_t call, uint64_t rip)
{
	uint32_t number = find(p, head);
	struct head *h = head_of(p, number);
	struct part *t = h->part ? &p->parts.data[h->part - 1] : NULL;
	struct reissue *r;

	if (!t || (t->given && t->giver != fn))
		return;
	t->is_shared = true;
	if (!t->given) {
		t->given = time;
		t->giver = fn;
		h->rip = rip;
		return;
	}
	r = vec_push(&p->reissues);
	if (!r) {
		p->is_out_of_memory = true;
		return;
	}
	*r = (struct reissue){ .time = time, .rip = rip, .giver = fn, .head = number };
	if (t->passed > t->given && is_unused_since(t, call)) {
		r->released = t->passed;
		r->release_rip = t->passed_rip;
		r->release_fn = t->passed_to;
	}
	t->given = t->given < time ? t->given : time;
	t->passed = 0;
}

// Each function that gives out parts -> the one that always ended them before, or 0.
static void judge_givers(struct hg_pieces *p, struct map *ret)
{
	for (size_t i = 0; i < p->reissues.size; i++) {
		const struct reissue *r = &p->reissues.data[i];
		const uint64_t *known = map_get(ret, r->giver);
		uint64_t fn = !known || *known == r->release_fn ? r->release_fn : 0;

		if (map_put(ret, r->giver, fn))
			p->is_out_of_memory = true;
	}
}

/* ---- the plan ------------------------------------------------------------------------------ */

static int compare_reissues(const void *a, const void *b)
{
	const struct reissue *x = a, *y = b;

	if (x->head != y->head)
		return x->head < y->head ? -1 : 1;
	return x->time < y->time ? -1 : x->time > y->time;
}

/* The nodes to be, before they are in order. */
struct lives {
	const struct map *givers; ///< judge_givers()
	VEC(struct hg_life) all;  ///< sources and clusters are numbers of pieces
	uint32_t *first;	  ///< of each piece: number of its first life
};

static int compare_births(const void *a, const void *b, void *ctx)
{
	const struct hg_life *lives = ctx;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (lives[x].born != lives[y].born)
		return lives[x].born < lives[y].born ? -1 : 1;
	return x < y ? -1 : x > y; // a source has the lower number
}

static int add_life(struct lives *l, const struct hg_life *life)
{
	struct hg_life *slot;

	if (life->died <= life->born)
		return 0;
	slot = vec_push(&l->all);
	if (!slot)
		return -1;
	*slot = *life;
	return 0;
}

// Which function ends what the giver of t gave out; 0: it is no allocator.
static uint64_t release_fn(const struct lives *l, const struct part *t)
{
	const uint64_t *fn = t && t->given ? map_get(l->givers, t->giver) : NULL;

	return fn ? *fn : 0;
}

// A piece has a life each time that an allocator of the program's own gave it out.
static int add_lives(const struct hg_pieces *p, struct lives *l, uint32_t number)
{
	const struct piece *x = piece_of(p, number);
	uint32_t head = find(p, x->head);
	const struct head *h = head_of(p, head), *ended = released_of(p, head);
	const struct part *t = h->part ? &p->parts.data[h->part - 1] : NULL;
	uint64_t fn = h->piece == number ? release_fn(l, t) : 0;
	const struct reissue *r = p->reissues.data;
	size_t at = fn ? vec_rank(p->reissues.size, i, r[i].head < head) : 0;
	struct hg_life life = { .start = x->start,
				.size = x->end - x->start,
				.born = x->born,
				.died = x->died,
				.rip = h->rip,
				.source = x->source,
				.cluster = x->cluster };

	if (fn && t->given > life.born)
		life.born = t->given;
	for (; fn && at < p->reissues.size && r[at].head == head && r[at].time < x->died;
	     at++) {
		life.died = r[at].released;
		life.free_rip = r[at].release_rip;
		life.cluster = 0;
		if (add_life(l, &life))
			return -1;
		life.born = r[at].time;
		life.rip = r[at].rip;
		life.died = x->died;
		life.cluster = x->cluster;
		life.free_rip = 0;
	}
	if (fn && t->passed_to == fn && t->passed > life.born && t->passed < x->died &&
	    is_unused_since(t, 0)) {
		life.died = t->passed;
		life.free_rip = t->passed_rip;
		life.cluster = 0;
	} else if (ended && ended->released >= x->born && ended->released <= x->died) {
		life.died = ended->released;
		life.free_rip = ended->release_rip;
		life.cluster = 0;
	}
	return add_life(l, &life);
}

// In the order of births, and with numbers of lives.
static struct err *sort_lives(struct lives *l, hg_plan *ret)
{
	size_t n = l->all.size;
	_cleanup_free_ uint32_t *order = malloc((n + 1) * sizeof(*order));
	_cleanup_free_ uint32_t *number = malloc((n + 1) * sizeof(*number));

	if (!order || !number || vec_reserve(ret, n + 1))
		return &err_nomem;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), compare_births, l->all.data);
	for (uint32_t i = 0; i < n; i++)
		number[order[i]] = i + 1;
	for (uint32_t i = 0; i < n; i++) {
		struct hg_life *life = vec_push(ret);
		uint32_t source, cluster;

		*life = l->all.data[order[i]];
		source = life->source ? l->first[life->source - 1] : 0;
		life->source = source ? number[source - 1] : 0;
		if (life->source > i) // was not there yet
			life->source = 0;
		cluster = life->cluster ? l->first[life->cluster - 1] : 0;
		life->cluster = cluster ? number[cluster - 1] : 0;
	}
	return NULL;
}

struct err *hg_pieces_plan(struct hg_pieces *p, hg_plan *ret)
{
	_cleanup_(map_deinit) struct map givers = {};
	struct lives l = { .givers = &givers };
	struct err *err = NULL;

	judge_givers(p, &givers);
	qsort(p->reissues.data, p->reissues.size, sizeof(*p->reissues.data),
	      compare_reissues);
	l.first = calloc(p->pieces.size + 1, sizeof(*l.first));
	if (!l.first || p->is_out_of_memory)
		err = &err_nomem;
	for (uint32_t number = 1; number <= p->pieces.size && !err; number++) {
		size_t n = l.all.size;

		if (piece_of(p, number)->is_void)
			continue;
		if (add_lives(p, &l, number))
			err = &err_nomem;
		l.first[number - 1] = l.all.size > n ? n + 1 : 0;
	}
	if (!err)
		err = sort_lives(&l, ret);
	vec_deinit(&l.all);
	free(l.first);
	return err;
}
