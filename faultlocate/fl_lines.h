// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to fl_cpoints.c: which lines of the source are C-points, and at which addresses is
 * their code? Zeroed is empty.
 */
#ifndef FAULTLOCATE_FL_LINES_H
#define FAULTLOCATE_FL_LINES_H

#include "decode/symbols/symbols.h"

/** A line that somebody named, or one with a comment. */
struct fl_line {
	char *path; ///< of a named one as it was written
	int line;
	int reach; ///< so many lines from it on may have the statement; 1: named
	uint32_t cpoint;
	bool has_code;
};

struct fl_lines {
	VEC(struct fl_line) all;
};

/** Add line @p line of @p path, which is copied. @return NULL or ERR_NOMEM. */
struct err *fl_lines_add(struct fl_lines *l, const char *path, int line, int reach,
			 uint32_t cpoint);

/** Call @p add with each address that is known now; it may tell repeatedly. @return NULL, or
 * what @p add returned. */
struct err *fl_lines_resolve(struct fl_lines *l, struct dec_symbols *symbols,
			     struct err *(*add)(void *ctx, uint64_t addr,
						uint32_t cpoint),
			     void *ctx);

/** Write a line about each named one without code: why, and the nearest lines that have
 * some. */
void fl_lines_notes(const struct fl_lines *l, struct dec_symbols *symbols, FILE *out);

void fl_lines_deinit(struct fl_lines *l);

#endif
