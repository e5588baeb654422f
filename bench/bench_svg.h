// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Plots as SVG, coloured by the style of the page they stand in: bars with ranges, and
 * growth in logarithms with the fitted line.
 */
#ifndef BENCH_BENCH_SVG_H
#define BENCH_BENCH_SVG_H

#include <stdio.h>

#include "bench/bench_result.h"

#define BENCH_SVG_SERIES_MAX 5

/** Write @p s with what HTML and SVG want escaped. */
void bench_svg_escape(FILE *out, const char *s);

/** Draw a bar for each of @p n rows of one group; those without value are left out.
 * Logarithmic when the values differ by more than a factor of 20. */
void bench_svg_bars(FILE *out, const struct bench_row *const *rows, size_t n);

/** Draw up to BENCH_SVG_SERIES_MAX series of one work, what is fixed taken off. */
void bench_svg_growth(FILE *out, const struct bench_series *const *series, size_t n);

#endif
