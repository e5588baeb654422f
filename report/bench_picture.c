// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The growth plots of a suite as one SVG file, which stands beside the Markdown: two plots a
 * row, with colours of its own.
 */

#include "report/bench_svg.h"

#include <string.h>

#define TITLE_HEIGHT 26
#define GAP 24

static const char style[] =
	"<style>"
	"text { font: 11px system-ui, Helvetica, sans-serif; fill: #1c2733; }"
	".title { font-size: 13px; font-weight: 600; }"
	".faint { fill: #64717e; } .grid { stroke: #d5dce3; }"
	".s0 { --c: #1864ab; } .s1 { --c: #c2710c; } .s2 { --c: #2b7a3d; }"
	".s3 { --c: #9c36b5; } .s4 { --c: #b02525; }"
	".point { fill: var(--c); } .spread { stroke: var(--c); stroke-width: 1.2; }"
	".fit { stroke: var(--c); fill: none; stroke-width: 1.5; }"
	"</style>\n";

bool report_bench_svg_group(const struct bench_results *r, size_t i,
			    const struct bench_series **group, size_t max, size_t *n)
{
	const struct bench_series *s = &r->series.data[i];

	*n = 0;
	for (size_t j = 0; j < r->series.size && *n < max; j++) {
		const struct bench_series *o = &r->series.data[j];

		if (strcmp(o->suite, s->suite) != 0 || strcmp(o->work, s->work) != 0 ||
		    strcmp(o->y_name, s->y_name) != 0)
			continue;
		if (j < i)
			return false;
		group[(*n)++] = o;
	}
	return true;
}

/** Draw a plot at (x, y). */
static void plot_write(FILE *out, const struct bench_series *const *group, size_t n,
		       size_t x, size_t y)
{
	char where[128];

	fprintf(out, "<text x=\"%zu\" y=\"%zu\" class=\"title\">", x,
		y + TITLE_HEIGHT - 8);
	report_bench_text(out, group[0]->work);
	fputs(": ", out);
	report_bench_text(out, group[0]->y_name);
	fputs("</text>\n", out);
	snprintf(where, sizeof(where), " x=\"%zu\" y=\"%zu\" width=\"%d\" height=\"%d\"",
		 x, y + TITLE_HEIGHT, BENCH_SVG_WIDTH, report_bench_svg_growth_height(n));
	report_bench_svg_growth(out, group, n, where);
}

void report_bench_svg_picture(FILE *out, const struct bench_results *r, const char *suite)
{
	const struct bench_series *group[BENCH_SVG_SERIES_MAX];
	size_t width = 2 * (BENCH_SVG_WIDTH + GAP), n, n_plots = 0, most = 0, at = 0;
	size_t height;

	for (size_t i = 0; i < r->series.size; i++)
		if (!strcmp(r->series.data[i].suite, suite) &&
		    report_bench_svg_group(r, i, group, BENCH_SVG_SERIES_MAX, &n)) {
			n_plots++;
			most = n > most ? n : most;
		}
	height = report_bench_svg_growth_height(most) + TITLE_HEIGHT + GAP / 2;
	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %zu %zu\" "
		"width=\"%zu\" height=\"%zu\">\n<!-- Written by faultline bench, as the "
		"Markdown beside it is. -->\n%s<rect width=\"100%%\" height=\"100%%\" "
		"fill=\"#fff\"/>\n",
		width, (n_plots + 1) / 2 * height, width, (n_plots + 1) / 2 * height,
		style);
	for (size_t i = 0; i < r->series.size; i++)
		if (!strcmp(r->series.data[i].suite, suite) &&
		    report_bench_svg_group(r, i, group, BENCH_SVG_SERIES_MAX, &n)) {
			plot_write(out, group, n,
				   GAP / 2 + at % 2 * (BENCH_SVG_WIDTH + GAP),
				   at / 2 * height);
			at++;
		}
	fputs("</svg>\n", out);
}
