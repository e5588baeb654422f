// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Many captures on one page, in groups of those with which the same is wrong.
 */
#ifndef REPORT_CROWD_H
#define REPORT_CROWD_H

#include <stddef.h>
#include <stdio.h>

#include "base/vec.h"

/** One of a group. */
struct report_member {
	size_t suite; ///< index
	const char *name;
	const char *page; ///< its path; NULL: it has none
};

struct report_group {
	const char *kind;  ///< a rule's name, "fault", a signal, "failed", "could not"
	const char *text;  ///< what one of them says
	const char *where; ///< the statement and who called it; "": nowhere
	VEC(struct report_member) members;
	size_t *n; ///< how many of each suite
};

struct report_suite {
	const char *dir;
	size_t n_captures, n_clean;
	size_t n_unseen; ///< of them, nobody has looked at
};

struct report_crowd {
	const struct report_suite *suites; ///< n_suites, in the order of time
	size_t n_suites;
	const struct report_group *groups; ///< n_groups, the largest first
	size_t n_groups;
};

/** Print the page: one file, which needs no network and no script. Errors are @p out's. */
void report_crowd_print(const struct report_crowd *c, FILE *out);

#endif
