// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A ring that the kernel fills (perf_event_mmap_page in linux/perf_event.h), as memory: the
 * page, the records, the AUX area. Nothing here opens or maps, so that tests make rings of
 * ordinary memory, in states that a kernel is seldom seen in. Private to pt-collect/.
 *
 * Invariants:
 *  1. Of what another CPU writes nothing is read but what a head, loaded with acquire,
 *     covers; room is given back by a store with release, after the last read.
 *  2. Whatever stands in the ring, nothing outside it is read, and reading comes to an end.
 */
#ifndef PT_COLLECT_PT_RING_H
#define PT_COLLECT_PT_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ptc_ring {
	struct perf_event_mmap_page *page;
	uint8_t *data;
	uint64_t data_bytes; ///< a power of two
	uint8_t *aux;	     ///< NULL = none
	uint64_t aux_bytes;  ///< a multiple of the page size
	/** Snapshot mode: the kernel overwrites the oldest AUX data, and heads do not grow
	 * without bound but are places in it. */
	bool is_overwriting;
	uint64_t n_damaged; ///< how often what stood in data was no record
	uint64_t n_overrun; ///< AUX bytes that were overwritten before they were read
};

/** Hand every record that is there to @p take, whole, in order, and free its room; @p take
 * may keep nothing. It ends early when @p take returns false; that record is taken. */
void ptc_ring_drain(struct ptc_ring *r,
		    bool (*take)(void *ctx, const struct perf_event_header *rec),
		    void *ctx);

/**
 * Hand the AUX data that is there to @p take, in one or two pieces, and free its room.
 * Not for snapshot mode.
 *
 * @param take  gets where in the stream (all that ever was in the ring) @p data stands.
 *		When it returns false nothing is freed.
 */
void ptc_ring_drain_aux(struct ptc_ring *r,
			bool (*take)(void *ctx, uint64_t offset, const uint8_t *data,
				     size_t bytes),
			void *ctx);

/** What a snapshot finds. */
struct ptc_aux_window {
	/** Place of the first byte, counted as in a stream: its place in the ring is the
	 * remainder by the ring's size. */
	uint64_t offset;
	uint64_t bytes;
	bool has_wrapped; ///< there was more before
	bool has_psb;	  ///< else nothing of it can be decoded
};

/** Snapshot mode, nothing being written: what there is, from the first PSB on when there is
 * one (a decoder could do nothing with what is before). */
struct ptc_aux_window ptc_ring_window(const struct ptc_ring *r);

/** The piece of the AUX area at @p offset, at most @p bytes. @p ret gets how many. */
const uint8_t *ptc_ring_piece(const struct ptc_ring *r, uint64_t offset, uint64_t bytes,
			      size_t *ret);

#endif
