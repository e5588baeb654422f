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
struct report_source {
	struct dec_place place; ///< one in it
	struct map lines;	///< number -> 1
	int last;
};

/** Zeroed: none. */
struct report_sources {
	VEC(struct report_source) files;
	int around; ///< lines wanted before and behind; 0: 4
};

/** Want the line of @p p. @return the file's number from 0 on; -1 when @p p has none, or
 * without memory. */
int report_sources_add(struct report_sources *s, const struct dec_place *p);

/** @return the number of @p p's file; -1: none is wanted of it. */
int report_sources_find(const struct report_sources *s, const struct dec_place *p);

/** Write what was wanted of file @p i as JSON, {"5": "\treturn x;", ..}: empty when it cannot
 * be read. @p symbols: NULL: as if none could. */
void report_sources_print(const struct report_sources *s, size_t i,
			  struct dec_symbols *symbols, FILE *out);

void report_sources_deinit(struct report_sources *s);

#endif
