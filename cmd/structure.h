// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline linear FILE...`: structures as they are written (doc/linear.md).
 */
#ifndef CMD_STRUCTURE_H
#define CMD_STRUCTURE_H

#include <stdio.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct structure_options {
	const char *const *files;
	size_t n_files;
	unsigned
		operations; ///< at once, in executions; 0: 3, and only where there is no proof
	uint64_t most;	    ///< states of executions
	const char *derived; ///< file with what was derived before; NULL: none
	const char *svg;     ///< file for a picture of the interleaving; NULL: none
	FILE *talk;	     ///< text for people: not onto a picture
	bool with_pairs, explains, as_json;
};

#define STRUCTURE_PICTURE_MOST 64 ///< columns

/** An interleaving to be drawn. All is borrowed. */
struct structure_picture {
	const char *title;
	const char *const *instances; ///< of each operation: what it is, and gives
	unsigned n_instances;	      ///< at most STRUCTURE_PICTURE_MOST
	const struct structure_event {
		unsigned instance;
		int line;
		const char *text;
	} * events; ///< in their order
	size_t n_events;
};

/** Draw @p p into the file @p path. */
struct err *cmd_structure_draw(const struct structure_picture *p, const char *path);

/** @return the worst exit status of all files: 0 proven, 1 broken, 2 neither, or could not. */
int cmd_structure_check(const struct structure_options *o);

#endif
