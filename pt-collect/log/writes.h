// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Memory on its way into an event (writes.c).
 */
#ifndef PT_COLLECT_LOG_WRITES_H
#define PT_COLLECT_LOG_WRITES_H

#include <stdint.h>

#include "base/base.h"
#include "capture/capture.h"

/** Memory on its way into an event. */
struct ptc_writes {
	VEC(uint8_t) data;
	VEC(struct cap_write) list; ///< .data is an offset into data while collecting
};

/** Add a copy of @p data. @return false when memory is out. */
bool ptc_writes_add(struct ptc_writes *w, uint64_t addr, const void *data, size_t size);

/** Add all that @p from has, which has nothing then. Out of memory, the rest is lost. */
void ptc_writes_move(struct ptc_writes *w, struct ptc_writes *from);

/** Nothing is added any more: let @p ev show them. */
void ptc_writes_give(struct ptc_writes *w, struct cap_event *ev);
void ptc_writes_clear(struct ptc_writes *w);
void ptc_writes_deinit(struct ptc_writes *w);

#endif
