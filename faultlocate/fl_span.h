// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: a stretch of the history, and which fields its stores were to.
 */
#ifndef FAULTLOCATE_FL_SPAN_H
#define FAULTLOCATE_FL_SPAN_H

#include "specdsl/specdsl.h"

/** Operations that follow one another, with their indices. */
struct fl_span {
	uint64_t from;
	VEC(struct hg_op) ops;
};

/** Decode operations @p from to @p to - 1 into @p ret, which is zeroed. */
struct err *fl_span_load(const struct hg_graph *g, uint64_t from, uint64_t to,
			 struct fl_span *ret);
void fl_span_deinit(struct fl_span *s);

/** @return the field of @p node that byte @p offset is in. @return false: there is none. */
bool fl_field_at(const struct spec *s, const struct hg_graph *g, struct hg_node_id node,
		 uint64_t offset, struct dec_field *ret);

/** @return a number that fields of one meaning share: those of one name in nodes of one type,
 * whichever element of an array they are. */
uint64_t fl_field_shape(const struct spec *s, const struct hg_graph *g,
			struct hg_node_id node, uint64_t offset);

#endif
