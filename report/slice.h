// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A slice as text for people, as JSON and SARIF for programs, as a graph for Graphviz, and as a page.
 */
#ifndef REPORT_SLICE_H
#define REPORT_SLICE_H

#include <stdio.h>
#include <sys/types.h>

#include "faultlocate/slice/potential.h"
#include "faultlocate/slice/question.h"
#include "faultlocate/slice/view.h"

/** What is shown. All borrowed. */
struct report_slice {
	const struct fl_slice *slice;
	const struct fl_view *view;
	const struct fl_question *question;
	const struct fl_potentials *potential; ///< NULL: nobody asked
	const char *at;			       ///< as it was asked
	const struct dec_where *end;
	const char *capture;
	struct dec_symbols *symbols; ///< for lines of the source
	mode_t mode;		     ///< of a file, capture_mode()
	size_t max;		     ///< statements shown in the text; 0: all
};

/** Write it for people. */
void report_slice_text(const struct report_slice *r, FILE *out);

/** Write one JSON object and a newline; the same as SARIF 2.1.0. @return NULL or err_nomem. */
struct err *report_slice_json(const struct report_slice *r, FILE *out);
struct err *report_slice_sarif(const struct report_slice *r, FILE *out);

/** Write a graph of statements for Graphviz. */
void report_slice_dot(const struct report_slice *r, FILE *out);

/** Write a page that needs nothing else to @p path, which is only replaced by a whole one.
 * @return ERR_OS, ERR_NOMEM. */
struct err *report_slice_page(const struct report_slice *r, const char *path);

/** Write what was made, "n = 3", into @p buf: "" when it is not known. */
void report_slice_value(const struct fl_view_made *made, char *buf, size_t size);

/** Write where @p st is: "a.c:12 in f", "libc.so.6: f+0x10", "read() wrote it". @return @p buf. */
const char *report_slice_place(const struct fl_view_statement *st, char *buf,
			       size_t size);

/** @return its line of the source, for free(); NULL: not at hand. */
char *report_slice_source(const struct report_slice *r,
			  const struct fl_view_statement *st);

#endif
