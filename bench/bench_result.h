// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What benchmarks found: one model that every suite fills and every emitter (text, JSON,
 * HTML, Markdown) and the comparison read. A results file is this, as JSON.
 *
 * Invariants:
 *  1. A row is one metric of one command on one work. Rows are told apart by (suite, work,
 *     command, metric); rows that share suite, work and metric are a group: the same work.
 *  2. Within a group ratios are to its native row, or to its best peer when there is none.
 *  3. A row without value says why in `skipped`.
 *  4. Strings and runs belong to the results' arena.
 */
#ifndef BENCH_BENCH_RESULT_H
#define BENCH_BENCH_RESULT_H

#include "base/base.h"
#include "bench/bench_stats.h"

#define BENCH_RUNS_MAX 64

/** Who runs. */
enum bench_role {
	BENCH_OURS,
	BENCH_NATIVE, ///< the program alone: what others are compared with
	BENCH_PEER,
};

/** What is good. */
enum bench_better {
	BENCH_LOWER,   ///< times, bytes
	BENCH_HIGHER,  ///< speeds, faults located
	BENCH_NEITHER, ///< just a count: no ratio, and nobody is the best
};

/**
 * One measured thing. A suite fills what is above the line; the rest follows from the runs.
 * Units: "s", "1/s", "B", "" (a count), "%", or a word ("events/s").
 */
struct bench_row {
	const char *suite, *work, *command, *metric, *unit;
	enum bench_role role;
	enum bench_better better;
	const char *base_metric; ///< the native row it is compared with; NULL: metric
	double limit;		 ///< wanted ratio: at most, or at least if more is
				 ///< better; 0: none
	double wanted;		 ///< the same for the value itself
	double published;	 ///< what a paper says of this; 0: nothing
	const char *published_source; ///< which paper, which table
	const char *note;	      ///< what a reader must know of it; NULL: nothing
	const char *skipped;	      ///< why there is no value; NULL: there is
	bool is_exact;	 ///< not a time: the same at each run on every machine
	bool is_failure; ///< skipped, and that is our fault

	const double *runs;
	size_t n_runs;
	struct bench_range value;
	struct bench_range ratio; ///< median 0: none
	const char *ratio_to;	  ///< the command it is to
	const char *beaten_by;	  ///< ours only: the peer that is better; NULL: none
	struct bench_range beaten_ratio; ///< how much better, above 1 unless noise
};

/** How something grows: y, measured at several x. */
struct bench_series {
	const char *suite, *work, *command;
	const char *x_name; ///< "operations", "instructions"...
	const char *y_name, *y_unit;
	enum bench_role role;
	double fixed; ///< taken off each y before the fit (start-up); 0: nothing
	double expected_exponent; ///< published or by theory; 0: none
	const char *note;

	double *x; ///< n of them
	struct bench_range *y;
	size_t n;
	struct bench_fit fit;
};

/** A suite that ran, for readers of the results. */
struct bench_suite_info {
	const char *name, *title;
	const char *about; ///< what is compared with what; a few sentences
	/** Rows of one work and command stand on one line, a column for each metric. */
	bool is_wide;
	double took_s; ///< how long it ran; 0: it runs still
};

/** A program whose version counts. */
struct bench_tool {
	const char *name;
	const char *version; ///< NULL when it is missing
	const char *package; ///< Debian's
	const char *what;    ///< what it does to the program; NULL
};

/** What a work is. */
struct bench_work_info {
	const char *name, *what;
};

/** Where, when and of what. */
struct bench_header {
	const char *commit, *version, *date, *command;
	const char *processor, *kernel, *governor, *memory;
	int n_processors;
	double load_start, load_end; ///< of one minute
	double others; ///< share of the processors that other work had meanwhile, 0 to 1
	bool is_quick;
	int rounds;
};

struct bench_results {
	struct arena arena;
	struct bench_header header;
	VEC(struct bench_tool) tools;
	VEC(struct bench_work_info) works;
	VEC(struct bench_suite_info) suites;
	VEC(struct bench_row) rows;
	VEC(struct bench_series) series;
	size_t n_grouped;     ///< rows whose ratios are known
	const char *pictures; ///< beside the Markdown: file names up to "-SUITE.svg"
};

/** Free all that @p r holds, the strings kept in it too. */
void bench_results_deinit(struct bench_results *r);

/** A copy of @p s that lives as long as the results; NULL for NULL or without memory. */
const char *bench_keep(struct bench_results *r, const char *s);
const char *bench_keep_printf(struct bench_results *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Add a row with its runs, which may be none when it was skipped. Everything is copied.
 * @return NULL or err_nomem. */
struct err *bench_row_add(struct bench_results *r, const struct bench_row *row,
			  const double *runs, size_t n);

/** Add a row of one run. */
struct err *bench_row_add_value(struct bench_results *r, const struct bench_row *row,
				double value);

/** Find the ratios of the rows added since the last call, and who is the best. */
void bench_rows_finish(struct bench_results *r);

/** Add a series of @p n points and fit it. Everything is copied. @return NULL or
 * err_nomem. */
struct err *bench_series_add(struct bench_results *r, const struct bench_series *s,
			     const double *x, const struct bench_range *y, size_t n);

/** @return whether both are rows of one group. */
bool bench_rows_share_group(const struct bench_row *a, const struct bench_row *b);

/** Read results that were written as JSON. Ratios and fits are as written, not found again.
 * @return ERR_OS, ERR_FORMAT, ERR_VERSION or err_nomem. */
struct err *bench_json_read(const char *path, struct bench_results *ret);

#endif
