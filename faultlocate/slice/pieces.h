// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which pieces of a run a slice can do without: stretches of one thread's instructions that are not
 * in it, with nothing of the kernel's between them. Private to slice/.
 */
#ifndef FAULTLOCATE_SLICE_PIECES_H
#define FAULTLOCATE_SLICE_PIECES_H

#include "base/base.h"
#include "faultlocate/slice/slice.h"

/** Steps [from, to). */
struct piece {
	uint64_t from, to;
	bool is_before_kernel; ///< the last one before a system call, a signal or a switch
};

struct pieces {
	VEC(struct piece) list; ///< ascending
	uint64_t first_event;	///< the position of the recording's first event
	uint64_t n_slice;	///< steps in the slice
};

/** Find them in the run that @p m, which stands at 0, makes up to @p end. Of no fewer steps than
 * @p least each, and so that there are no more than @p most. @p ret zeroed. */
struct err *fl_pieces_find(struct dec_machine *m, const struct fl_slice *s, uint64_t end,
			   uint64_t least, size_t most, struct pieces *ret);
void fl_pieces_deinit(struct pieces *p);

#endif
