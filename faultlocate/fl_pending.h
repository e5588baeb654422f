// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the traceback: P, the set of pending inconsistencies. Members keep their
 * place until they leave.
 */
#ifndef FAULTLOCATE_FL_PENDING_H
#define FAULTLOCATE_FL_PENDING_H

#include "specdsl/specdsl.h"

/** An inconsistency of P with the arguments to its check at the view's position. */
struct fl_pending {
	struct spec_violation v;
	struct spec_args args;
	uint32_t watch;	    ///< over args; 0: none
	uint32_t next_same; ///< another member with the same hash: index + 1; 0 ends
	uint64_t
		changed; ///< arguments that the operation just undone changed, a bit each
	uint64_t stored; ///< those of changed that it stored, and that were there before
	uint64_t counted; ///< those of changed that are degrees, not stored
	uint64_t settled; ///< arguments whose last change was met already
	uint32_t moves;	  ///< until it was one of the C-point; 0: it was there
	bool is_new;	  ///< the operation just undone introduced it
	bool is_past;	  ///< it was not there yet: who stored its arguments before?
	bool is_used;	  ///< false: a free place
};

/** A zeroed set is empty. */
struct fl_pendings {
	VEC(struct fl_pending) all; ///< with free places
	VEC(uint32_t) free;
	struct map by_hash; ///< of the violation -> index + 1
	size_t n;	    ///< members
};

/** Free what @p p holds but for the watches. */
void fl_pendings_deinit(struct fl_pendings *p);

/** @return whether @p v (constraint and binding) is among @p p. */
bool fl_pendings_has(const struct fl_pendings *p, const struct spec_violation *v);

/** Add @p v, which is not in @p p. @p ret: its index. @return ERR_NOMEM. */
struct err *fl_pendings_add(struct fl_pendings *p, const struct spec_violation *v,
			    uint32_t *ret);

/** Take member @p index out. Its watch is the caller's. */
void fl_pendings_remove(struct fl_pendings *p, uint32_t index);

#endif
