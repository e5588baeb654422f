// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Of a capture with several processes, which one is an analysis about when nobody said so? One
 * whose program has the types of the specifications, if there is any; among these, or without
 * specifications, one that a fault or abort() ended; else the program itself.
 */
#ifndef FAULTLOCATE_FL_PROCESS_H
#define FAULTLOCATE_FL_PROCESS_H

#include "base/base.h"

/**
 * Choose.
 *
 * @param capture  directory.
 * @param specs    @p n_specs files; what is wrong with them is passed over.
 * @param dir	   the bundle of the chosen process: free().
 * @param note	   says that there are others and what was chosen why; NULL: there is one
 *		   process only. free().
 * @return NULL or ERR_NOMEM: where the capture cannot be read it is @p capture itself.
 */
struct err *fl_process_choose(const char *capture, const char *const *specs,
			      size_t n_specs, char **dir, char **note);

#endif
