// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The report: for each suite its plots and its tables. The page's style and its few lines of
 * script are bench_page.html.
 */

#include "bench/bench_emit.h"

#include <string.h>

#include "bench/bench_format.h"
#include "report/bench_svg.h"

#define HEADER_LINES 16
#define GROUP_MAX 32

extern const char report_bench_page_html[], report_bench_page_html_end[];

static void header_write(FILE *out, struct bench_results *r)
{
	const char *lines[HEADER_LINES][2];
	size_t n = bench_format_header(r, lines, HEADER_LINES);

	fputs("<dl>\n", out);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "<dt>%s</dt><dd>", lines[i][0]);
		report_bench_text(out, lines[i][1]);
		fputs("</dd>\n", out);
	}
	fputs("</dl>\n<nav>", out);
	for (size_t i = 0; i < r->suites.size; i++)
		fprintf(out, "<a href=\"#%s\">%s</a>", r->suites.data[i].name,
			r->suites.data[i].name);
	fputs("</nav>\n<p class=\"key\"><span><i style=\"background:var(--ours)\"></i>ours</span>"
	      "<span><i style=\"background:var(--native)\"></i>native</span>"
	      "<span><i style=\"background:var(--peer)\"></i>peers</span> Lines across the "
	      "ends of bars: the range of the runs. A click on a column's head sorts.</p>\n",
	      out);
}

/* ---- plots ------------------------------------------------------------------------------------ */

static void figure_open(FILE *out, const char *title, const char *detail)
{
	fputs("<figure><figcaption>", out);
	report_bench_text(out, title);
	fputs(" <span>", out);
	report_bench_text(out, detail);
	fputs("</span></figcaption>\n", out);
}

/** Draw the group of row @p i, if it is the first of its work and there is something to
 * compare. */
static void bars_write(FILE *out, const struct bench_results *r, size_t i)
{
	const struct bench_row *group[GROUP_MAX], *row = &r->rows.data[i];
	size_t n = 0, n_values = 0;

	for (size_t j = 0; j < i; j++)
		if (!strcmp(r->rows.data[j].suite, row->suite) &&
		    !strcmp(r->rows.data[j].work, row->work))
			return;
	for (size_t j = i; j < r->rows.size && n < GROUP_MAX; j++)
		if (bench_rows_share_group(&r->rows.data[j], row)) {
			group[n++] = &r->rows.data[j];
			n_values += r->rows.data[j].n_runs > 0;
		}
	if (n_values < 2 || row->better == BENCH_NEITHER)
		return;
	figure_open(out, row->work, row->metric);
	report_bench_svg_bars(out, group, n);
	fputs("</figure>\n", out);
}

static void growth_write(FILE *out, const struct bench_results *r, size_t i)
{
	const struct bench_series *group[GROUP_MAX], *s = &r->series.data[i];
	size_t n;

	if (!report_bench_svg_group(r, i, group, GROUP_MAX, &n))
		return;
	figure_open(out, s->work, s->y_name);
	report_bench_svg_growth(out, group, n, "");
	fputs("</figure>\n", out);
}

static void plots_write(FILE *out, const struct bench_results *r,
			const struct bench_suite_info *suite)
{
	fputs("<div class=\"plots\">\n", out);
	for (size_t i = 0; i < r->rows.size && !suite->is_wide; i++)
		if (!strcmp(r->rows.data[i].suite, suite->name))
			bars_write(out, r, i);
	for (size_t i = 0; i < r->series.size; i++)
		if (!strcmp(r->series.data[i].suite, suite->name))
			growth_write(out, r, i);
	fputs("</div>\n", out);
}

/* ---- tables ----------------------------------------------------------------------------------- */

static void line_write(FILE *out, const struct bench_table *t, const struct bench_line *l)
{
	static const char *const roles[] = { "ours", "native", "peer" };

	fprintf(out, "<tr class=\"%s %s%s%s%s\">", roles[l->role],
		l->is_first ? "first" : "sub", l->is_skipped ? " skipped" : "",
		l->is_worse ? " worse" : "", l->is_noise ? " noise" : "");
	for (size_t c = 0; c < t->n_columns; c++) {
		const struct bench_cell *cell = &l->cells[c];

		if (t->is_number[c] && *cell->text && cell->key)
			fprintf(out, "<td class=\"n\" data-k=\"%g\">", cell->key);
		else
			fputs(t->is_number[c] ? "<td class=\"n\">" : "<td>", out);
		report_bench_text(out, cell->text);
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
}

static void table_write(FILE *out, const struct bench_table *t)
{
	if (!t->lines.size)
		return;
	fputs("<div class=\"scroll\"><table>\n<thead><tr>", out);
	for (size_t c = 0; c < t->n_columns; c++) {
		fputs(t->is_number[c] ? "<th class=\"n\">" : "<th>", out);
		report_bench_text(out, t->columns[c]);
		fputs("</th>", out);
	}
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t i = 0; i < t->lines.size; i++)
		line_write(out, t, &t->lines.data[i]);
	fputs("</tbody></table></div>\n", out);
}

/** What rows and columns are: works and tools. */
static struct err *words_write(FILE *out, struct bench_results *r)
{
	struct bench_table t;
	struct err *err = bench_table_works(r, &t);

	fputs("<details><summary>The works, the other tools</summary>\n", out);
	table_write(out, &t);
	bench_table_deinit(&t);
	if (!err) {
		err = bench_table_tools(r, &t);
		fputs("<p></p>\n", out);
		table_write(out, &t);
		bench_table_deinit(&t);
	}
	fputs("</details>\n", out);
	return err;
}

static struct err *suite_write(FILE *out, struct bench_results *r,
			       const struct bench_suite_info *suite)
{
	struct bench_table rows, series = {};
	struct err *err = bench_table_rows(r, suite, &rows);

	if (!err)
		err = bench_table_series(r, suite, &series);
	fprintf(out, "<h2 id=\"%s\">%s: ", suite->name, suite->name);
	report_bench_text(out, suite->title);
	fputs("</h2>\n<p>", out);
	report_bench_text(out, bench_format_about(r, suite));
	fputs("</p>\n", out);
	plots_write(out, r, suite);
	fprintf(out, "<div%s>\n", suite->is_wide ? " class=\"wide\"" : "");
	table_write(out, &rows);
	fputs("</div>\n", out);
	table_write(out, &series);
	bench_table_deinit(&rows);
	bench_table_deinit(&series);
	return err;
}

struct err *report_bench_html_write(FILE *out, struct bench_results *r)
{
	struct err *err;

	fwrite(report_bench_page_html, 1,
	       report_bench_page_html_end - report_bench_page_html, out);
	header_write(out, r);
	err = words_write(out, r);
	for (size_t i = 0; i < r->suites.size && !err; i++)
		err = suite_write(out, r, &r->suites.data[i]);
	fputs("</body>\n</html>\n", out);
	return err;
}
