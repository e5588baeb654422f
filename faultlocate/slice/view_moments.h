// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The moments of a view: all of them at first, of which those are kept that are nearest to what was
 * asked about. Private to view.c.
 */
#ifndef FAULTLOCATE_SLICE_VIEW_MOMENTS_H
#define FAULTLOCATE_SLICE_VIEW_MOMENTS_H

#include "faultlocate/slice/view.h"

enum { MOMENTS_WANTERS = 6 }; // of one thing that a library made

/** A moment, before those that are kept are chosen. */
struct placed {
	uint32_t statement, parent; ///< as in the view; FL_NONE: it is asked about
	uint32_t first, node; ///< nodes: the latest; the latest that defines something
	uint32_t ways;	      ///< moments between it and what is asked about
	uint8_t edge;
};

/** Moments that wanted a node of a library, beside its own. */
struct wanters {
	uint32_t n, moment[MOMENTS_WANTERS];
	uint8_t edge[MOMENTS_WANTERS]; ///< enum fl_edge: as what
};

/** Indices into `placed` are moments. */
struct moments {
	const struct fl_slice *s;
	VEC(struct placed) placed;
	VEC(struct fl_view_share) shares;
	struct map share_of; ///< from, to: those that there are
	VEC(struct wanters) wanters;
	// Of each node:
	uint32_t *of;	     ///< its moment; of a library's that of whom it worked for
	uint32_t *wanted_by; ///< 1 + index; 0: by none
	bool *is_folded;     ///< it is of a library
	bool *is_lost;	     ///< .. of which it is not known what needed it
	size_t next;	     ///< of the slice's shares
};

/** None so far, of slice @p s, borrowed. */
struct err *fl_moments_init(struct moments *m, const struct fl_slice *s);
void fl_moments_deinit(struct moments *m);

/** Place node @p i, the next one, of statement @p at (FL_NONE: it is folded), which was needed as @p edge. */
struct err *fl_moments_place(struct moments *m, uint32_t i, uint32_t at, uint8_t edge);

/** Put the nearest into @p v, v->most_moments at most. */
struct err *fl_moments_keep(const struct moments *m, struct fl_view *v);

#endif
