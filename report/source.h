// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to report/: source lines in the text.
 */
#ifndef REPORT_SOURCE_H
#define REPORT_SOURCE_H

#include <stdio.h>

#include "faultlocate/fl_analysis.h"

/** Print the line of @p p, indented, when the file is at hand and may be shown. */
void report_source_line(const struct fl_analysis *a, const struct dec_place *p,
			FILE *out);

#endif
