// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The kernel side's ring (struct rec_ring), as memory: reading it. Nothing here opens or maps, so
 * that tests make rings of ordinary memory, in states that a kernel is seldom seen in.
 *
 * Invariants:
 *  1. Of a record nothing is read before its mark, loaded with acquire, is that of its position;
 *     room is given back by a store with release, after the last read.
 *  2. Room is given back seldom: each time, the program's next call has to fetch the line.
 */
#ifndef PT_COLLECT_KERNEL_RECORDS_H
#define PT_COLLECT_KERNEL_RECORDS_H

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/record.h"

struct ptc_records {
	struct rec_ring *ring;
	uint64_t at; ///< position of the next record
};

/** Give each whole record, in order, to @p take, which may keep nothing, until there is none or
 * one that is not whole yet. */
void ptc_records_take(struct ptc_records *r,
		      void (*take)(void *ctx, void *rec, size_t size), void *ctx);

#endif
