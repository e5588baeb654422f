// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An analysis as text for people and as JSON for programs (doc/traceback.md).
 */
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "report/check.h"

/** Write it for people. @p with_color: ANSI colours. */
struct err *report_text(const struct fl_analysis *a, FILE *out, bool with_color);

/** .. only what was replayed, the notes, and how it ended. */
struct err *report_end_text(const struct fl_analysis *a, FILE *out, bool with_color);

/** Wrong releases, for people; nothing when there are none. */
void report_releases(const struct fl_analysis *a, FILE *out);

/** The fields that were read without a value, for people; nothing when there are none. */
void report_unwritten(const struct fl_analysis *a, FILE *out);

/** Write `n5.count` into @p name. */
void report_unwritten_field(const struct fl_analysis *a, const struct fl_unwritten *u,
			    char *name, size_t name_bytes);

/** The accesses that went astray, for people. */
void report_accesses(const struct fl_analysis *a, FILE *out);

/** Access number @p i, as number @p number of what is told. */
void report_access_print(const struct fl_analysis *a, size_t i, size_t number, FILE *out);

/** @return "beyond", "freed" or "field". */
const char *report_access_kind(enum hg_access_kind kind);

/** Write one JSON object and a newline. @p f: also what a->check found; or NULL. */
struct err *report_json(const struct fl_analysis *a, const report_findings *f, FILE *out);

/** Draw the violated structure (the application's, else the allocator's chunks), or all
 * that is declared when nothing is violated, into SVG file @p path. */
struct err *report_svg(const struct fl_analysis *a, const char *path);

#endif
