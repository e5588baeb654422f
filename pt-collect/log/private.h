// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the user wants left out (private.c).
 */
#ifndef PT_COLLECT_LOG_PRIVATE_H
#define PT_COLLECT_LOG_PRIVATE_H

#include <stdbool.h>
#include <stdint.h>

#include "capture/cap_mask.h"
#include "pt-collect/log/log.h"
#include "pt-collect/tracee/pages.h"

/** Patterns, as of glob(7). */
struct ptc_names {
	const char **data;
	size_t size, capacity;
};

/** What the user wants left out. */
struct ptc_private {
	struct ptc_names env;	   ///< environment variables: their values
	struct cap_mask *mask;	   ///< these, as far as known; NULL: none are wanted
	struct ptc_names mappings; ///< by path, or as /proc/PID/maps says, or [anon]
};

/** What of it a process has. */
struct ptc_left_out {
	const struct ptc_private *wanted;
	VEC(struct ptc_range) masked; ///< values of environment variables
	const struct cap_writer
		*told_in; ///< the bundle that says which values are masked
	VEC(char *) read; ///< names of files whose reads were left out, and told of
};

/** Learn the values to mask from what process @p pid was started with, before it can overwrite
 * that. @return NULL or ERR_NOMEM. */
struct err *ptc_private_learn(const struct ptc_left_out *o, pid_t pid);

/** Find the values to mask in the stopped program; @p log says which. */
struct err *ptc_private_find(struct ptc_left_out *o, const struct ptc_tracee *t,
			     struct ptc_log *log);

/** @return whether contents of mapping @p name of process @p pid are left out; then @p log
 * says so. */
bool ptc_private_omits(const struct ptc_left_out *o, const char *name, pid_t pid,
		       struct ptc_log *log);

/** The same of file @p name that it read from; @p log says so once. */
bool ptc_private_omits_read(struct ptc_left_out *o, const char *name, pid_t pid,
			    struct ptc_log *log);
void ptc_left_out_deinit(struct ptc_left_out *o);

/** ptc_pages_read() with the values in the environment masked, the shortest, too. */
void ptc_private_read(const struct ptc_left_out *o, const struct ptc_tracee *t,
		      uint64_t addr, void *buf, size_t size);

#endif
