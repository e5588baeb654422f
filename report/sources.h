// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The source lines of statements, with those around them, as far as the sources are at hand and
 * may be read.
 */
#ifndef REPORT_SOURCES_H
#define REPORT_SOURCES_H

#include "decode/symbols/symbols.h"

/** A file of which lines are wanted. */
struct fl_source {
	struct dec_place place; ///< one in it
	struct map lines;	///< number -> 1
	int last;
};

/** Zeroed: none. */
struct fl_sources {
	VEC(struct fl_source) files;
};

/** Want the line of @p p. @return the file's number from 0 on; -1 when @p p has none, or
 * without memory. */
int report_sources_add(struct fl_sources *s, const struct dec_place *p);

/** Write what was wanted of file @p i as JSON, {"5": "\treturn x;", ..}: empty when it cannot
 * be read. @p symbols: NULL: as if none could. */
void report_sources_print(const struct fl_sources *s, size_t i,
			  struct dec_symbols *symbols, FILE *out);

void report_sources_deinit(struct fl_sources *s);

#endif
