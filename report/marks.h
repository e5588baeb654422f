// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which fields is a violation about? Those that its check reads, guard and body; where it counts
 * or looks for pointers into a node, these pointers. When it does neither (a degree, a path),
 * the pointers of its nodes.
 */
#ifndef REPORT_MARKS_H
#define REPORT_MARKS_H

#include "report/fields.h"

struct fl_mark {
	struct hg_node_id node;
	uint64_t field; ///< from 1
};

typedef VEC(struct fl_mark) fl_marks;

/** Add those of @p v at the position of @p e's view, each once, 32 at most.
 * @return NULL or ERR_NOMEM. */
struct err *report_marks_add(struct fl_fields *fields, struct spec_eval *e,
			     const struct spec_violation *v, fl_marks *ret);

#endif
