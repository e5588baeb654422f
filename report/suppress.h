// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What execution suppression found, as a page.
 */
#ifndef REPORT_SUPPRESS_H
#define REPORT_SUPPRESS_H

#include <sys/stat.h>

#include "suppress-hw/suppress/suppress.h"

/** Write a page to @p path (-: stdout): each crash, what was suppressed because of it, and of which
 * statements the run behind it left something out; orderings, races, and what it printed. @p mode: of the
 * file, capture_mode(). @return ERR_OS, ERR_NOMEM. */
struct err *report_suppress_page(const struct sup_result *r, const char *path,
				 mode_t mode);

#endif
