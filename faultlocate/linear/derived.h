// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What was derived of structures, kept in a file (doc/linear.md has its layout): pairs of
 * sub-operations, and how many operations were executed in all ways without one that breaks them. It
 * is found again by the whole text of the structure, not by a hash of it.
 */
#ifndef FAULTLOCATE_LINEAR_DERIVED_H
#define FAULTLOCATE_LINEAR_DERIVED_H

#include "faultlocate/linear/explore.h"
#include "faultlocate/linear/pairs.h"

struct fl_lin_derived {
	VEC(struct derived_entry) entries;
	char *bytes; ///< of the file; NULL: there was none
	struct arena arena;
	bool has_more; ///< than the file
};

/** Read @p path; where there is none, nothing is known yet.
 * @param ret  empty; to be deinitialized whatever comes.
 * @return NULL; ERR_FORMAT when it is no such file or was altered; ERR_OS, ERR_NOMEM. */
struct err *fl_lin_derived_read(const char *path, struct fl_lin_derived *ret);

/** Take what is known of @p steps. @return whether its pairs are; *@p runs as of fl_lin_explore()
 * when executions of @p operations at once are, too. */
bool fl_lin_derived_find(const struct fl_lin_derived *d, const struct fl_lin_steps *steps,
			 unsigned operations, struct fl_lin_pairs *pairs,
			 struct fl_lin_executions *runs);

/** Remember both; of @p runs only if all were looked at and none breaks it. @return ERR_NOMEM. */
struct err *fl_lin_derived_add(struct fl_lin_derived *d, const struct fl_lin_steps *steps,
			       const struct fl_lin_pairs *pairs,
			       const struct fl_lin_executions *runs);

/** Write all to @p path, if there is more than was read. */
struct err *fl_lin_derived_write(const struct fl_lin_derived *d, const char *path);
void fl_lin_derived_deinit(struct fl_lin_derived *d);

#endif
