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
	struct ptc_names mappings; ///< by path, or as /proc/PID/maps says, or [anon]
};

/** What of it a process has. */
struct ptc_left_out {
	const struct ptc_private *wanted;
	VEC(struct ptc_range) masked; ///< values of environment variables
};

/** Find the values to mask in the stopped program; @p log says which. */
struct err *ptc_private_find(struct ptc_left_out *o, const struct ptc_tracee *t,
			     struct ptc_log *log);

/** @return whether contents of mapping @p name of process @p pid are left out; then @p log
 * says so. */
bool ptc_private_omits(const struct ptc_left_out *o, const char *name, pid_t pid,
		       struct ptc_log *log);

/** ptc_pages_read() with values masked. */
void ptc_private_read(const struct ptc_left_out *o, const struct ptc_tracee *t,
		      uint64_t addr, void *buf, size_t size);

#endif
