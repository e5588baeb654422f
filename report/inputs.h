// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which inputs had which part in a value, written: text, JSON, a page.
 */
#ifndef REPORT_INPUTS_H
#define REPORT_INPUTS_H

#include <stdio.h>

#include "faultlocate/inputs/inputs.h"
#include "faultlocate/slice/question.h"

/** What is shown. All borrowed. */
struct report_inputs {
	const struct fl_inputs *inputs;
	const struct fl_sources *sources;
	const struct fl_question *question;
	const char *at; ///< as it was asked
	const char *const *vars;
	size_t n_vars;
	uint8_t roles; ///< enum fl_role: which are shown
	struct dec_symbols *symbols;
	const char *capture;
	mode_t mode; ///< of a file, capture_mode()
	size_t max;  ///< runs of bytes shown in the text of each role; 0: all
};

void report_inputs_text(const struct report_inputs *r, FILE *out);

/** @return NULL or err_nomem. */
struct err *report_inputs_json(const struct report_inputs *r, FILE *out);

/** Write a page to @p path: the inputs' texts, coloured by role; a byte's chain is shown when one
 * clicks on it. @return ERR_OS, ERR_NOMEM. */
struct err *report_inputs_page(const struct report_inputs *r, const char *path);

#endif
