// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline linear FILE...`: structures as they are written (doc/linear.md).
 */
#ifndef CMD_STRUCTURE_H
#define CMD_STRUCTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct structure_options {
	const char *const *files;
	size_t n_files;
	unsigned
		operations; ///< at once, in executions; 0: 3, and only where there is no proof
	uint64_t most;	    ///< states of executions
	bool with_pairs, as_json;
};

/** @return the worst exit status of all files: 0 proven, 1 broken, 2 neither, or could not. */
int cmd_structure_check(const struct structure_options *o);

#endif
