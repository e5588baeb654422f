// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Nodes that may be structs with arrays and structs in them: there a pointer is meant for the part that the first
 * of the user's steps of arithmetic led to (hg_astray.c). So tags tell that step: emitted code looks up in a
 * table where the instruction at hand leads from the tag it has; what is not there, or no table can tell, is an
 * event. A tag never stands for two ways between which there is a difference.
 *
 * What the user's code may access by a pointer that was led into a struct is not restricted: what leaves a
 * struct, which has no elements, does so on purpose. What leaves an array may be wrong; of that only
 * what is quiet by hg_astray.c whatever else was done is let pass, the rest is in doubt.
 */

#include "decode/translator/guard.h"

#include <string.h>
#include <sys/mman.h>

#include "decode/translator/engine.h"

// As hg_astray.c: gcc -O0 adds so much of an offset behind the index.
#define SPLIT 16
// From here on a vector.
#define VECTOR_BYTES 16
// There are several anchors, or that is not known.
#define ANCHORS INT32_MIN
// As heap_calls.c: so many frames of the user's are asked.
#define WRAPPERS_MAX 8
// In class_of: the caller says it.
#define BY_CALLER UINT64_MAX

/* ---- what is told ------------------------------------------------------------------------------- */

bool dec_guard_is_own(const struct dec_guard *g, uint64_t rip)
{
	size_t n = vec_rank(g->own.size, i, g->own.data[i].rip <= rip);

	return n && rip < g->own.data[n - 1].end;
}

/* Most come in their order. */
static struct err *add_own(struct dec_guard *g, const struct dec_hook *h)
{
	size_t n = g->own.size;

	if (vec_add(&g->own, *h))
		return &err_nomem;
	for (; n && g->own.data[n - 1].rip > h->rip; n--)
		g->own.data[n] = g->own.data[n - 1];
	g->own.data[n] = *h;
	return NULL;
}

static uint64_t class_key(uint64_t site, uint64_t size)
{
	return (site + 1) * 0x9e3779b97f4a7c15u ^ (size + 1) * 0xd6e8feb86659fd93u;
}

void dec_guard_parts_anew(struct dec_guard *g)
{
	memset(g->known_classes, 0, sizeof(g->known_classes));
}

static struct err *end_class(struct dec_guard *g, const struct dec_hook *h)
{
	struct guard_class *c = vec_push(&g->classes);

	if (!c)
		return &err_nomem;
	*c = (struct guard_class){ .n_layouts = h->which, .layout = h->start };
	for (size_t i = 0; i < g->told.size; i++)
		if (vec_add(&c->parts, g->told.data[i]))
			return &err_nomem;
	g->told.size = 0;
	dec_guard_parts_anew(g);
	if (g->doubt == DEC_DOUBT_ASKS)
		g->doubt = DEC_DOUBT_NONE;
	return map_put(&g->class_of, class_key(h->rip, h->end),
		       c->parts.size ? g->classes.size : 0) ?
		       &err_nomem :
		       NULL;
}

static struct err *add_caller(struct dec_guard *g, const struct dec_hook *h)
{
	dec_guard_parts_anew(g);
	if (g->doubt == DEC_DOUBT_ASKS)
		g->doubt = DEC_DOUBT_NONE;
	return vec_add(&g->callers, *h) ||
			       map_put(&g->caller_of, h->rip, g->callers.size - 1) ||
			       map_put(&g->class_of, class_key(h->rip, h->end),
				       BY_CALLER) ?
		       &err_nomem :
		       NULL;
}

struct err *dec_guard_parts_told(struct dec_guard *g, const struct dec_hook *h)
{
	if (h->kind == DEC_HOOK_CLASS)
		return end_class(g, h);
	if (h->kind == DEC_HOOK_CALLER)
		return add_caller(g, h);
	if (h->kind == DEC_HOOK_PART)
		return vec_add(&g->told, ((struct guard_part){
						 .offset = h->rip,
						 .start = h->start,
						 .end = h->end,
						 .such = h->such,
						 .layout = h->which,
						 .element = h->width,
						 .is_array = h->is_array,
						 .is_of_structs = h->is_of_structs }));
	return add_own(g, h);
}

struct frame {
	uint64_t site, rsp, rbp; ///< it goes on there, with these registers
};

static bool read_word(const struct dec_engine *e, uint64_t addr, uint64_t *ret)
{
	if (e->world.avail(e->world.ctx, addr, PROT_READ) < sizeof(*ret))
		return false;
	memcpy(ret, (const void *)addr, sizeof(*ret));
	return true;
}

/* From @p f, of which hook @p h tells, to its caller. @return false: it is not where it should be. */
static bool go_out(const struct dec_engine *e, struct frame *f, const struct dec_hook *h)
{
	uint64_t rsp = (h->limit == CAP_RBP ? f->rbp : f->rsp) + h->start;

	if (rsp <= f->rsp || !read_word(e, rsp - 8, &f->site) ||
	    (h->width && !read_word(e, rsp - 8 * h->width, &f->rbp)))
		return false;
	f->rsp = rsp;
	return true;
}

/* What is known of calls of @p size bytes that return to @p site; NULL: who knows that is to be asked. */
static const struct guard_known_class *class_at(struct dec_guard *g, uint64_t site,
						uint64_t size)
{
	struct guard_known_class *k = &g->known_classes[(site ^ size / 8) % GUARD_KNOWN];
	const uint64_t *known;
	bool may_have_parts;

	if (k->site == site && k->size == size)
		return k;
	may_have_parts = map_get(&g->parts, size);
	known = may_have_parts ? map_get(&g->class_of, class_key(site, size)) : NULL;
	if (may_have_parts && !known)
		return NULL;
	*k = (struct guard_known_class){ .site = site, .size = size };
	if (known && *known == BY_CALLER)
		k->caller = *map_get(&g->caller_of, site) + 1;
	else if (known)
		k->class = *known;
	return k;
}

/* Of which class is the block of @p size bytes that the call under way has got, now? The innermost frame that knows says it.
 * @return what is in the way: NONE; ASKS, of frame @p f; BEYOND. */
static enum dec_doubt find_class(struct dec_engine *e, uint64_t size, struct frame *f)
{
	struct dec_guard *g = e->guard;
	struct guard_call *call = &g->call;
	const struct guard_known_class *k;

	*f = (struct frame){ call->returns, e->ctx->gpr[CAP_RSP], e->ctx->gpr[CAP_RBP] };
	for (int n = 0; !call->has_class && n < WRAPPERS_MAX;) {
		k = class_at(g, f->site, size);
		if (!k)
			return DEC_DOUBT_ASKS;
		call->class = k->class;
		call->has_class = !k->caller;
		n += k->caller && dec_guard_is_own(g, f->site - 1);
		if (k->caller && !go_out(e, f, &g->callers.data[k->caller - 1]))
			return DEC_DOUBT_BEYOND;
	}
	call->has_class = true;
	return DEC_DOUBT_NONE;
}

bool dec_guard_parts_known(struct dec_engine *e, uint64_t size)
{
	struct frame f;
	enum dec_doubt doubt = find_class(e, size, &f);

	if (doubt == DEC_DOUBT_ASKS) {
		e->guard->asked_site = f.site;
		e->guard->asked_size = size;
	}
	if (doubt)
		dec_guard_doubt(e, doubt, e->ctx->rip);
	return !doubt;
}

bool dec_guard_parts_may_begin(struct dec_engine *e, uint64_t size)
{
	const struct dec_guard *g = e->guard;
	struct frame f;

	return !find_class(e, size, &f) &&
	       (!g->call.class ||
		(g->has_parts &&
		 (g->free_parts.size || g->n_parts_rows < g->parts_rows_max)));
}

/* ---- bounds --------------------------------------------------------------------------------------- */

struct bounds {
	uint64_t start, end; ///< from the node's start
};

static void narrow(struct bounds *b, uint64_t start, uint64_t end)
{
	b->start = start > b->start ? start : b->start;
	b->end = end < b->end ? end : b->end;
	if (b->end < b->start)
		b->end = b->start;
}

static const struct guard_part *part_at(const struct guard_class *c, uint32_t layout,
					uint64_t offset)
{
	return vec_find(&c->parts, p, p->layout == layout && p->offset == offset);
}

/* What a pointer may be used for, by the user's code and by other code, whose first step led to @p anchor: as part_of()
 * of hg_astray.c has it, of all structs that it may be. */
static void bound(const struct guard_class *c, uint64_t anchor, struct bounds *own,
		  struct bounds *other)
{
	for (uint32_t i = 0; i < c->n_layouts; i++) {
		const struct guard_part *p = part_at(c, i, anchor), *first;

		if (!p) { // who writes may have begun in the first
			first = part_at(c, i, 0);
			if (first && first->is_array && anchor <= first->end) {
				narrow(own, 0, first->end);
				narrow(other, 0, first->end);
			}
			continue;
		}
		if (p->is_array)
			narrow(own, p->start, p->end);
		if (p->is_array || p->start)
			narrow(other, p->start, p->end);
	}
}

/* The same from a block's start, all of which is @p own then, and the bytes up to its end other code's. */
static void bound_first(struct dec_guard *g, uint32_t class, uint64_t anchor,
			struct bounds *own, struct bounds *other)
{
	struct guard_known_bounds *k =
		&g->known_bounds[(class + anchor / 8) % GUARD_KNOWN];

	if (k->class != class + 1 || k->anchor != anchor) {
		bound(&g->classes.data[class], anchor, own, other);
		*k = (struct guard_known_bounds){ class + 1,
						  anchor,
						  { own->start, own->end },
						  { other->start, other->end } };
	}
	*own = (struct bounds){ k->own[0], k->own[1] };
	*other = (struct bounds){ k->other[0], k->other[1] };
}

static bool is_split(int64_t anchor, int64_t behind)
{
	return behind > anchor && behind - anchor <= SPLIT;
}

/* May a constant behind an index that led to @p anchor be part of that step? */
static bool may_be_split(const struct guard_class *c, uint64_t anchor)
{
	bool is_known = true;

	for (uint32_t i = 0; i < c->n_layouts; i++)
		is_known &= part_at(c, i, anchor) != NULL;
	return !is_known && vec_find(&c->parts, p, is_split(anchor, p->offset));
}

/* ---- rows ----------------------------------------------------------------------------------------- */

static const struct guard_node *node_at(const struct dec_guard *g,
					const struct guard_parts_row *row)
{
	return &g->nodes.data[row->node];
}

static struct bounds own_of(const struct guard_parts_row *row)
{
	return (struct bounds){ row->start - row->node_start,
				row->start + row->size - row->node_start };
}

static struct bounds other_of(const struct guard_parts_row *row)
{
	return (struct bounds){ row->other_start - row->node_start,
				row->other_start + row->other_size - row->node_start };
}

static void set_bounds(struct guard_parts_row *row, struct bounds own,
		       struct bounds other)
{
	row->start = row->node_start + own.start;
	row->size = own.end - own.start;
	row->other_start = row->node_start + other.start;
	row->other_size = other.end - other.start;
}

/* A row of node number @p n, in front of those that it has. @return its tag; 0: in doubt. */
static uint32_t add_row(struct dec_engine *e, uint32_t n, uint32_t class,
			enum guard_way way, struct bounds own, struct bounds other)
{
	struct dec_guard *g = e->guard;
	struct guard_node *node = &g->nodes.data[n];
	struct guard_parts_row *row, *first;
	uint32_t tag;

	if (g->free_parts.size) {
		tag = g->free_parts.data[--g->free_parts.size];
	} else if (g->n_parts_rows < g->parts_rows_max) {
		tag = GUARD_PARTS + g->n_parts_rows++ * sizeof(*row);
	} else {
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
		return 0;
	}
	row = dec_guard_parts_row(g, tag);
	*row = (struct guard_parts_row){ .start = node->start + own.start,
					 .size = own.end - own.start,
					 .other_start = node->start + other.start,
					 .other_size = other.end - other.start,
					 .node_start = node->start,
					 .way = way,
					 .node = n,
					 .class = class,
					 .first = tag,
					 .behind = GUARD_VAGUE };
	g->n_parts_gone += !node->is_live;
	if (node->tag) {
		first = dec_guard_parts_row(g, node->tag);
		row->next = first->next;
		first->next = tag;
	}
	return tag;
}

struct err *dec_guard_parts_free(struct dec_guard *g, struct guard_node *n)
{
	uint32_t tag = n->tag;

	if (!dec_guard_has_parts(tag))
		return NULL;
	for (n->tag = 0; tag; tag = dec_guard_parts_row(g, tag)->next) {
		dec_guard_parts_row(g, tag)->node = 0;
		g->n_parts_gone--;
		if (vec_add(&g->free_parts, tag))
			return &err_nomem;
	}
	return NULL;
}

static bool is_free(const struct dec_guard *g, uint32_t tag)
{
	return dec_guard_has_parts(tag) && !dec_guard_parts_row(g, tag)->node;
}

struct err *dec_guard_parts_forget(struct dec_guard *g)
{
	struct map kept = {};

	if (!g->free_parts.size)
		return NULL;
	for (size_t i = 0; i < g->led.capacity; i++) {
		const struct map_slot *s = &g->led.slots[i];

		if (s->key != MAP_EMPTY_KEY && !is_free(g, s->key >> 32) &&
		    map_put(&kept, s->key, s->value)) {
			map_deinit(&kept);
			return &err_nomem;
		}
	}
	map_deinit(&g->led);
	g->led = kept;
	for (uint32_t i = 0; i < GUARD_MOVES; i++)
		if (is_free(g, g->moves[i].tag))
			g->moves[i] = (struct guard_move){};
	return NULL;
}

uint32_t dec_guard_parts_born(struct dec_engine *e, uint32_t n)
{
	struct dec_guard *g = e->guard;
	struct bounds own = { 0, g->nodes.data[n].size }, other = own, unused = own;
	uint32_t class = g->call.class - 1;

	if (!g->has_parts) {
		g->has_parts = true;
		dec_engine_flush(e);
	}
	bound_first(g, class, 0, &unused, &other);
	return add_row(e, n, class, GUARD_WAY_START, own, other);
}

void dec_guard_parts_died(struct dec_guard *g, const struct guard_node *n)
{
	for (uint32_t tag = n->tag; tag; tag = dec_guard_parts_row(g, tag)->next) {
		struct guard_parts_row *row = dec_guard_parts_row(g, tag);

		row->size = row->other_size = 0;
		g->n_parts_gone++;
	}
}

/* ---- steps ---------------------------------------------------------------------------------------- */

uint32_t dec_guard_parts_site(struct dec_guard *g, uint64_t rip)
{
	uint64_t *known = map_get(&g->sites, rip);
	uint32_t n = known ? *known : 2 + 2 * g->sites.size;

	if (!known && map_put(&g->sites, rip, n))
		g->doubt = DEC_DOUBT_BEYOND;
	return n;
}

static void keep(struct dec_engine *e, uint32_t tag, uint32_t site, uint32_t to)
{
	if (map_put(&e->guard->led, (uint64_t)tag << 32 | site, to))
		dec_guard_doubt(e, DEC_DOUBT_BEYOND, e->ctx->rip);
}

static void put_at_hand(struct dec_guard *g, uint32_t tag, uint32_t site, uint32_t to)
{
	*(struct guard_move *)((char *)g->moves + dec_guard_move_at(tag, site)) =
		(struct guard_move){ tag, site, to, 0 };
}

/* Where @p site led from @p tag before; 0: it did not. */
static uint32_t led(struct dec_guard *g, uint32_t tag, uint32_t site)
{
	uint64_t *known = map_get(&g->led, (uint64_t)tag << 32 | site);

	return known ? *known : 0;
}

/* Of the node that tag @p root is to the start of: the row of those that there is one of, as what led to it makes no difference: by
 * no known way; by libraries; by the first step, which added a constant, to @p anchor. (There may be millions of nodes, which
 * a map would find in no cache.) @return its tag; 0: none. */
static uint32_t only_row(const struct dec_guard *g, uint32_t root, enum guard_way way,
			 int64_t anchor)
{
	for (uint32_t tag = root; tag; tag = dec_guard_parts_row(g, tag)->next) {
		const struct guard_parts_row *row = dec_guard_parts_row(g, tag);

		if (row->way == way &&
		    (way != GUARD_WAY_PART || (row->anchor == anchor && !row->behind &&
					       row->first == tag && !row->steps)))
			return tag;
	}
	return 0;
}

uint32_t dec_guard_parts_unknown(struct dec_engine *e, uint32_t tag)
{
	const struct guard_parts_row *row = dec_guard_parts_row(e->guard, tag);
	uint32_t root = node_at(e->guard, row)->tag;
	uint32_t to = only_row(e->guard, root, GUARD_WAY_UNKNOWN, 0);
	const struct bounds none = {};

	return to ?: add_row(e, row->node, row->class, GUARD_WAY_UNKNOWN, none, none);
}

/* The user's step led back to the node's start, as container_of() does. By a rule that is at home in hg_astray.c the
 * next step is the first one then, if this one led there each time. */
static uint32_t lead_back(struct dec_engine *e, uint32_t tag)
{
	const struct guard_parts_row *row = dec_guard_parts_row(e->guard, tag);
	const struct guard_node *n = node_at(e->guard, row);

	return row->way != GUARD_WAY_FREE && row->start == n->start &&
			       row->size == n->size ?
		       n->tag :
		       dec_guard_parts_unknown(e, tag);
}

/* Libraries' steps are not the first. */
static uint32_t lead_freely(struct dec_engine *e, uint32_t tag)
{
	const struct guard_parts_row *row = dec_guard_parts_row(e->guard, tag);

	if (row->way != GUARD_WAY_START)
		return tag;
	return only_row(e->guard, tag, GUARD_WAY_FREE, 0) ?:
		       add_row(e, row->node, row->class, GUARD_WAY_FREE, own_of(row),
			       other_of(row));
}

/* From what libraries made: it led to several places, perhaps, and the first counts. So only what is right from all
 * of them. */
static uint32_t lead_from_free(struct dec_engine *e, uint32_t tag, uint32_t site,
			       uint64_t anchor, bool is_indexed)
{
	struct dec_guard *g = e->guard;
	const struct guard_parts_row from = *dec_guard_parts_row(g, tag);
	const struct guard_class *c = &g->classes.data[from.class];
	struct bounds own = own_of(&from), other = { 0, own.end };
	uint32_t to = led(g, tag, site);
	int32_t known = anchor;

	if (is_indexed && may_be_split(c, anchor))
		return dec_guard_parts_unknown(e, tag);
	if (to) {
		known = dec_guard_parts_row(g, to)->anchor;
		own = own_of(dec_guard_parts_row(g, to));
		other = other_of(dec_guard_parts_row(g, to));
	}
	bound(c, anchor, &own, &other);
	if (!to) {
		to = add_row(e, from.node, from.class, GUARD_WAY_PART, own, other);
		keep(e, tag, site, to);
	}
	if (!to)
		return 0;
	set_bounds(dec_guard_parts_row(g, to), own, other);
	dec_guard_parts_row(g, to)->anchor = known == (int64_t)anchor ? known : ANCHORS;
	return to;
}

// So many steps by an index that lead to one element say that they always will.
#define SETTLED 256

/* By an index a step led to @p anchor that once led to where @p row is. Is it settled whether it leads to several elements
 * of an array? */
static bool is_settled(struct guard_parts_row *row, const struct guard_class *c,
		       uint64_t anchor)
{
	const struct guard_part *p = part_at(c, 0, row->anchor);

	p = p ?: vec_find(&c->parts, q, q->such && is_split(row->anchor, q->offset));
	if (c->n_layouts != 1 || !p || !p->such)
		return true;
	if (row->anchor != (int64_t)anchor)
		row->steps = GUARD_VARIED;
	if (row->steps < SETTLED)
		row->steps++;
	return row->steps >= SETTLED;
}

/* The same part of another element as the one that pointers of @p row are to, if steps led to several, where the byte at
 * offset @p at is. */
static const struct guard_part *such_at(const struct dec_guard *g,
					const struct guard_parts_row *row, uint64_t at)
{
	const struct guard_class *c = &g->classes.data[row->class];
	bool has_varied = dec_guard_parts_row(g, row->first)->steps == GUARD_VARIED;
	const struct guard_part *p = has_varied && row->behind != GUARD_VAGUE ?
					     part_at(c, 0, row->anchor + row->behind) :
					     NULL;

	return p ? vec_find(&c->parts, q,
			    q->such == p->such && at >= q->start && at < q->end) :
		   NULL;
}

/* The first step, or the second. */
static uint32_t lead(struct dec_engine *e, uint32_t tag, uint32_t site, uint64_t anchor,
		     bool is_indexed)
{
	struct dec_guard *g = e->guard;
	const struct guard_parts_row from = *dec_guard_parts_row(g, tag);
	const struct guard_class *c = &g->classes.data[from.class];
	bool is_first = from.way == GUARD_WAY_START, is_at_hand = !is_indexed;
	bool is_only = is_first && !is_indexed && !from.steps;
	struct bounds own = own_of(&from), other = { 0, own.end };
	enum guard_way way = GUARD_WAY_PART;
	uint32_t to = is_only ? only_row(g, tag, GUARD_WAY_PART, anchor) :
				led(g, tag, site);
	uint8_t behind = 0;

	if (!to && is_first) {
		bound_first(g, from.class, anchor, &own, &other);
		if (is_indexed && may_be_split(c, anchor))
			way = GUARD_WAY_INDEX;
	} else if (!to) {
		other = other_of(&from);
		if (!is_indexed && is_split(from.anchor, anchor)) {
			bound(c, anchor, &own, &other);
			behind = anchor - from.anchor;
		}
		anchor = from.anchor;
	}
	if (!to) {
		to = add_row(e, from.node, from.class, way, own, other);
		if (!to)
			return 0;
		dec_guard_parts_row(g, to)->anchor = anchor;
		dec_guard_parts_row(g, to)->behind = behind;
		if (!is_first)
			dec_guard_parts_row(g, to)->first = tag;
	}
	if (to ==
	    tag) // it led nowhere, the first time: what that means for the next step is not known
		to = dec_guard_parts_unknown(e, tag);
	else if (is_first && is_indexed)
		is_at_hand = is_settled(dec_guard_parts_row(g, to), c, anchor);
	if (!is_only)
		keep(e, tag, site, to);
	if (is_at_hand)
		put_at_hand(g, tag, site, to);
	return to;
}

uint32_t dec_guard_parts_step(struct dec_engine *e, uint32_t tag, uint64_t rip,
			      bool is_indexed, uint64_t value)
{
	struct dec_guard *g = e->guard;
	struct guard_parts_row *row = dec_guard_parts_row(g, tag);
	uint64_t anchor = value - row->node_start;
	uint32_t site;

	if (!node_at(g, row)->is_live || row->way == GUARD_WAY_UNKNOWN)
		return tag;
	if (!dec_guard_is_own(g, rip))
		return lead_freely(e, tag);
	site = dec_guard_parts_site(g, rip);
	if (!anchor && row->way == GUARD_WAY_START) {
		row->steps = 1;
		keep(e, tag, site, tag);
		return tag;
	}
	if (!anchor)
		return lead_back(e, tag);
	if (row->way >= GUARD_WAY_PART)
		return tag;
	return row->way == GUARD_WAY_FREE ?
		       lead_from_free(e, tag, site, anchor, is_indexed) :
		       lead(e, tag, site, anchor, is_indexed);
}

/* dec_guard_parts_site() of the user's instruction at @p rip; 0: it is none, or has no number yet. */
static uint32_t own_site(struct dec_guard *g, uint64_t rip)
{
	struct guard_known_site *k =
		&g->known_sites[(rip ^ rip / GUARD_KNOWN) % GUARD_KNOWN];
	const uint64_t *site;

	if (k->rip == rip)
		return k->site;
	site = dec_guard_is_own(g, rip) ? map_get(&g->sites, rip) : NULL;
	if (!site)
		return 0;
	*k = (struct guard_known_site){ rip, *site };
	return *site;
}

uint32_t dec_guard_parts_begin(struct dec_engine *e, uint32_t tag, uint64_t rip,
			       bool is_indexed, uint64_t value)
{
	struct dec_guard *g = e->guard;
	const struct guard_parts_row *row = dec_guard_parts_row(g, tag);
	uint32_t site;

	if (!dec_guard_has_parts(tag) || row->way != GUARD_WAY_START ||
	    value == row->node_start || !row->size || !map_has_room(&g->led, 2))
		return 0;
	site = own_site(g, rip);
	return site ? lead(e, tag, site, value - row->node_start, is_indexed) : 0;
}

/* ---- accesses ------------------------------------------------------------------------------------- */

static bool is_within(struct bounds b, uint64_t at, uint64_t size)
{
	return at >= b.start && at <= b.end && size <= b.end - at;
}

static bool is_in_such(const struct dec_guard *g, const struct guard_parts_row *row,
		       uint64_t at, uint64_t size)
{
	const struct guard_part *p = such_at(g, row, at);

	return p && is_within((struct bounds){ p->start, p->end }, at, size);
}

/* Of an array, with @p own bounds, that is where pointers to @p anchor are meant for: may elements of it be accessed so, by
 * is_as_elements() of hg_astray.c? */
static bool is_as_elements(const struct guard_class *c, uint64_t anchor,
			   struct bounds own, const struct dec_mem *m, uint64_t size)
{
	const struct guard_part *p = c->n_layouts == 1 ? part_at(c, 0, anchor) : NULL;

	if (!p || !p->is_array || p->is_of_structs || p->element == UINT8_MAX ||
	    p->start != own.start || p->end != own.end)
		return true;
	return size == p->element ||
	       (m->is_write && (size >= VECTOR_BYTES ||
				(m->index != DEC_REG_NONE && m->scale == p->element)));
}

/* Of an array that the pointer is to but the access is not within: is it quiet by hg_astray.c, whatever was done? */
static bool is_quiet(const struct guard_class *c, const struct guard_parts_row *row,
		     const struct dec_mem *m, const uint64_t *gpr, int64_t anchor,
		     struct bounds own, uint64_t at, uint64_t size)
{
	bool is_indexed = m->index != DEC_REG_NONE;

	if (own.start == own.end) // several, perhaps
		return false;
	return at < own.start || (!m->is_write && !is_indexed) ||
	       (!is_indexed && gpr[m->base] == row->node_start) ||
	       !is_as_elements(c, anchor, own, m, size);
}

/* From the start of blocks of class @p class the instruction of @p site may access what is in @p own. */
static void keep_access(struct dec_guard *g, uint32_t class, uint32_t site,
			struct bounds own)
{
	if (own.end <= UINT32_MAX)
		*(struct guard_move *)((char *)g->moves +
				       dec_guard_move_at(class << 6, site)) =
			(struct guard_move){ class, site, own.start,
					     own.end - own.start };
}

bool dec_guard_parts_is_right(struct dec_engine *e, uint32_t tag,
			      const struct dec_insn *insn, const struct dec_mem *m,
			      const uint64_t *gpr, uint64_t addr, uint64_t size)
{
	struct dec_guard *g = e->guard;
	const struct guard_parts_row *row = dec_guard_parts_row(g, tag);
	struct bounds own = own_of(row), other = own;
	uint64_t at = addr - row->node_start;
	bool is_start = row->way <= GUARD_WAY_START;
	uint64_t whole = node_at(g, row)->size;
	int64_t anchor = row->anchor;
	int64_t behind = row->behind == GUARD_VAGUE ? ANCHORS : anchor + row->behind;

	if (!dec_guard_is_own(g, insn->rip))
		return dec_guard_parts_may(g, tag, addr, size, 0);
	if (is_start && m->index == DEC_REG_NONE)
		return true;
	if (is_start) {
		anchor = behind = gpr[m->base] + m->disp - row->node_start;
		if (anchor < 0)
			return true;
		bound(&g->classes.data[row->class], anchor, &own, &other);
	}
	if (row->way == GUARD_WAY_START && e->ctx->tag[m->base] == tag &&
	    gpr[m->base] == row->node_start)
		keep_access(g, row->class, dec_guard_parts_site(g, insn->rip) + 1, own);
	if (is_within(own, at, size) ||
	    is_quiet(&g->classes.data[row->class], row, m, gpr, behind, own, at, size) ||
	    is_in_such(g, row, at, size))
		return true;
	if (insn->is_rep && row->way == GUARD_WAY_PART && // to the end: all is meant
	    (anchor + size == whole || (!own.start && at + size == whole)))
		return true;
	return is_start && !anchor && !m->is_write && size == 1; // is_vague()
}

bool dec_guard_parts_may(const struct dec_guard *g, uint32_t tag, uint64_t addr,
			 uint64_t size, uint64_t intent)
{
	const struct guard_parts_row *row = dec_guard_parts_row(g, tag);
	uint64_t at = addr - row->node_start, whole = node_at(g, row)->size;
	uint64_t anchor = row->way <= GUARD_WAY_START ? 0 : row->anchor;

	if (row->way == GUARD_WAY_UNKNOWN)
		return false;
	intent = intent ?: g->fill.bytes;
	return is_within(other_of(row), at, size) || is_in_such(g, row, at, size) ||
	       (intent && (anchor + intent == whole || (!anchor && intent >= whole)));
}

uint64_t dec_guard_parts_room(const struct dec_guard *g, uint32_t tag, uint64_t addr)
{
	const struct guard_parts_row *row = dec_guard_parts_row(g, tag);
	uint64_t at = addr - row->node_start;
	const struct guard_part *p = such_at(g, row, at);
	struct bounds b = other_of(row);

	if (dec_guard_parts_may(g, tag, addr, UINT64_MAX, 0))
		return node_at(g, row)->size - at;
	if (p && (at < b.start || at >= b.end))
		return p->end - at;
	return at >= b.start && at < b.end ? b.end - at : 0;
}

bool dec_guard_parts_spill(const struct dec_guard *g, uint32_t tag, uint64_t addr,
			   uint64_t size, uint32_t source, uint64_t from)
{
	const struct guard_parts_row *row = dec_guard_parts_row(g, tag), *same;
	const struct guard_class *c = &g->classes.data[row->class];
	uint64_t at = addr - row->node_start;

	if (!dec_guard_has_parts(tag) || !node_at(g, row)->is_live)
		return false;
	same = dec_guard_has_parts(source) ? dec_guard_parts_row(g, source) : NULL;
	if (same && c->n_layouts == 1 && g->classes.data[same->class].n_layouts == 1 &&
	    c->layout == g->classes.data[same->class].layout &&
	    node_at(g, same)->is_live && from - same->node_start == at)
		return false;
	return vec_find(&c->parts, p,
			p->is_array && p->element == 1 && p->offset == at &&
				p->start == at && at + size > p->end) != NULL;
}
