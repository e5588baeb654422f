// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A store that is missing, told to people.
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

/** Write `missing store: n3.prev = n5 in insert, ...` and what there is to say about it, lines
 * of a statement's entry. @p plain ends its head. */
void report_missing(const struct fl_namer *n, const struct fl_missing *m,
		    const char *plain, FILE *out);

#endif
