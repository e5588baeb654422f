// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Which of the guest's pages are there, and in which size.
 */
#include "base/pages.h"
#include "decode/machine/guest.h"

#include <string.h>
#include <sys/mman.h>

#define PAGE 4096ull
#define PIECE 4096 ///< pages looked at at once

// A larger range is a reservation: little of it is there, and to find that takes long.
#define RANGE_MOST (4ull << 30)

static uint64_t range_resident(const struct guest_range *r)
{
	uint64_t n = 0, end;
	uint8_t there[PIECE];

	for (uint64_t at = r->start; at < r->end; at = end) {
		end = r->end - at > PIECE * PAGE ? at + PIECE * PAGE : r->end;
		if (mincore((void *)at, end - at, there))
			continue;
		for (uint64_t i = 0; i < (end - at) / PAGE; i++)
			n += there[i] & 1;
	}
	return n * PAGE;
}

uint64_t dec_guest_resident(const struct dec_guest *g)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < g->ranges.size; i++) {
		const struct guest_range *r = &g->ranges.data[i];

		// Of a file the kernel tells what it has, not what the program looked at.
		if (r->end - r->start <= RANGE_MOST)
			sum += range_resident(r) / (r->prot & PROT_WRITE ? 1 : 2);
	}
	return sum;
}

/* May pages that are not there hold anything? A shared mapping's may. */
static bool is_shared(const struct dec_guest *g, uint64_t start, uint64_t end)
{
	return vec_find(&g->aliases, a,
			a->start < end && start < a->end && (a->is_shared || a->is_real));
}

struct guest_range dec_guest_touched(const struct dec_guest *g, uint64_t start,
				     uint64_t end)
{
	struct guest_range ret = { .start = end, .end = end };
	unsigned char there[PIECE];

	if (is_shared(g, start, end))
		return (struct guest_range){ .start = start, .end = end };
	for (uint64_t at = start & -PAGE, next; at < end; at = next) {
		next = end - at > PIECE * PAGE ? at + PIECE * PAGE : end;
		if (!pages_there((const void *)at, (next - at + PAGE - 1) / PAGE, there))
			memset(there, 1, sizeof(there));
		for (uint64_t i = 0; at + i * PAGE < next; i++) {
			bool is_first = ret.start == end;

			if (is_first && there[i] & 1)
				ret.start = at + i * PAGE > start ? at + i * PAGE : start;
			else if (!is_first && !(there[i] & 1))
				return (struct guest_range){ .start = ret.start,
							     .end = at + i * PAGE };
		}
	}
	return ret;
}

#define LARGE (2ull << 20)

// Since Linux 6.1; for which C's library has no name yet.
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static bool is_all_there(uint64_t at)
{
	uint8_t there[LARGE / 4096];

	return !mincore((void *)at, LARGE, there) && !memchr(there, 0, sizeof(there));
}

void dec_guest_gather(const struct dec_guest *g)
{
	for (size_t i = 0; i < g->ranges.size; i++) {
		const struct guest_range *r = &g->ranges.data[i];

		for (uint64_t at = (r->start + LARGE - 1) & ~(LARGE - 1);
		     r->prot & PROT_WRITE && at + LARGE <= r->end; at += LARGE)
			if (is_all_there(at))
				madvise((void *)at, LARGE, MADV_COLLAPSE);
	}
}
