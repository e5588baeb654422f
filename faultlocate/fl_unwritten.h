// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Fields that are read before anything was stored to them. What malloc() gives has no value,
 * though there are bytes in it: zeros of fresh pages, or what the last owner left. A constraint
 * that reads them holds, or does not, by chance.
 */
#ifndef FAULTLOCATE_FL_UNWRITTEN_H
#define FAULTLOCATE_FL_UNWRITTEN_H

#include "specdsl/specdsl.h"

/** Such a field, for all nodes that one statement allocates. */
struct fl_unwritten {
	struct hg_node_id node; ///< the first
	uint32_t offset, size;
	uint32_t constraint; ///< that read it first ..
	uint32_t cpoint;     ///< .. at this C-point (fl_cpoints_get()) ..
	uint64_t time;	     ///< .. at this time
	uint32_t n_nodes;    ///< that it was read of, whichever element of an array it is
	uint64_t shape;	     ///< private: fl_field_shape()
};

typedef VEC(struct fl_unwritten) fl_unwrittens;

/** Follows what is written. */
struct fl_tracker;

/** @p s and @p g must outlive it. @p ret grows as long as it lives. @return NULL or ERR_NOMEM. */
struct err *fl_tracker_create(const struct spec *s, const struct hg_graph *g,
			      fl_unwrittens *ret, struct fl_tracker **t);
void fl_tracker_destroy(struct fl_tracker *t);

/** Go forward to after @p n_ops operations, C-point @p cpoint at @p time. */
struct err *fl_tracker_advance(struct fl_tracker *t, uint64_t n_ops, uint32_t cpoint,
			       uint64_t time);

/** What is read next is for @p constraint. */
void fl_tracker_constraint(struct fl_tracker *t, uint32_t constraint);

/** For spec_on_read(); @p ctx is the tracker. */
void fl_tracker_read(void *ctx, const struct spec_read *r);

/** @return what went wrong in fl_tracker_read(), NULL: nothing. */
struct err *fl_tracker_error(struct fl_tracker *t);

#endif
