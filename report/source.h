// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to report/: places and source lines in the text.
 */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdio.h>

#include "faultlocate/fl_analysis.h"

/** The user's line that @p rip is of: not one of a library's header that was brought into it. @p ret: borrows. */
void report_place(const struct fl_analysis *a, uint64_t rip, struct dec_place *ret);
void report_place_print(const struct fl_analysis *a, uint64_t rip, FILE *out);

/** Print the line of @p p, indented, when the file is at hand and may be shown. */
void report_source_line(const struct fl_analysis *a, const struct dec_place *p,
			FILE *out);

#endif
