// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/heed.h"

#include <signal.h>
#include <sys/mman.h>

#define PAGE 4096ull
#define SPANS_MAX 64
#define RUNS_MAX 64	      ///< of neighbouring pages
#define PAGES_MAX (16u << 10) ///< to be looked at one by one, for every stretch

static struct {
	struct dec_guest *guest;
	bool is_written;
	size_t n_spans;
	struct dec_span span[SPANS_MAX]; ///< whole pages
	size_t n_runs;			 ///< 0: nothing is read-only because of us
	struct dec_span run[RUNS_MAX];
} heed;

/* What was asked for is written to, for all that is known: it needs no heed any more. */
ENGINE_BARE static void heed_written(void)
{
	heed.is_written = true;
	for (size_t i = 0; i < heed.n_runs; i++)
		dec_guest_protect_bare(heed.run[i].start,
				       heed.run[i].end - heed.run[i].start,
				       PROT_READ | PROT_WRITE);
	heed.n_runs = 0;
}

ENGINE_BARE static bool heed_overlaps(const struct dec_span *all, size_t n,
				      uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < n; i++)
		if (start < all[i].end && all[i].start < end)
			return true;
	return false;
}

ENGINE_BARE static bool heed_on_fault(int signo, int code, uint64_t addr)
{
	if (signo != SIGSEGV || code != SEGV_ACCERR ||
	    !heed_overlaps(heed.run, heed.n_runs, addr, addr + 1))
		return false;
	heed_written();
	return true;
}

static void heed_on_remap(uint64_t start, uint64_t end)
{
	if (heed_overlaps(heed.span, heed.n_spans, start, end))
		heed_written();
}

/* Pages that the guest may not write now stay as they are: it would have to change the mapping
 * first. Those with code that was translated are read-only already, and for another reason.
 * @return false: this page cannot be heeded. */
static bool heed_page(struct dec_guest *g, uint64_t page)
{
	if (dec_guest_avail(g, page, PROT_WRITE) < PAGE)
		return !dec_guest_avail(g, page, PROT_WRITE);
	if (map_get(&g->code, page >> 12))
		return false;
	if (heed.n_runs && heed.run[heed.n_runs - 1].end == page) {
		heed.run[heed.n_runs - 1].end += PAGE;
		return true;
	}
	if (heed.n_runs == RUNS_MAX)
		return false;
	heed.run[heed.n_runs].start = page;
	heed.run[heed.n_runs++].end = page + PAGE;
	return true;
}

static bool heed_spans(struct dec_guest *g, const struct dec_span *spans, size_t n)
{
	uint64_t left = PAGES_MAX;

	if (n > SPANS_MAX)
		return false;
	for (; heed.n_spans < n; heed.n_spans++) {
		struct dec_span *s = &heed.span[heed.n_spans];

		*s = spans[heed.n_spans];
		s->start &= ~(PAGE - 1);
		s->end = (s->end + PAGE - 1) & ~(PAGE - 1);
		for (uint64_t page = s->start; page < s->end; page += PAGE)
			if (!left-- || !heed_page(g, page))
				return false;
	}
	for (size_t i = 0; i < heed.n_runs; i++)
		if (!dec_guest_protect_bare(heed.run[i].start,
					    heed.run[i].end - heed.run[i].start,
					    PROT_READ))
			return false;
	return true;
}

void dec_heed_begin(struct dec_guest *g, const struct dec_span *spans, size_t n)
{
	heed.guest = g;
	heed.is_written = false;
	heed.n_spans = heed.n_runs = 0;
	g->remapping = heed_on_remap;
	dec_engine_ask_first(heed_on_fault);
	if (!heed_spans(g, spans, n))
		heed_written();
}

bool dec_heed_end(void)
{
	bool is_written = heed.is_written;

	heed_written(); // all is writable again
	heed.guest->remapping = NULL;
	dec_engine_ask_first(NULL);
	return is_written;
}
