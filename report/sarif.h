// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * SARIF 2.1.0 (OASIS), which editors and code scanners of forges read: what all logs of ours have.
 */
#ifndef REPORT_SARIF_H
#define REPORT_SARIF_H

#include <cjson/cJSON.h>
#include <stdbool.h>

/** @return a log of one run, for cJSON_Delete(); NULL: no memory. @p rules, @p results: its lists, which
 * are empty. */
cJSON *report_sarif_log(cJSON **rules, cJSON **results);

/** Add a rule with all the texts that a forge wants. @p brief: what is found by it; @p full: when exactly.
 * @return whether there was memory. */
bool report_sarif_rule(cJSON *rules, const char *id, const char *brief, const char *full);

/** Add a message, or a text that is like one. @p text NULL: "". @return as above. */
bool report_sarif_text(cJSON *o, const char *key, const char *text);

#endif
