// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_emit.h"

#include "bench/bench_format.h"

#define HEADER_LINES 16

/** A cell: what would end it is escaped. */
static void cell_write(FILE *out, const char *s)
{
	for (; *s; s++)
		fprintf(out, "%s%c", *s == '|' || *s == '\\' || *s == '<' ? "\\" : "",
			*s);
}

static void table_write(FILE *out, const struct bench_table *t)
{
	if (!t->lines.size)
		return;
	fputs("\n|", out);
	for (size_t c = 0; c < t->n_columns; c++) {
		fputc(' ', out);
		cell_write(out, t->columns[c]);
		fputs(" |", out);
	}
	fputs("\n|", out);
	for (size_t c = 0; c < t->n_columns; c++)
		fputs(t->is_number[c] ? " ---: |" : " --- |", out);
	for (size_t i = 0; i < t->lines.size; i++) {
		const struct bench_line *l = &t->lines.data[i];

		fputs("\n|", out);
		for (size_t c = 0; c < t->n_columns; c++) {
			fputc(' ', out);
			if (c || l->is_first)
				cell_write(out, l->cells[c].text);
			fputs(" |", out);
		}
	}
	fputc('\n', out);
}

static void header_write(FILE *out, struct bench_results *r)
{
	const char *lines[HEADER_LINES][2];
	size_t n = bench_format_header(r, lines, HEADER_LINES);

	fputs("<!-- Written by `faultline bench --from FILE --markdown FILE`; not by hand. -->\n"
	      "# Benchmarks\n\n"
	      "What Faultline costs, beside other tools on the same work in the same run. "
	      "Medians, in brackets\nranges. A ratio is taken round by round, to the native "
	      "run or, where there is none, to the best\nother tool; one whose range crosses 1 "
	      "is said to be noise. Where another tool is better than\nFaultline, the row says "
	      "so. How this is measured, and how to do it yourself:\n"
	      "[benchmarking.md](benchmarking.md).\n\n| | |\n| --- | --- |\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "| %s | ", lines[i][0]);
		cell_write(out, lines[i][1]);
		fputs(" |\n", out);
	}
}

/** What rows and columns are: works and tools. */
static struct err *words_write(FILE *out, struct bench_results *r)
{
	struct bench_table t;
	struct err *err = bench_table_works(r, &t);

	if (!err && t.lines.size) {
		fputs("\n## The works\n", out);
		table_write(out, &t);
	}
	bench_table_deinit(&t);
	if (err)
		return err;
	err = bench_table_tools(r, &t);
	fputs("\n## The other tools\n", out);
	table_write(out, &t);
	bench_table_deinit(&t);
	return err;
}

struct err *bench_markdown_write(FILE *out, struct bench_results *r)
{
	struct err *err;

	header_write(out, r);
	err = words_write(out, r);
	for (size_t i = 0; i < r->suites.size && !err; i++) {
		const struct bench_suite_info *suite = &r->suites.data[i];
		struct bench_table rows, series = {};

		err = bench_table_rows(r, suite, &rows);
		if (!err)
			err = bench_table_series(r, suite, &series);
		fprintf(out, "\n## %s: %s\n", suite->name, suite->title);
		fprintf(out, "\n%s\n", bench_format_about(r, suite));
		table_write(out, &rows);
		table_write(out, &series);
		if (series.lines.size && r->pictures)
			fprintf(out, "\n![how it grows](%s-%s.svg)\n", r->pictures,
				suite->name);
		bench_table_deinit(&rows);
		bench_table_deinit(&series);
	}
	return err;
}
