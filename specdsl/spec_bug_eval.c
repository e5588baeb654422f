// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Does a bug rule's condition hold? A number is a value with the block it belongs to. A quantifier
 * over blocks whose condition has `bid == Bid(r)` looks at that block alone; otherwise at all.
 */
#include <string.h>

#include "specdsl/spec_bug.h"

struct eval {
	const struct spec_bug_world *w;
	struct spec_bug_value *slot;
	const struct bug
		*all; ///< of this quantifier every element is told, one after the other,
	uint32_t *next; ///< .. from here on
	uint32_t taken; ///< slots that patterns have bound: bits
};

typedef struct spec_bug_value value;

static bool holds(struct eval *e, const struct bug *n);
static value number(struct eval *e, const struct bug *n);

static value plain(uint64_t n)
{
	return (value){ .n = n, .is_bound = true };
}

/* ---- blocks --------------------------------------------------------------------------------- */

static const struct hg_node *block(const struct eval *e, uint32_t bid)
{
	return e->w->graph && bid && bid <= hg_graph_nodes(e->w->graph) ?
		       hg_graph_node(e->w->graph, (struct hg_node_id){ bid }) :
		       NULL;
}

static bool is_live(const struct eval *e, uint32_t bid)
{
	return block(e, bid)->died == UINT64_MAX;
}

static value of_block(const struct eval *e, enum bug_word word, value v)
{
	const struct hg_node *b = block(e, v.bid);

	if (word == WORD_BID || word == WORD_BLOCK)
		return (value){ .n = v.bid, .bid = v.bid, .is_bound = v.bid != 0 };
	if (word == WORD_TIME && v.time)
		return plain(v.time);
	if (!b)
		return (value){};
	switch (word) {
	case WORD_IDX:
		return plain(v.n - b->start);
	case WORD_BEGIN:
		return (value){ .n = b->start, .bid = v.bid, .is_bound = true };
	case WORD_END:
		return (value){ .n = b->start + b->size, .bid = v.bid, .is_bound = true };
	case WORD_SIZE:
		return plain(b->size);
	case WORD_FAMILY:
		return plain(e->w->family ? e->w->family(e->w->ctx, v.bid) : 0);
	default:
		return plain(b->born);
	}
}

static value word(struct eval *e, const struct bug *n)
{
	const struct spec_bug_world *w = e->w;
	value v = n->a ? number(e, n->a) : (value){}, ret = {};

	switch (n->word) {
	case WORD_WIDTH:
		return plain(w->width);
	case WORD_BASE:
		return plain(w->base);
	case WORD_RELEASER:
		return plain(w->releaser);
	case WORD_TOLD:
		return w->is_told ? plain(w->told) : ret;
	case WORD_READS:
		return plain(w->reads);
	case WORD_WRITES:
		return plain(w->writes);
	case WORD_PART_BEGIN:
		return w->part_end ? plain(w->part_start) : ret;
	case WORD_PART_END:
		return w->part_end ? plain(w->part_end) : ret;
	case WORD_STORAGE:
		return plain(w->storage);
	case WORD_VAR_BEGIN:
		return w->storage ? plain(w->var_start) : ret;
	case WORD_VAR_END:
		return w->storage ? plain(w->var_end) : ret;
	case WORD_VALUE:
		ret.is_bound = w->read && v.is_bound && w->read(w->ctx, v.n, &ret.n);
		return ret;
	case WORD_BLOCK:
		if (!v.bid)
			v.bid = v.n;
		return of_block(e, WORD_BLOCK, v);
	default:
		return of_block(e, n->word, v);
	}
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* A pointer and a number is a pointer; what is made of a value that is not known is not known. */
static value number(struct eval *e, const struct bug *n)
{
	value a, b;

	switch (n->kind) {
	case BUG_NUMBER:
		return plain(n->number);
	case BUG_SLOT:
		return e->slot[n->number];
	case BUG_WORD:
		return word(e, n);
	case BUG_LAST:
		return plain(e->w->entered);
	default:
		break;
	}
	a = number(e, n->a);
	b = number(e, n->b);
	a.bid = a.bid ? a.bid : b.bid;
	a.is_bound &= b.is_bound;
	switch (n->kind) {
	case BUG_ADD:
		a.n += b.n;
		break;
	case BUG_SUB:
		a.n -= b.n;
		break;
	case BUG_MUL:
		a.n *= b.n;
		break;
	default:
		a.n &= b.n;
	}
	return a;
}

/* Addresses have no sign, distances have: small ones decide as either. */
static bool compare(enum ast_op op, value a, value b)
{
	bool is_distance = a.n + (1ull << 47) < 1ull << 48 &&
			   b.n + (1ull << 47) < 1ull << 48;
	bool is_less = is_distance ? (int64_t)a.n < (int64_t)b.n : a.n < b.n;

	if (!a.is_bound || !b.is_bound)
		return false;
	switch (op) {
	case OP_EQ:
		return a.n == b.n;
	case OP_NE:
		return a.n != b.n;
	case OP_LE:
		return is_less || a.n == b.n;
	case OP_GE:
		return !is_less;
	case OP_LT:
		return is_less;
	default:
		return !is_less && a.n != b.n;
	}
}

/* ---- quantifiers ---------------------------------------------------------------------------- */

static bool mentions(const struct bug *n, int slot)
{
	if (!n)
		return false;
	return (n->kind == BUG_SLOT && (int)n->number == slot) || mentions(n->a, slot) ||
	       mentions(n->b, slot);
}

/* In a conjunction: what is `slot` said to equal? */
static const struct bug *equal_to(const struct bug *n, int slot)
{
	const struct bug *found;

	if (!n || slot < 0)
		return NULL;
	if (n->kind == BUG_AND) {
		found = equal_to(n->a, slot);
		return found ? found : equal_to(n->b, slot);
	}
	if (n->kind != BUG_COMPARE || n->op != OP_EQ)
		return NULL;
	if (n->a->kind == BUG_SLOT && (int)n->a->number == slot && !mentions(n->b, slot))
		return n->b;
	return n->b->kind == BUG_SLOT && (int)n->b->number == slot &&
			       !mentions(n->a, slot) ?
		       n->a :
		       NULL;
}

/* A place of a pattern takes @p v: if it has a value already, this must be it. */
static bool take(struct eval *e, int slot, value v)
{
	if (slot < 0)
		return true;
	if (e->slot[slot].is_bound)
		return e->slot[slot].n == v.n;
	e->slot[slot] = v;
	e->taken |= 1u << slot;
	return true;
}

_Static_assert(SPEC_BUG_SLOTS <= 32, "bits of taken");

/* What was bound since @p before, for what does not hold, or is said not to, is forgotten. */
static void forget(struct eval *e, uint32_t before)
{
	for (uint32_t left = e->taken & ~before; left; left &= left - 1)
		e->slot[__builtin_ctz(left)] = (value){};
	e->taken = before;
}

/* Does block @p bid match the pattern? */
static bool match(struct eval *e, const struct bug *n, uint32_t bid)
{
	const struct hg_node *b = block(e, bid);
	value id = { .n = bid, .bid = bid, .is_bound = true };
	bool is_free = n->set == BUG_SET_FREE;
	uint64_t time = is_free ? b->died : b->born;

	switch (n->set) {
	case BUG_SET_LIVE:
		return is_live(e, bid) && take(e, n->pattern[0], id);
	case BUG_SET_FREED:
		return !is_live(e, bid) && take(e, n->pattern[0], id);
	default:
		id.time = time;
		return (!is_free || !is_live(e, bid)) &&
		       take(e, n->pattern[0], plain(time)) &&
		       take(e, n->pattern[1],
			    is_free ? (value){ b->start, bid, time, true } :
				      plain(b->size)) &&
		       take(e, n->pattern[2], id);
	}
}

static bool element(struct eval *e, const struct bug *n, uint32_t i)
{
	uint32_t before = e->taken;
	bool is_there;

	is_there = n->set == BUG_SET_POINTER ? take(e, n->pattern[0], e->w->pointers[i]) :
					       match(e, n, i + 1);
	if (n->kind == BUG_EXISTS && is_there && (!n->a || holds(e, n->a)))
		return true;
	if (n->kind == BUG_FORALL && is_there && !holds(e, n->a))
		return true;
	forget(e, before);
	return false;
}

/* Is there one for which it is so (forall: not so)? */
static bool search(struct eval *e, const struct bug *n)
{
	uint32_t n_all = n->set == BUG_SET_POINTER ? e->w->n_pointers :
			 e->w->graph		   ? hg_graph_nodes(e->w->graph) :
						     0;
	int key = n->set == BUG_SET_MALLOC || n->set == BUG_SET_FREE ? n->pattern[2] :
								       n->pattern[0];
	const struct bug *only = n->kind == BUG_EXISTS && n->set != BUG_SET_POINTER ?
					 equal_to(n->a, key) :
					 NULL;

	if (only) {
		value v = number(e, only);

		return v.is_bound && v.n && v.n <= n_all && element(e, n, v.n - 1);
	}
	for (uint32_t i = e->all == n ? *e->next : 0; i < n_all; i++) {
		if (!element(e, n, i))
			continue;
		if (e->all == n)
			*e->next = i + 1;
		return true;
	}
	if (e->all == n)
		*e->next = n_all;
	return false;
}

/* ---- conditions ----------------------------------------------------------------------------- */

static bool word_holds(struct eval *e, const struct bug *n)
{
	const struct spec_bug_world *w = e->w;
	value v = number(e, n->a);

	if (!v.is_bound)
		return false;
	switch (n->word) {
	case WORD_REACHABLE:
		return w->is_reachable && w->is_reachable(w->ctx, v.bid);
	case WORD_LED_TO:
		return w->is_led_to && w->is_led_to(w->ctx, v.bid);
	case WORD_WRITTEN:
		return w->is_written && w->is_written(w->ctx, v.n, w->width);
	case WORD_GONE:
		return w->is_gone;
	case WORD_ENDED:
		return w->is_ended;
	case WORD_REFUSED:
		return w->is_refused && w->is_refused(w->ctx, v.n);
	case WORD_OPEN:
		return w->is_open && w->is_open(w->ctx, v.n);
	default:
		return w->was_closed && w->was_closed(w->ctx, v.n);
	}
}

static bool holds(struct eval *e, const struct bug *n)
{
	uint32_t before = e->taken;
	bool is_so;

	switch (n->kind) {
	case BUG_AND:
		return holds(e, n->a) && holds(e, n->b);
	case BUG_OR:
		if (holds(e, n->a))
			return true;
		forget(e, before);
		return holds(e, n->b);
	case BUG_NOT:
		is_so = !holds(e, n->a);
		forget(e, before);
		return is_so;
	case BUG_COMPARE:
		return compare(n->op, number(e, n->a), number(e, n->b));
	case BUG_EXISTS:
		return search(e, n);
	case BUG_FORALL:
		return !search(e, n);
	case BUG_LAST:
		return n->a ? e->w->is_written &&
				       e->w->is_written(e->w->ctx, number(e, n->a).n,
							e->w->width) :
			      e->w->entered != 0;
	default:
		return word_holds(e, n);
	}
}

bool spec_bug_holds(const struct spec *s, size_t i, const struct spec_bug_world *w,
		    struct spec_bug_value slots[SPEC_BUG_SLOTS])
{
	struct eval e = { .w = w, .slot = slots };

	return holds(&e, s->bugs.data[i]->condition);
}

bool spec_bug_next(const struct spec *s, size_t i, const struct spec_bug_world *w,
		   struct spec_bug_value slots[SPEC_BUG_SLOTS], uint32_t *next)
{
	const struct bug *n = s->bugs.data[i]->condition;
	struct eval e = { .w = w,
			  .slot = slots,
			  .all = n->kind == BUG_EXISTS ? n : NULL,
			  .next = next };

	if (!e.all && (*next)++)
		return false;
	return holds(&e, n);
}

/* ---- what need not be asked ----------------------------------------------------------------- */

enum maybe { NO, YES, MAYBE };

static bool is_word_of(const struct bug *n, enum bug_word word)
{
	return n->kind == BUG_WORD && n->word == word && n->a->kind == BUG_SLOT &&
	       n->a->number == 0;
}

static bool is_pointer(const struct bug *n)
{
	return n->kind == BUG_SLOT && n->number == 0;
}

/* r, or what is behind the access: r + Width() */
static bool is_behind(const struct bug *n)
{
	return is_pointer(n) || (n->kind == BUG_ADD && is_pointer(n->a) &&
				 n->b->kind == BUG_WORD && n->b->word == WORD_WIDTH);
}

static bool is_null(const struct bug *n)
{
	return n->kind == BUG_NUMBER && !n->number;
}

/* Of an access inside of a block that lives: Begin(r) <= r < r + Width() <= End(r). No pointer that
 * is accessed by without a fault is NULL. */
static enum maybe compare_may(const struct bug *n, bool has_block)
{
	bool has_bounds = has_block &&
			  (is_word_of(n->b, WORD_BEGIN) || is_word_of(n->b, WORD_END));

	if (is_null(n->b) && (is_pointer(n->a) || is_word_of(n->a, WORD_BASE)))
		return n->op == OP_EQ ? NO : n->op == OP_NE ? YES : MAYBE;
	if (is_null(n->b) && is_word_of(n->a, WORD_BID) && n->op <= OP_NE)
		return (n->op == OP_NE) == has_block ? YES : NO;
	// What leaves its part is no plain access, and comparisons with none are false.
	if (is_word_of(n->b, WORD_PART_BEGIN) && is_pointer(n->a) && n->op == OP_LT)
		return NO;
	if (is_word_of(n->b, WORD_PART_END) && is_behind(n->a) &&
	    (n->op == OP_GT || (n->op == OP_GE && is_pointer(n->a))))
		return NO;
	if (!has_bounds)
		return MAYBE;
	if (is_word_of(n->b, WORD_BEGIN) && is_pointer(n->a))
		return n->op == OP_LT ? NO : n->op == OP_GE ? YES : MAYBE;
	if (is_word_of(n->b, WORD_END) && is_pointer(n->a))
		return n->op == OP_GE || n->op == OP_GT || n->op == OP_EQ ? NO : YES;
	if (is_word_of(n->b, WORD_END) && is_behind(n->a))
		return n->op == OP_GT ? NO : n->op == OP_LE ? YES : MAYBE;
	return MAYBE;
}

/* `exists event(_, malloc, _, bid) in Trace suchthat bid == Bid(r)` and the like. */
static enum maybe exists_may(const struct bug *n, bool has_block)
{
	int key = n->set == BUG_SET_MALLOC || n->set == BUG_SET_FREE ? n->pattern[2] :
								       n->pattern[0];
	const struct bug *only = n->set == BUG_SET_POINTER ? NULL : equal_to(n->a, key);

	if (!only || !is_word_of(only, WORD_BID))
		return MAYBE;
	if (!has_block)
		return NO;
	if (n->set == BUG_SET_FREE || n->set == BUG_SET_FREED)
		return NO;
	return n->a->kind == BUG_COMPARE ? YES : MAYBE;
}

static enum maybe may(const struct bug *n, bool has_block)
{
	enum maybe a = n->kind == BUG_AND || n->kind == BUG_OR || n->kind == BUG_NOT ?
			       may(n->a, has_block) :
			       MAYBE;
	enum maybe b = n->kind == BUG_AND || n->kind == BUG_OR ? may(n->b, has_block) :
								 MAYBE;

	switch (n->kind) {
	case BUG_AND:
		return a == NO || b == NO ? NO : a == YES && b == YES ? YES : MAYBE;
	case BUG_OR:
		return a == YES || b == YES ? YES : a == NO && b == NO ? NO : MAYBE;
	case BUG_NOT:
		return a == YES ? NO : a == NO ? YES : MAYBE;
	case BUG_COMPARE:
		return compare_may(n, has_block);
	case BUG_EXISTS:
		return exists_may(n, has_block);
	default:
		return MAYBE;
	}
}

bool spec_bug_may_hold(const struct spec *s, size_t i, bool has_block)
{
	return may(s->bugs.data[i]->condition, has_block) != NO;
}

/* ---- what it is ----------------------------------------------------------------------------- */

static unsigned needs(const struct bug *n)
{
	unsigned own = 0;

	if (!n)
		return 0;
	if (n->kind == BUG_WORD)
		own = spec_bug_words[n->word].needs;
	if ((n->kind == BUG_EXISTS || n->kind == BUG_FORALL) && n->set == BUG_SET_POINTER)
		own |= SPEC_NEED_POINTERS;
	if (n->kind == BUG_LAST && n->a)
		own |= SPEC_NEED_WRITTEN;
	return own | needs(n->a) | needs(n->b);
}

unsigned spec_bug_needs(const struct spec *s, size_t i)
{
	return needs(s->bugs.data[i]->condition);
}

size_t spec_bugs(const struct spec *s)
{
	return s->bugs.size;
}

const struct spec_bug *spec_bug(const struct spec *s, size_t i)
{
	return &s->bugs.data[i]->pub;
}

const char *spec_bug_slot(const struct spec *s, size_t i, int slot)
{
	const struct spec_bug_rule *r = s->bugs.data[i];

	return slot >= 0 && slot < r->n_slots ? r->slot[slot] : NULL;
}
