// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the page: its parts.
 */
#ifndef REPORT_PAGE_PARTS_H
#define REPORT_PAGE_PARTS_H

#include "report/lasting.h"
#include "report/marks.h"
#include "report/page.h"
#include "report/sources.h"

/** A C-point that was reached. */
struct page_point {
	uint64_t n_steps; ///< before it
	uint32_t cpoint;
};

/** The page under way. */
struct page {
	const struct fl_page *p;
	const struct fl_namer *n;
	FILE *out;
	struct hg_view *view;
	struct fl_finder finder;
	struct fl_fields fields;
	struct spec_eval *eval;
	struct spec_checker *checker;
	spec_violations violations; ///< of the last step
	struct map marked;	    ///< node -> 1: a violation is about a field of it
	struct fl_lasting lasting;
	size_t next_visit; ///< that is not behind
	VEC(struct page_point) points;
	uint64_t n_steps;
	struct map place_numbers; ///< instruction -> index + 1
	VEC(uint64_t) places;	  ///< instructions
	struct map nodes;	  ///< id -> 1
	struct map near;	  ///< id -> 1, if the page is of these alone
	uint64_t n_far;		  ///< nodes that live at the beginning and are not in it
	VEC(uint32_t) born;	  ///< nodes that are allocated by steps
	struct report_sources sources;
	double begun_s, said_s; ///< for progress; said_s = 0: nothing was said
};

/* ---- page.c --------------------------------------------------------------------------- */

/** @return whether the page shows node @p id. */
bool report_page_shows(const struct page *w, uint32_t id);

/** Tell how much is done, when it takes long. */
void report_page_show_progress(struct page *w, const char *what, uint64_t done,
			       uint64_t all);

/* ---- page_names.c --------------------------------------------------------------------- */

/** @return via @p ret the index of the statement at @p rip among the places. */
struct err *report_page_place(struct page *w, uint64_t rip, uint64_t *ret);

/** Print the places, and their sources. */
void report_page_print_places(struct page *w);

/** Print what is known about node @p id, but for its values. */
struct err *report_page_print_node(struct page *w, uint32_t id);

/** Print types and constraints. */
void report_page_print_types(const struct page *w);

/* ---- page_near.c ---------------------------------------------------------------------- */

/** Find the nodes that the operations are about, what leads to them, what these lead to, however far, and others:
 * a thousand. */
struct err *report_page_find_near(struct page *w);

/* ---- page_states.c -------------------------------------------------------------------- */

/** Print the blocks: what there is at the beginning. */
struct err *report_page_print_start(struct page *w);

/** Print the fields that @p op changed, as it left them. */
struct err *report_page_print_changes(struct page *w, const struct hg_op *op);

/* ---- page_checks.c -------------------------------------------------------------------- */

/** Print what is violated now, after a change of @p node; null when that is what was, and is
 * about the same fields. */
struct err *report_page_print_violated(struct page *w, uint32_t node, bool is_first);

/** Pass the C-points that are reached with @p n_ops changes done. */
struct err *report_page_pass_visits(struct page *w, uint64_t n_ops);

/** Print the C-points that were passed, and which steps are lasting. */
void report_page_print_points(const struct page *w);

#endif
