// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What other commands found out by running a program again, altered, taken up from the JSON that
 * they printed: `suppress' of this capture, `rank' of a suite or of this capture.
 */
#ifndef REPORT_RESULTS_H
#define REPORT_RESULTS_H

#include <cjson/cJSON.h>

#include "base/base.h"

/** One command's result. */
struct report_result {
	const char *kind; ///< "suppress" or "rank"
	cJSON *json;	  ///< its own
};

typedef VEC(struct report_result) report_results;

/**
 * Read file @p path.
 *
 * @param ret  Set on success; report_result_deinit().
 * @return NULL; ERR_FORMAT when it is neither command's result; ERR_NOMEM; what
 *	   file_open_input() fails with.
 */
struct err *report_result_read(const char *path, struct report_result *ret);

/** @return the last position of the run that @p r speaks of; 0: it speaks of none of this run. */
uint64_t report_result_last(const struct report_result *r);

void report_result_deinit(struct report_result *r);

#endif
