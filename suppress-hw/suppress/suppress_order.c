// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Orderings. Of a frame all variables share the room that they had, from above to below: a buffer under
 * the return address, pairs, the rest. Global ones of a pair move to memory of their own.
 */
#include "suppress-hw/suppress/suppress_layout.h"

#include <string.h>
#include <sys/mman.h>

#define AREA 0x200000000000 ///< far from where programs and the kernel put anything
#define PAGE 4096u
#define ENTRIES 8		       ///< of a function of the allocator's
#define LINE 64			       ///< between pairs
#define RANGE_MOST (UINT64_C(1) << 28) ///< memory that is looked through for pointers

typedef VEC(uint32_t) numbers;

/** What is to be laid out of a frame, or of the global ones. */
struct candidates {
	numbers buffers, addresses;
};

/** Where variables are to be: by number, what is added to their places; 0: nothing. */
struct draft {
	const struct sup_variables *v;
	int64_t *by;
	uint64_t end; ///< of the area
};

/* ---- which ones ------------------------------------------------------------------------------- */

static void candidates_deinit(struct candidates *c)
{
	vec_deinit(&c->buffers);
	vec_deinit(&c->addresses);
}

static struct err *find_candidates(const struct sup_variables *v, size_t first, size_t n,
				   struct candidates *ret)
{
	struct err *err = NULL;

	for (uint32_t i = first; i < first + n && !err; i++) {
		const struct sup_variable *x = &v->all.data[i];

		if (x->is_accessed && x->is_buffer)
			err = vec_add(&ret->buffers, i);
		else if (x->is_accessed && x->is_address)
			err = vec_add(&ret->addresses, i);
	}
	return err;
}

/* So many orderings, until each buffer has had each of @p n others behind it. */
static size_t orders_of(const struct candidates *c, size_t n)
{
	if (!c->buffers.size || !n)
		return 0;
	return c->buffers.size > n ? c->buffers.size : n;
}

/* A frame's return address is one more. */
static size_t frame_orders(const struct sup_variables *v, const struct sup_function *f)
{
	struct candidates c = {};
	size_t n = 0;

	if (!f->has_run || !f->is_open)
		return 0;
	if (!find_candidates(v, f->first, f->n, &c))
		n = orders_of(&c, c.addresses.size + 1);
	candidates_deinit(&c);
	return n;
}

size_t sup_orders(const struct sup_variables *v, enum sup_space space)
{
	struct candidates c = {};
	size_t most = space == SUP_HEAP; // beside each block the same

	// Each buffer has each of the others behind it, and before it.
	if (space == SUP_GLOBALS && !find_candidates(v, 0, v->n_globals, &c))
		most = 2 * orders_of(&c, c.addresses.size);
	for (size_t i = 0; space == SUP_STACK && i < v->functions.size; i++) {
		size_t n = frame_orders(v, &v->functions.data[i]);

		most = n > most ? n : most;
	}
	candidates_deinit(&c);
	return most;
}

/* ---- frames ------------------------------------------------------------------------------------- */

static const char *name_of(const struct sup_variables *v, uint32_t i)
{
	return v->all.data[i].placed.name ?: "?";
}

/* Variable @p i lies below @p *top, and that is its place then. */
static void put_below(const struct draft *d, uint32_t i, int64_t *top)
{
	const struct sup_variable *x = &d->v->all.data[i];

	*top = (*top - (int64_t)x->placed.size) & -(int64_t)x->align;
	d->by[i] = *top - x->at;
}

static bool is_in(const numbers *list, uint32_t i)
{
	return vec_find(list, x, *x == i);
}

/* The order of frame @p f, from above: @p list. Does it fit into the room that there was? */
static bool place_frame(const struct draft *d, const struct sup_function *f,
			const numbers *list)
{
	const struct sup_variable *all = d->v->all.data + f->first;
	int64_t top = all[f->n - 1].at + (int64_t)all[f->n - 1].placed.size;

	for (size_t i = 0; i < list->size; i++)
		put_below(d, list->data[i], &top);
	for (size_t i = f->n; i-- > 0;)
		if (!is_in(list, f->first + i))
			put_below(d, f->first + i, &top);
	if (top >= all[0].at)
		return true;
	for (size_t i = 0; i < f->n; i++)
		d->by[f->first + i] = 0;
	return false;
}

/* The @p k-th ordering of frame @p f: buffer i lies under address (i + k), the first of which is the
 * return address. */
static struct err *order_frame(const struct draft *d, const struct sup_function *f,
			       size_t k, line_list *pairs)
{
	struct candidates c = {};
	numbers list = {};
	const char *name;
	struct err *err = find_candidates(d->v, f->first, f->n, &c);
	size_t n = orders_of(&c, c.addresses.size + 1), under = SIZE_MAX;

	for (size_t i = 0; i < c.buffers.size && n && !err; i++)
		if ((i + k) % n == 0)
			err = vec_add(&list, c.buffers.data[under = i]);
	for (size_t i = 0; i < c.buffers.size && n && !err; i++) {
		size_t j = (i + k) % n;

		if (!j || j > c.addresses.size)
			continue;
		err = vec_add(&list, c.addresses.data[j - 1]);
		if (!err)
			err = vec_add(&list, c.buffers.data[i]);
	}
	if (!err && list.size && place_frame(d, f, &list)) {
		size_t i = under != SIZE_MAX;

		if (i)
			err = lines_add(pairs, "%s in %s(), its return address",
					name_of(d->v, list.data[0]), f->name ?: "?");
		for (; i < list.size && !err; i += 2) {
			name = name_of(d->v, list.data[i]);
			err = lines_add(pairs, "%s in %s(), %s",
					name_of(d->v, list.data[i + 1]), f->name ?: "?",
					name);
		}
	}
	vec_deinit(&list);
	candidates_deinit(&c);
	return err;
}

static struct err *order_frames(const struct draft *d, size_t k, line_list *pairs)
{
	struct err *err = NULL;

	for (size_t i = 0; i < d->v->functions.size && !err; i++) {
		const struct sup_function *f = &d->v->functions.data[i];

		if (f->has_run && f->is_open)
			err = order_frame(d, f, k, pairs);
	}
	return err;
}

/* ---- global ones -------------------------------------------------------------------------------- */

static uint64_t up(uint64_t at, uint64_t align)
{
	return (at + align - 1) & -align;
}

/* @p buffer ends where @p address begins, as far as its alignment allows; with @p apart, before. */
static void put_pair(struct draft *d, uint32_t buffer, uint32_t address, uint64_t apart)
{
	const struct sup_variable *b = &d->v->all.data[buffer];
	const struct sup_variable *a = &d->v->all.data[address];
	uint64_t at = up(d->end + b->align + b->placed.size, a->align);

	d->by[buffer] = ((at - b->placed.size) & -(uint64_t)b->align) - b->at;
	d->by[address] = at + apart - a->at;
	d->end = up(at + apart + a->placed.size, LINE);
}

/* @p address ends where @p buffer begins, as far as its alignment allows; with @p apart, before. */
static void put_pair_before(struct draft *d, uint32_t buffer, uint32_t address,
			    uint64_t apart)
{
	const struct sup_variable *b = &d->v->all.data[buffer];
	const struct sup_variable *a = &d->v->all.data[address];
	uint64_t at = up(d->end + a->align + a->placed.size, b->align);

	d->by[address] = ((at - a->placed.size) & -(uint64_t)a->align) - a->at;
	d->by[buffer] = at + apart - b->at;
	d->end = up(at + apart + b->placed.size, LINE);
}

static struct err *order_globals(struct draft *d, size_t k, uint64_t apart,
				 line_list *pairs)
{
	struct candidates c = {};
	struct err *err = find_candidates(d->v, 0, d->v->n_globals, &c);
	size_t n = orders_of(&c, c.addresses.size);
	bool is_before = k >= n;

	for (size_t i = 0; i < c.buffers.size && n && !err; i++) {
		size_t j = (i + k) % n;
		uint32_t b = c.buffers.data[i], a;

		if (j >= c.addresses.size)
			continue;
		a = c.addresses.data[j];
		if (is_before)
			put_pair_before(d, b, a, apart);
		else
			put_pair(d, b, a, apart);
		err = lines_add(pairs, "%s, %s", name_of(d->v, is_before ? a : b),
				name_of(d->v, is_before ? b : a));
	}
	candidates_deinit(&c);
	return err;
}

/* ---- blocks ------------------------------------------------------------------------------------- */

static struct err *watch_blocks(const struct sup_variables *v, struct sup_order *ret)
{
	static const struct {
		const char *name;
		enum dec_moved_call call;
	} calls[] = { { "malloc", DEC_MOVED_MALLOC },
		      { "calloc", DEC_MOVED_CALLOC },
		      { "realloc", DEC_MOVED_REALLOC },
		      { "free", DEC_MOVED_FREE },
		      { "cfree", DEC_MOVED_FREE },
		      { "malloc_usable_size", DEC_MOVED_USABLE } };
	uint64_t at[ENTRIES];
	struct err *err = NULL;

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls) && !err; i++) {
		size_t n = dec_symbols_entries(v->symbols, calls[i].name, at, ENTRIES);

		for (size_t k = 0; k < n && k < ENTRIES && !err; k++)
			err = vec_add(&ret->moves,
				      (struct dec_moved){ DEC_MOVED_CALL, at[k],
							  calls[i].call, 0 });
	}
	return err   ?:
		       lines_add(&ret->pairs,
				 "each block of malloc(), %d bytes to be left alone",
				 DEC_MAGIC_BYTES);
}

/* ---- what is to be done --------------------------------------------------------------------------- */

/* The global variable that moves and has @p addr in it; its number; SIZE_MAX: none. */
static size_t moving_at(const struct draft *d, uint64_t addr)
{
	const struct sup_variable *all = d->v->all.data;
	size_t i = vec_rank(d->v->n_globals, k, (uint64_t)all[k].at <= addr);

	return i && d->by[i - 1] && addr - all[i - 1].at < all[i - 1].placed.size ?
		       i - 1 :
		       SIZE_MAX;
}

/* Words in @p bytes of memory at @p at that lead to what moves. */
static struct err *move_pointers(const struct draft *d, uint64_t at, const uint8_t *bytes,
				 size_t n, sup_moves *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i + 8 <= n && !err; i += 8) {
		struct dec_moved m = { DEC_MOVED_WORD, at + i, 0, 8 };
		size_t to, self;

		memcpy(&m.to, bytes + i, 8);
		to = moving_at(d, m.to);
		if (to == SIZE_MAX)
			continue;
		self = moving_at(d, m.at);
		m.to += d->by[to];
		m.at += self == SIZE_MAX ? 0 : d->by[self];
		err = vec_add(ret, m);
	}
	return err;
}

static struct err *find_pointers(struct dec_machine *m, const struct draft *d,
				 sup_moves *ret)
{
	struct dec_range r;
	struct err *err = NULL;

	for (size_t i = 0; !err; i++) {
		_cleanup_free_ uint8_t *bytes = NULL;

		err = dec_machine_range(m, i, &r);
		if (err && err->code == ERR_RANGE) {
			err_destroy(err);
			return NULL;
		}
		if (err || !(r.prot & PROT_WRITE) || !(r.prot & PROT_READ) ||
		    r.end - r.start > RANGE_MOST)
			continue;
		bytes = malloc(r.end - r.start);
		if (!bytes)
			return &err_nomem;
		err = dec_machine_read(m, r.start, bytes, r.end - r.start);
		if (!err)
			err = move_pointers(d, r.start, bytes, r.end - r.start, ret);
	}
	return err;
}

/* New memory for the global ones, with what they hold. */
static struct err *move_globals(struct dec_machine *m, const struct draft *d,
				sup_moves *ret)
{
	struct dec_moved area = { DEC_MOVED_AREA, AREA, 0, up(d->end - AREA, PAGE) };
	struct err *err = area.size ? vec_add(ret, area) : NULL;

	for (size_t i = 0; i < d->v->n_globals && !err; i++) {
		const struct sup_variable *x = &d->v->all.data[i];

		if (d->by[i])
			err = vec_add(ret, (struct dec_moved){ DEC_MOVED_BYTES, x->at,
							       x->at + d->by[i],
							       x->placed.size });
	}
	return err || !area.size ? err : find_pointers(m, d, ret);
}

static struct err *move_namings(const struct draft *d, sup_moves *ret)
{
	struct err *err = NULL;

	for (size_t i = 0; i < d->v->namings.size && !err; i++) {
		const struct sup_naming *n = &d->v->namings.data[i];

		if (d->by[n->variable])
			err = vec_add(ret, (struct dec_moved){ DEC_MOVED_INSN, n->rip,
							       d->by[n->variable], 0 });
	}
	return err;
}

struct err *sup_order_make(struct dec_machine *m, const struct sup_variables *v,
			   enum sup_space space, size_t k, uint64_t apart,
			   struct sup_order *ret)
{
	struct draft d = { .v = v, .end = AREA };
	struct err *err;

	ret->space = space;
	if (space == SUP_HEAP)
		return watch_blocks(v, ret);
	d.by = calloc(v->all.size + 1, sizeof(*d.by));
	if (!d.by)
		return &err_nomem;
	err = space == SUP_STACK ? order_frames(&d, k, &ret->pairs) :
				   order_globals(&d, k, apart, &ret->pairs);
	if (!err)
		err = move_globals(m, &d, &ret->moves);
	if (!err)
		err = move_namings(&d, &ret->moves);
	free(d.by);
	return err;
}

void sup_order_deinit(struct sup_order *o)
{
	vec_deinit(&o->moves);
	lines_deinit(&o->pairs);
	*o = (struct sup_order){};
}
