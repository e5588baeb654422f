// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to report/: why a program ended that a signal ended.
 */
#ifndef REPORT_END_H
#define REPORT_END_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "faultlocate/fl_analysis.h"

/** For people; nothing when it is not known. */
void report_end(const struct fl_analysis *a, FILE *out);

/** @return an object, or null when it is not known; NULL: out of memory. */
cJSON *report_end_json(const struct fl_analysis *a);

#endif
