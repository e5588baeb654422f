// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reading the kernel side's ring.
 */
#include "pt-collect/kernel/records.h"

#define GIVE_BACK_BYTES (256u << 10)

static void give_back(struct ptc_records *r)
{
	__atomic_store_n(&r->ring->consumed, r->at, __ATOMIC_RELEASE);
}

/** @return the next one; NULL: it is not there, or not whole. */
static struct rec_frame *next(const struct ptc_records *r)
{
	void *place = &r->ring->data[r->at % REC_RING_BYTES];
	struct rec_frame *f = place;

	if (__atomic_load_n(&f->mark, __ATOMIC_ACQUIRE) !=
	    REC_MARK(r->ring->secret, r->at))
		return NULL;
	return f;
}

void ptc_records_take(struct ptc_records *r,
		      void (*take)(void *ctx, void *rec, size_t size), void *ctx)
{
	struct rec_frame *f;

	while ((f = next(r))) {
		r->at += REC_FRAMED(f->size);
		take(ctx, f + 1, f->size);
		if (r->at - r->ring->consumed >= GIVE_BACK_BYTES)
			give_back(r);
	}
	if (r->at != r->ring->consumed)
		give_back(r);
}
