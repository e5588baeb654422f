// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a moment made, as people write it: memory of the heap, and pointers there, by names.
 */
#ifndef REPORT_MADE_H
#define REPORT_MADE_H

#include "faultlocate/slice/view.h"
#include "report/names.h"

/** Of the heap at any time. Zeroed: there is none, and nothing in it has a name. */
struct report_made {
	const struct fl_namer *namer;
	struct fl_finder finder;
};

/** @param namer  borrowed; NULL: there is no heap. @return ERR_NOMEM; deinit is right in any case. */
struct err *report_made_init(struct report_made *m, const struct fl_namer *namer);
void report_made_deinit(struct report_made *m);

/** Write @p made, at @p time, into @p buf: "n5.next = n4", "i = 3"; "" when nothing is known.
 * @param addr  of the memory that it is; 0: it is none. */
void report_made_text(struct report_made *m, const struct fl_view_made *made,
		      uint64_t addr, uint64_t time, char *buf, size_t size);

#endif
