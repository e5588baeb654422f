// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What bug rules found, as text, JSON, SARIF and a page (doc/check.md).
 */
#ifndef REPORT_CHECK_H
#define REPORT_CHECK_H

#include <cjson/cJSON.h>

#include "faultlocate/fl_analysis.h"
#include "faultlocate/fl_suppress.h"

/** One thing that was found: an access, or another error. */
struct report_finding {
	size_t rule;
	uint64_t time;
	const struct hg_access *access; ///< or NULL
	const struct fl_error *error;	///< or NULL
	size_t index;			///< of the access, or error
};

typedef VEC(struct report_finding) report_findings;

/** List what @p a's check found, in the order of time, but what @p known (NULL: nothing) suppresses: those are
 * counted in @p n_known. vec_deinit() by the caller. @return NULL or ERR_NOMEM. */
struct err *report_findings_list(const struct fl_analysis *a,
				 const struct fl_suppressions *known,
				 report_findings *ret, size_t *n_known);

/** @return whether @p x, of @p a's, is an error by its rule's severity. */
bool report_finding_is_error(const struct fl_analysis *a, const struct report_finding *x);

/** @return how many are errors by their rule's severity. */
size_t report_findings_errors(const struct fl_analysis *a, const report_findings *f);

/** Write them for people, the notes to stderr. */
struct err *report_check_text(const struct fl_analysis *a, const report_findings *f,
			      FILE *out);

/** .. without the notes, which somebody else has told. */
struct err *report_findings_text(const struct fl_analysis *a, const report_findings *f,
				 FILE *out);

/** Add the rules that were asked and what they found to the JSON object @p o, a cJSON.
 * @return false: no memory. */
bool report_findings_add(const struct fl_analysis *a, const report_findings *f, cJSON *o);

/** One JSON object and a newline. */
struct err *report_check_json(const struct fl_analysis *a, const report_findings *f,
			      FILE *out);

/** The same in SARIF 2.1.0 into file @p path. */
struct err *report_check_sarif(const struct fl_analysis *a, const report_findings *f,
			       const char *path);

/** .. and as a page that needs nothing else. */
struct err *report_check_html(const struct fl_analysis *a, const report_findings *f,
			      const char *path);

/** The message of finding @p x in one line: its rule's, and what it is about; free() it. */
char *report_finding_message(const struct fl_analysis *a, const struct report_finding *x);

/** @return whether @p c is one of @p x. */
bool report_chain_is_of(const struct fl_found_chain *c, const struct report_finding *x);

/** @return "allocated", "made", "input", "initial", "far". */
const char *report_chain_end(enum fl_chain_end end);

/** The statement that it is at; of a leak the allocation. */
uint64_t report_finding_rip(const struct report_finding *x);

#endif
