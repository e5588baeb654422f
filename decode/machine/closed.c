// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/closed.h"

#include <signal.h>
#include <sys/mman.h>

#include "decode/machine/machine.h"

#define PAGE 4096ull
#define PIECE (16 * PAGE) ///< costs as much to open as the fault that asks for it
#define SPANS_MAX \
	8192 ///< each may be a mapping of its own, of which the kernel allows 65530
#define SPANS_FIRST 4096 ///< so many at the beginning of a question

struct closed_spans {
	size_t n;
	struct dec_span span[SPANS_MAX];
};

/* What is not in the list may be stored to, but for code that was translated: so the next question
 * closes all that is not in it. */
static struct {
	struct closed_spans list[2]; ///< ascending, disjoint: closed because of us
	int current;		     ///< of the two
	bool is_asking;
	bool is_amiss; ///< something is not as the list has it: all is to be opened
} closed;

/* ---- the list ----------------------------------------------------------------------- */

ENGINE_BARE static struct closed_spans *closed_now(void)
{
	return &closed.list[closed.current];
}

/* Index of the first span that ends behind @p addr. */
ENGINE_BARE static size_t closed_lower(const struct closed_spans *c, uint64_t addr)
{
	size_t low = 0, high = c->n;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (c->span[mid].end <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Span @p i becomes [start, from) and [to, end). @return false: there is no place for the second. */
ENGINE_BARE static bool closed_cut(struct closed_spans *c, size_t i, uint64_t from,
				   uint64_t to)
{
	struct dec_span *s = &c->span[i];
	bool has_left = s->start < from, has_right = to < s->end;

	if (has_left && has_right && c->n == SPANS_MAX)
		return false;
	if (has_left && has_right) {
		for (size_t k = c->n++; k > i; k--)
			c->span[k] = c->span[k - 1];
		s[1].start = to;
		s->end = from;
	} else if (has_left) {
		s->end = from;
	} else if (has_right) {
		s->start = to;
	} else {
		c->n--;
		for (size_t k = i; k < c->n; k++)
			c->span[k] = c->span[k + 1];
	}
	return true;
}

/* [from, to) of span @p i may be stored to. Where the list, or the kernel, has no place for what is left, all of the
 * span. */
ENGINE_BARE static bool closed_open(struct closed_spans *c, size_t i, uint64_t from,
				    uint64_t to)
{
	struct dec_span s = c->span[i];

	if (dec_guest_protect_bare(from, to - from, PROT_READ | PROT_WRITE) &&
	    closed_cut(c, i, from, to))
		return true;
	closed.is_amiss |=
		!dec_guest_protect_bare(s.start, s.end - s.start, PROT_READ | PROT_WRITE);
	closed_cut(c, i, s.start, s.end);
	return !closed.is_amiss;
}

/* ---- between questions ---------------------------------------------------------------- */

ENGINE_BARE static bool closed_on_fault(int signo, int code, uint64_t addr)
{
	struct closed_spans *c = closed_now();
	size_t i = closed_lower(c, addr);
	uint64_t from = addr & ~(PIECE - 1), to = from + PIECE;

	if (signo != SIGSEGV || code != SEGV_ACCERR || closed.is_asking || i == c->n ||
	    addr < c->span[i].start)
		return false;
	return closed_open(c, i, from > c->span[i].start ? from : c->span[i].start,
			   to < c->span[i].end ? to : c->span[i].end);
}

/* Whoever changes how [start, end) is mapped finds it as if nothing had been closed. During a question it may be
 * stored to only once that was noticed. */
static void closed_on_remap(uint64_t start, uint64_t end)
{
	struct closed_spans *c = closed_now();
	uint64_t from = start & ~(PAGE - 1),
		 to = end > UINT64_MAX - PAGE ? end : (end + PAGE - 1) & ~(PAGE - 1);

	for (size_t i; (i = closed_lower(c, from)) < c->n && c->span[i].start < to;) {
		struct dec_span s = c->span[i];
		uint64_t low = from > s.start ? from : s.start,
			 high = to < s.end ? to : s.end;

		if (!closed.is_asking) {
			closed_open(c, i, low, high);
		} else if (!closed_cut(c, i, low, high)) {
			closed.is_amiss = true;
			closed_cut(c, i, s.start, s.end);
		}
	}
}

bool dec_closed_can(const struct dec_guest *g)
{
	bool is_ours = g->remapping == closed_on_remap;

	return is_ours || (!g->remapping && !dec_engine_is_asked_first());
}

/* ---- a question ----------------------------------------------------------------------- */

/* [from, to) is closed. Ascending. */
static void closed_add(struct closed_spans *c, uint64_t from, uint64_t to)
{
	if (c->n && c->span[c->n - 1].end == from)
		c->span[c->n - 1].end = to;
	else if (c->n < SPANS_FIRST)
		c->span[c->n++] = (struct dec_span){ from, to };
	else
		closed.is_amiss = true;
}

/* Where code is mapped again it need not be executable. */
static bool closed_may_have_code(const struct dec_guest *g, const struct guest_range *r)
{
	return g->code.size &&
	       (r->prot & PROT_EXEC ||
		vec_find(&g->aliases, a,
			 a->is_real && a->start < r->end && r->start < a->end));
}

/* What is between @p from and @p to of @p r, and not code, is to be closed, or opened. @p c: the list; NULL: opened. */
static bool closed_set(const struct dec_guest *g, const struct guest_range *r,
		       uint64_t from, uint64_t to, struct closed_spans *c)
{
	uint64_t prot = c ? PROT_READ : PROT_READ | PROT_WRITE;
	bool ret = true, has_code = closed_may_have_code(g, r);

	for (uint64_t page = from, next; page < to; page = next + PAGE) {
		for (next = has_code ? page : to;
		     next < to && !map_get(&g->code, next >> 12);)
			next += PAGE;
		if (page == next)
			continue;
		ret &= dec_guest_protect_bare(page, next - page, prot);
		if (c)
			closed_add(c, page, next);
	}
	return ret;
}

/* What may be written of @p r is in the list, beside code. */
static bool closed_close(const struct dec_guest *g, const struct guest_range *r,
			 const struct closed_spans *was, struct closed_spans *now)
{
	uint64_t at = r->start;
	bool ret = true;

	for (size_t i = closed_lower(was, at); i < was->n && was->span[i].start < r->end;
	     i++) {
		struct dec_span s = was->span[i];
		uint64_t end = s.end < r->end ? s.end : r->end;

		if (s.start > at) {
			ret &= closed_set(g, r, at, s.start, now);
			at = s.start;
		}
		closed_add(now, at, end);
		at = end;
	}
	return closed_set(g, r, at, r->end, now) && ret;
}

bool dec_closed_begin(struct dec_guest *g)
{
	struct closed_spans *now = &closed.list[!closed.current];
	bool ret = true;

	g->remapping = closed_on_remap;
	dec_engine_ask_first(closed_on_fault);
	now->n = 0;
	if (closed.is_amiss)
		closed_now()->n = 0;
	closed.is_amiss = false;
	for (size_t i = 0; i < g->ranges.size; i++)
		if (g->ranges.data[i].prot & PROT_WRITE)
			ret &= closed_close(g, &g->ranges.data[i], closed_now(), now);
	closed.current = !closed.current;
	closed.is_asking = true;
	closed.is_amiss |= !ret;
	return ret;
}

bool dec_closed_open(uint64_t page)
{
	closed_on_remap(page, page + PAGE);
	return dec_guest_protect_bare(page, PAGE, PROT_READ | PROT_WRITE);
}

bool dec_closed_end(const struct dec_guest *g)
{
	bool ret = true;

	closed.is_asking = false;
	if (!closed.is_amiss)
		return true;
	for (size_t i = 0; i < g->ranges.size; i++) {
		const struct guest_range *r = &g->ranges.data[i];

		if (r->prot & PROT_WRITE)
			ret &= closed_set(g, r, r->start, r->end, NULL);
	}
	closed_now()->n = 0;
	closed.is_amiss = false;
	return ret;
}

void dec_closed_drop(struct dec_guest *g)
{
	if (g->remapping != closed_on_remap)
		return;
	closed_on_remap(0, UINT64_MAX);
	g->remapping = NULL;
	dec_engine_ask_first(NULL);
}
