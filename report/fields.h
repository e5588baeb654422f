// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which fields of a node do some bytes touch? Fields need not be in the order of their offsets
 * (those of a union begin again), but where they begin and end hardly ever goes back far.
 */
#ifndef REPORT_FIELDS_H
#define REPORT_FIELDS_H

#include "report/names.h"

struct fl_fields_of;

/** Of all types. */
struct fl_fields {
	const struct fl_namer *n;
	struct fl_fields_of *types; ///< by number
};

/** For the types of @p n, and the graph's nodes of these.
 * @return NULL or ERR_NOMEM; deinit is right after either, and of a zeroed one. */
struct err *report_fields_init(struct fl_fields *f, const struct fl_namer *n);
void report_fields_deinit(struct fl_fields *f);

/** All fields of node @p id, of a declared type, with bytes in [@p from, @p to) have numbers
 * in [*@p first, *@p end), from 1 on; others may, too. Takes logarithmic time, and a look at
 * each field of a node twice as large when none of the type was as large before.
 * @return NULL or ERR_NOMEM. */
struct err *report_fields_between(struct fl_fields *f, struct hg_node_id id,
				  uint64_t from, uint64_t to, uint64_t *first,
				  uint64_t *end);

#endif
