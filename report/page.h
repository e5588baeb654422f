// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A stretch of the heap's history as one HTML file that needs nothing else: it draws the
 * graph and steps through the operations. The drawing is in page.html; its data, one
 * JSON object, comes from here.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include "faultlocate/fl_cpoints.h"
#include "report/names.h"

/** What the page shows. All borrowed. */
struct fl_page {
	const struct fl_namer *namer;
	const char *title;
	uint64_t from_op, to_op;     ///< positions of views: after so many operations
	uint32_t type;		     ///< a spec type + 1 alone; 0: all declared ones
	struct dec_symbols *symbols; ///< for source lines; NULL: without
	const struct fl_cpoints
		*cpoints; ///< with their visits: what operations are; or NULL
	uint64_t now; ///< what is shown first is the heap at this position; 0: at the end
	bool is_near; ///< of a large heap only nodes near the operations: the namer has trails
	bool is_of_chunks;  ///< the graph is that of the allocator's chunks
	bool is_checked;    ///< also show what violates the constraints, step by step
	bool with_progress; ///< on stderr, when it takes more than two seconds
	mode_t mode;	    ///< of the file, capture_mode()
};

/** Operations that a page can hold: more are left out at its beginning. */
#define FL_PAGE_OPS 20000

/** Print the page.
 * @param n_left_out  operations left out
 * @return ERR_NOMEM, ERR_SPEC. */
struct err *report_page_print(const struct fl_page *p, FILE *out, uint64_t *n_left_out);

/** Write the page to @p path, which is only replaced by a whole one.
 * @param n_left_out  operations left out
 * @return ERR_OS, ERR_NOMEM, ERR_SPEC. */
struct err *report_page_write(const struct fl_page *p, const char *path,
			      uint64_t *n_left_out);

#endif
