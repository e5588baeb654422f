// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * JSON inside a script element of a page.
 */
#ifndef REPORT_SCRIPT_H
#define REPORT_SCRIPT_H

#include <stdio.h>

/** Write @p text (of a stranger's; NULL is "") as a JSON string that ends no script element and
 * holds nothing unsafe (base/text.h). What has no memory becomes "?". */
void report_script_string(FILE *out, const char *text);

#endif
