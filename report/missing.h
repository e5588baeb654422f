// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A store that is missing, or that had better been another, told to people.
 */
#ifndef REPORT_MISSING_H
#define REPORT_MISSING_H

#include "report/names.h"

/** Write `n3.prev` into @p name. @return the field's number, 0: it has none. */
uint64_t report_missing_field(const struct fl_namer *n, const struct fl_missing *m,
			      char *name, size_t name_bytes);

/** Write into @p buf what the field had to be: `n5`, `NULL`, `3`. @return buf */
const char *report_missing_due(const struct fl_namer *n, const struct fl_missing *m,
			       char *buf, size_t buf_bytes);

/** Write `n3.prev` into @p name: what a statement had better stored to. */
void report_cure_field(const struct fl_namer *n, const struct fl_cure *c, char *name,
		       size_t name_bytes);

/** Write into @p buf what that had better got; @p time: the statement's. @return buf */
const char *report_cure_value(const struct fl_namer *n, const struct fl_cure *c,
			      uint64_t time, char *buf, size_t buf_bytes);

/** Write `with n3.prev = n5 instead, nothing would be violated`, a line. */
void report_cure(const struct fl_namer *n, const struct fl_cure *c, uint64_t time,
		 FILE *out);

/** Write `missing store: n3.prev = n5 in insert, ...` and what there is to say about it, lines
 * of a statement's entry. @p plain ends its head. */
void report_missing(const struct fl_namer *n, const struct fl_missing *m,
		    const char *plain, FILE *out);

#endif
