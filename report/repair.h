// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A state of boxes and arrows as a page in which somebody draws how it should be, and gets the
 * commands for that.
 */
#ifndef REPORT_REPAIR_H
#define REPORT_REPAIR_H

#include <sys/types.h>

#include "faultlocate/repair/run.h"

/**
 * Write @p s, with the variables of @p function nameable at byte @p at, to the file @p path ("-":
 * stdout).
 *
 * @param mode  of the file. @return NULL or ERR_OS.
 */
struct err *report_repair_page(const struct rp_program *p, const struct rp_state *s,
			       int function, unsigned at, const char *path, mode_t mode);
/** The same as a picture, drawn by `dot`. @return ERR_NOT_FOUND when there is no dot program, ERR_OS. */
struct err *report_repair_svg(const struct rp_program *p, const struct rp_state *s,
			      int function, unsigned at, const char *path, mode_t mode);

#endif
