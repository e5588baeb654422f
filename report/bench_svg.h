// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Plots as SVG, coloured by the style of the page they stand in: bars with ranges, and
 * growth in logarithms with the fitted line.
 */
#ifndef REPORT_BENCH_SVG_H
#define REPORT_BENCH_SVG_H

#include <stdio.h>

#include "bench/bench_result.h"

#define BENCH_SVG_SERIES_MAX 5
#define BENCH_SVG_WIDTH 460

/** Write @p s with what HTML and SVG want escaped. */
void report_bench_text(FILE *out, const char *s);

/** Draw a bar for each of @p n rows of one group; those without value are left out.
 * Logarithmic when the values differ by more than a factor of 20. */
void report_bench_svg_bars(FILE *out, const struct bench_row *const *rows, size_t n);

/** Draw up to BENCH_SVG_SERIES_MAX series of one work, what is fixed taken off.
 * @p attributes: more of the element's own, or "". */
void report_bench_svg_growth(FILE *out, const struct bench_series *const *series,
			     size_t n, const char *attributes);

/** @return how high that is, as wide as BENCH_SVG_WIDTH. */
int report_bench_svg_growth_height(size_t n);

/** @return whether series @p i is the first of its suite and work with its y. @p group gets
 * those, at most @p max; *n: how many. */
bool report_bench_svg_group(const struct bench_results *r, size_t i,
			    const struct bench_series **group, size_t max, size_t *n);

/** Write the growth plots of @p suite as a picture of its own. */
void report_bench_svg_picture(FILE *out, const struct bench_results *r,
			      const char *suite);

#endif
