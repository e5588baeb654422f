// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The page of a capture: what happened, what is wrong, and for each of that its story, the moments
 * that made it so, which lead from one to the next as far as the inputs; with the sources, the
 * heap at its end, the inputs' bytes and a time line. One file that needs nothing else.
 */
#ifndef REPORT_STORY_H
#define REPORT_STORY_H

#include <sys/types.h>

#include "decode/machine/trap.h"
#include "report/check.h"
#include "report/inputs.h"
#include "report/page.h"
#include "report/request.h"
#include "report/results.h"
#include "report/slice.h"

/** Something that is asked about: a slice, with its moments. */
struct report_told {
	char *at; ///< as slice takes it; owned by whom the list is
	struct fl_question question;
	struct fl_slice *slice;
	struct fl_view view;
	struct fl_inputs inputs; ///< that had a part in it
	bool has_inputs;
};

typedef VEC(struct report_told) report_tolds;

/** What is shown. All borrowed. */
struct report_story {
	const struct fl_analysis *analysis;
	const report_findings *findings; ///< NULL: no rule was asked
	const char *capture;
	struct dec_symbols *symbols; ///< of all that the run mapped
	const report_tolds *told;
	const struct report_inputs *inputs; ///< but for what is of one that is told
	const struct dec_trapped
		*events; ///< n_events calls, signals and switches, in order
	size_t n_events;
	bool is_cut;		    ///< there were more of them
	uint64_t end;		    ///< the last position
	const struct fl_page *heap; ///< or NULL
	bool is_served; ///< the heap, any moment, and what takes long will be asked for: not in
			///< the page
	const report_results *results; ///< what altered runs of it told
	const line_list *notes;	       ///< what is not there, and why
	mode_t mode;		       ///< of the file, capture_mode()
};

/** Write the page to @p path, which is only replaced by a whole one. @return ERR_OS, ERR_NOMEM,
 * ERR_SPEC. */
struct err *report_story_write(const struct report_story *s, const char *path);

/** Print it. @return ERR_NOMEM, ERR_SPEC. */
struct err *report_story_print(const struct report_story *s, FILE *out);

/** Print what a page that is served gets later, as JSON: of `analysis`, `stories`, `inputs` those that
 * @p ask (WRONG, STORY, INPUTS) is for, and `sources`. @return ERR_NOMEM, ERR_SPEC. */
struct err *report_story_print_later(const struct report_story *s, enum report_ask ask,
				     FILE *out);

#endif
