// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Results in words, the same in every emitter: values with their units, ratios, what is to
 * be said of a row, and the tables, which text, Markdown and HTML only draw.
 */
#ifndef BENCH_BENCH_FORMAT_H
#define BENCH_BENCH_FORMAT_H

#include "bench/bench_result.h"

#define BENCH_COLUMNS_MAX 24
#define BENCH_TEXT_MAX 96
#define BENCH_OTHERS_MOST 0.1 ///< with more of the processors in use, times are none

/** Write @p value with three digits that count and a prefix: 0.00123 "s" is "1.23 ms". */
void bench_format_value(char ret[BENCH_TEXT_MAX], double value, const char *unit);

/** "1.20-1.31 s", or nothing when there is no range. */
void bench_format_range(char ret[BENCH_TEXT_MAX], const struct bench_range *v,
			const char *unit);

/** "1.30x (1.21-1.40)". */
void bench_format_ratio(char ret[BENCH_TEXT_MAX], const struct bench_range *ratio);

/** "1.02 (0.97-1.07)". */
void bench_format_exponent(char ret[BENCH_TEXT_MAX], const struct bench_fit *fit);

/** @return whether a wanted ratio or value is missed. */
bool bench_row_misses_limit(const struct bench_row *row);

/** All that is to be said of a row beside its figures: why it has none, noise, who is
 * better, whether it is within its limit, its note. Empty when nothing. Free it; NULL
 * without memory. */
char *bench_format_note(const struct bench_row *row);

struct bench_cell {
	const char *text; ///< never NULL
	double key;	  ///< what a number is sorted by
};

/** A line of a table. */
struct bench_line {
	struct bench_cell cells[BENCH_COLUMNS_MAX];
	enum bench_role role;
	bool is_first; ///< of its work
	bool is_skipped, is_noise;
	bool is_worse; ///< a peer is better, or the wanted ratio is missed
};

struct bench_table {
	const char *columns[BENCH_COLUMNS_MAX];
	bool is_number[BENCH_COLUMNS_MAX];
	size_t n_columns;
	VEC(struct bench_line) lines;
};

/** The table of one suite's rows; no lines when it has none. Strings are the results'
 * arena's, hence not const. bench_table_deinit() it. @return NULL or err_nomem. */
struct err *bench_table_rows(struct bench_results *r,
			     const struct bench_suite_info *suite,
			     struct bench_table *ret);

/** The table of one suite's series. */
struct err *bench_table_series(struct bench_results *r,
			       const struct bench_suite_info *suite,
			       struct bench_table *ret);

/** Free the rows of @p t; their strings are the results'. */
void bench_table_deinit(struct bench_table *t);

/** What a suite is and how long it took; the results' to free. */
const char *bench_format_about(struct bench_results *r,
			       const struct bench_suite_info *suite);

/** The works, and the other tools with what they do, each as a table. */
struct err *bench_table_works(struct bench_results *r, struct bench_table *ret);
struct err *bench_table_tools(struct bench_results *r, struct bench_table *ret);

/** The lines of the header: name and value. @return how many there are. */
size_t bench_format_header(struct bench_results *r, const char *ret[][2], size_t max);

#endif
