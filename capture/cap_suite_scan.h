// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The text of a suite, read once from its beginning to its end: no more than one test of it is in memory at
 * a time. Private to capture/.
 */
#ifndef CAPTURE_CAP_SUITE_SCAN_H
#define CAPTURE_CAP_SUITE_SCAN_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"

typedef VEC(char) cap_suite_text;

/** Is given each test's @p text, ended by a NUL, and where in the file it begins. */
typedef struct err *cap_suite_scan_fn(void *ctx, const char *text, uint64_t at);

/**
 * Read all of @p f.
 *
 * @param rest  what is not tests, ended by a NUL: their array is empty there. For vec_deinit() in any case.
 * @return NULL; ERR_FORMAT: it is no suite's text, or a test or the rest is larger than CAP_LIST_MAX; what
 *	   @p each returned.
 */
struct err *cap_suite_scan(FILE *f, cap_suite_scan_fn *each, void *ctx,
			   cap_suite_text *rest);

/** Read the test at which @p f is, or before which it has a comma, into @p ret, ended by a NUL. @return NULL,
 * ERR_NOMEM; ERR_FORMAT: there is none. */
struct err *cap_suite_scan_test(FILE *f, cap_suite_text *ret);

#endif
