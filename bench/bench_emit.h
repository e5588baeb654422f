// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The emitters: results as text for a terminal, as Markdown for doc/, as an HTML report. All
 * but JSON draw the tables of bench_format.h. Errors of @p out are the caller's to see.
 */
#ifndef BENCH_BENCH_EMIT_H
#define BENCH_BENCH_EMIT_H

#include <stdio.h>

#include "bench/bench_result.h"

/** Print machine, versions and options. */
void bench_text_header(FILE *out, struct bench_results *r);

/** Print the tables of one suite. */
struct err *bench_text_suite(FILE *out, struct bench_results *r,
			     const struct bench_suite_info *suite);

/** Write all of it as JSON (doc/benchmarking.md). */
struct err *bench_json_write(FILE *out, struct bench_results *r);

/** Write all of it as Markdown. */
struct err *bench_markdown_write(FILE *out, struct bench_results *r);

/** Write all of it as one HTML page with its plots, which needs nothing else. */
struct err *report_bench_html_write(FILE *out, struct bench_results *r);

#endif
