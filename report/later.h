// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What takes too long to be there when a page opens: found out in a process of its own (a fork of this
 * one) when somebody asks for it, one at a time, and kept then. Who asks is told how far it is, and asks
 * again.
 */
#ifndef REPORT_LATER_H
#define REPORT_LATER_H

#include <stdio.h>

#include "report/request.h"

struct report_later;

/** Find out about @p r and print it, JSON; in the process of its own, which ends then. What it says on
 * stderr meanwhile is told as how far it is. */
typedef struct err *report_later_fn(void *ctx, const struct report_request *r, FILE *out);

/** @return ERR_NOMEM. */
struct err *report_later_create(report_later_fn *find, void *ctx,
				struct report_later **ret);

/** What is under way ends with this process. NULL is fine. */
void report_later_destroy(struct report_later *l);

/**
 * Print what was found out about @p r, as report_later_fn does. If that is not known yet, it is begun,
 * as soon as nothing else is under way, and {"doing": text, "seconds": since it began} is printed; of
 * what cannot be found out {"why": text}.
 *
 * @return ERR_OS, ERR_NOMEM.
 */
struct err *report_later_print(struct report_later *l, const struct report_request *r,
			       FILE *out);

/** Print what was found out so far: [path as of a request]. */
void report_later_print_known(struct report_later *l, FILE *out);

#endif
