// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to report/: parts of results as JSON. Each is the caller's; NULL: no memory.
 */
#ifndef REPORT_JSON_H
#define REPORT_JSON_H

#include <cjson/cJSON.h>

#include "faultlocate/fl_analysis.h"

/** The statement at @p rip: file, line, function, address. */
cJSON *report_json_place(const struct fl_analysis *a, uint64_t rip);

/** Places, innermost first. */
cJSON *report_json_chain(const struct fl_analysis *a, const struct hg_chain *c);

/** An allocation; null for {0}. */
cJSON *report_json_node(const struct fl_analysis *a, struct hg_node_id id);

/** An access that went astray. */
cJSON *report_json_access(const struct fl_analysis *a, const struct hg_access *x);

/** What was replayed, and how it ended. */
cJSON *report_json_capture(const struct fl_analysis *a);

#endif
