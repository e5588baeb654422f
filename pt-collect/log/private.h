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

#include "base/base.h"

struct ptc_process;

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

/** Find the values to mask in the stopped program. */
struct err *ptc_private_find(struct ptc_process *p);

/** @return whether contents of mapping @p name are left out; says so in the log. */
bool ptc_private_omits(struct ptc_process *p, const char *name);

/** For cap_writer_core(), with the process as context: ptc_read_mapping() with values
 * masked. */
struct err *ptc_private_read(void *process, uint64_t addr, void *buf, size_t size);

#endif
