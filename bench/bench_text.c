// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_emit.h"

#include <string.h>

#include "bench/bench_format.h"

#define HEADER_LINES 16

void bench_text_header(FILE *out, struct bench_results *r)
{
	const char *lines[HEADER_LINES][2];
	size_t n = bench_format_header(r, lines, HEADER_LINES);

	for (size_t i = 0; i < n; i++)
		fprintf(out, "%-10s %s\n", lines[i][0], lines[i][1]);
}

static void table_print(FILE *out, const struct bench_table *t)
{
	int width[BENCH_COLUMNS_MAX] = {};

	for (size_t c = 0; c < t->n_columns; c++) {
		width[c] = (int)strlen(t->columns[c]);
		for (size_t i = 0; i < t->lines.size; i++) {
			int w = (int)strlen(t->lines.data[i].cells[c].text);

			width[c] = w > width[c] ? w : width[c];
		}
	}
	for (size_t i = 0; i <= t->lines.size; i++) {
		const struct bench_line *l = i ? &t->lines.data[i - 1] : NULL;

		if (l && l->is_first && i > 1)
			fputc('\n', out);
		for (size_t c = 0; c < t->n_columns; c++) {
			const char *text = l ? l->cells[c].text : t->columns[c];
			bool is_last = c + 1 == t->n_columns;

			if (l && c == 0 && !l->is_first)
				text = "";
			fprintf(out, "%s%*s", c ? "  " : "",
				t->is_number[c] ? width[c] :
				is_last		? 0 :
						  -width[c],
				text);
		}
		fputc('\n', out);
	}
}

struct err *bench_text_suite(FILE *out, struct bench_results *r,
			     const struct bench_suite_info *suite)
{
	struct bench_table rows, series = {};
	struct err *err = bench_table_rows(r, suite, &rows);

	if (!err)
		err = bench_table_series(r, suite, &series);
	fprintf(out, "\n%s: %s\n%s\n", suite->name, suite->title,
		bench_format_about(r, suite));
	if (!err && rows.lines.size) {
		fputc('\n', out);
		table_print(out, &rows);
	}
	if (!err && series.lines.size) {
		fputc('\n', out);
		table_print(out, &series);
	}
	bench_table_deinit(&rows);
	bench_table_deinit(&series);
	fflush(out);
	return err;
}
