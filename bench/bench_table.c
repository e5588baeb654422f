// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The tables that every emitter draws. A column that would be empty in all lines is left
 * out. Two shapes: a line for each row; or, in a wide suite, a line for each command on each
 * work, with a column for each metric.
 */

#include "bench/bench_format.h"

#include <string.h>

static void column_add(struct bench_table *t, const char *title, bool is_number)
{
	t->columns[t->n_columns] = title;
	t->is_number[t->n_columns++] = is_number;
}

void bench_table_deinit(struct bench_table *t)
{
	vec_deinit(&t->lines);
}

static struct bench_cell cell(struct bench_results *r, const char *text, double key)
{
	return (struct bench_cell){ bench_keep(r, text) ?: "", key };
}

static struct bench_line *line_push(struct bench_table *t)
{
	struct bench_line *l = vec_push(&t->lines);

	for (size_t i = 0; l && i < BENCH_COLUMNS_MAX; i++)
		l->cells[i].text = "";
	return l;
}

/** Remove the columns from the third on that no line fills. */
static void columns_prune(struct bench_table *t)
{
	size_t to = 2;

	for (size_t c = 2; c < t->n_columns; c++) {
		bool is_used = false;

		for (size_t i = 0; i < t->lines.size; i++)
			is_used |= *t->lines.data[i].cells[c].text != 0;
		if (!is_used)
			continue;
		for (size_t i = 0; i < t->lines.size; i++)
			t->lines.data[i].cells[to] = t->lines.data[i].cells[c];
		t->columns[to] = t->columns[c];
		t->is_number[to++] = t->is_number[c];
	}
	t->n_columns = to;
}

static struct bench_cell published_cell(struct bench_results *r,
					const struct bench_row *row)
{
	char value[BENCH_TEXT_MAX];

	if (!row->published)
		return cell(r, "", 0);
	bench_format_value(value, row->published, row->unit);
	return (struct bench_cell){
		bench_keep_printf(r, "%s%s%s", value, row->published_source ? ", " : "", row->published_source ?: "") ?:
			"",
		row->published
	};
}

static struct bench_cell note_cell(struct bench_results *r, const struct bench_row *row)
{
	_cleanup_free_ char *note = bench_format_note(row);

	return cell(r, note, 0);
}

/** What a line of several rows is, too, when one of them is. */
static void line_mark(struct bench_line *l, const struct bench_row *row)
{
	l->is_skipped |= row->skipped != NULL;
	l->is_noise |= row->ratio_to && bench_range_is_noise(&row->ratio);
	l->is_worse |= bench_row_misses_limit(row) || row->is_failure ||
		       (row->beaten_by && !bench_range_is_noise(&row->beaten_ratio));
}

/* ---- a line for each row ------------------------------------------------------------------- */

enum { WORK, COMMAND, METRIC, MEDIAN, SPREAD, RATIO, PUBLISHED, NOTE };

static void line_fill(struct bench_results *r, const struct bench_row *row,
		      struct bench_line *l)
{
	char text[BENCH_TEXT_MAX];

	l->role = row->role;
	line_mark(l, row);
	l->cells[WORK] = cell(r, row->work, 0);
	l->cells[COMMAND] = cell(r, row->command, 0);
	l->cells[METRIC] = cell(r, row->metric, 0);
	l->cells[MEDIAN] = cell(r, "-", 0);
	l->cells[PUBLISHED] = published_cell(r, row);
	l->cells[NOTE] = note_cell(r, row);
	if (!row->n_runs)
		return;
	bench_format_value(text, row->value.median, row->unit);
	l->cells[MEDIAN] = cell(r, text, row->value.median);
	bench_format_range(text, &row->value, row->unit);
	l->cells[SPREAD] = cell(r, text, row->value.min);
	bench_format_ratio(text, &row->ratio);
	l->cells[RATIO] = cell(r, text, row->ratio.median);
}

/** One and the same metric in all rows needs no column. */
static bool has_one_metric(const struct bench_results *r, const char *suite)
{
	const char *first = NULL;

	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *row = &r->rows.data[i];

		if (strcmp(row->suite, suite) != 0)
			continue;
		if (first && strcmp(first, row->metric) != 0)
			return false;
		first = row->metric;
	}
	return true;
}

static struct err *table_of_lines(struct bench_results *r, const char *suite,
				  struct bench_table *t)
{
	static const char *const titles[] = { "work",
					      "command",
					      "metric",
					      "median",
					      "range",
					      "ratio (range)",
					      "published, not measured",
					      "note" };
	bool is_one = has_one_metric(r, suite);
	const char *last = "";

	for (size_t i = 0; i <= NOTE; i++)
		column_add(t, titles[i], i >= MEDIAN && i <= RATIO);
	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *row = &r->rows.data[i];
		struct bench_line *l;

		if (strcmp(row->suite, suite) != 0)
			continue;
		l = line_push(t);
		if (!l)
			return &err_nomem;
		line_fill(r, row, l);
		l->is_first = strcmp(last, row->work) != 0;
		last = row->work;
		if (is_one) {
			l->cells[METRIC].text = "";
			t->columns[MEDIAN] = row->metric;
		}
	}
	return NULL;
}

/* ---- a column for each metric -------------------------------------------------------------- */

static size_t column_of(struct bench_table *t, const char *metric)
{
	size_t i = 2;

	while (i < t->n_columns && strcmp(t->columns[i], metric) != 0)
		i++;
	if (i == t->n_columns && i < BENCH_COLUMNS_MAX - 1)
		column_add(t, metric, true);
	return i < BENCH_COLUMNS_MAX - 1 ? i : BENCH_COLUMNS_MAX - 2;
}

static struct bench_cell wide_cell(struct bench_results *r, const struct bench_row *row)
{
	char value[BENCH_TEXT_MAX], range[BENCH_TEXT_MAX], published[BENCH_TEXT_MAX];

	if (!row->n_runs)
		return cell(r, "-", 0);
	bench_format_value(value, row->value.median, row->unit);
	bench_format_range(range, &row->value, row->unit);
	bench_format_value(published, row->published, row->unit);
	return (struct bench_cell){
		bench_keep_printf(r, "%s%s%s%s%s%s%s", value, *range ? " (" : "", range, *range ? ")" : "", row->published ? " [" : "", row->published ? published : "", row->published ? "]" : "") ?:
			"",
		row->value.median
	};
}

/** Add what is to be said of @p row to the line's note, under its metric's name. */
static void wide_note(struct bench_results *r, const struct bench_row *row,
		      const char **note)
{
	_cleanup_free_ char *text = bench_format_note(row);

	if (text && *text)
		*note = bench_keep_printf(r, "%s%s%s: %s", *note, **note ? "; " : "", row->metric, text) ?:
				"";
}

static struct err *table_of_metrics(struct bench_results *r, const char *suite,
				    struct bench_table *t)
{
	const struct bench_row *last = NULL;
	struct bench_line *l = NULL;

	column_add(t, "work", false);
	column_add(t, "command", false);
	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *row = &r->rows.data[i];

		if (strcmp(row->suite, suite) != 0)
			continue;
		if (!last || strcmp(last->work, row->work) != 0 ||
		    strcmp(last->command, row->command) != 0) {
			l = line_push(t);
			if (!l)
				return &err_nomem;
			l->role = row->role;
			l->is_first = !last || strcmp(last->work, row->work) != 0;
			l->cells[0] = cell(r, row->work, 0);
			l->cells[1] = cell(r, row->command, 0);
		}
		l->cells[column_of(t, row->metric)] = wide_cell(r, row);
		// The note waits in the last cell until the number of columns is known.
		line_mark(l, row);
		wide_note(r, row, &l->cells[BENCH_COLUMNS_MAX - 1].text);
		last = row;
	}
	column_add(t, "note", false);
	for (size_t i = 0; i < t->lines.size; i++) {
		struct bench_cell *cells = t->lines.data[i].cells;

		cells[t->n_columns - 1] = cells[BENCH_COLUMNS_MAX - 1];
	}
	return NULL;
}

struct err *bench_table_rows(struct bench_results *r,
			     const struct bench_suite_info *suite,
			     struct bench_table *ret)
{
	struct err *err;

	*ret = (struct bench_table){};
	err = suite->is_wide ? table_of_metrics(r, suite->name, ret) :
			       table_of_lines(r, suite->name, ret);
	columns_prune(ret);
	return err;
}

/* ---- series ---------------------------------------------------------------------------------- */

static struct err *series_line(struct bench_results *r, const struct bench_series *s,
			       struct bench_table *t)
{
	struct bench_line *l = line_push(t);
	char text[BENCH_TEXT_MAX], from[BENCH_TEXT_MAX], to[BENCH_TEXT_MAX];

	if (!l)
		return &err_nomem;
	l->role = s->role;
	l->is_first = t->lines.size == 1 || strcmp(l[-1].cells[0].text, s->work) != 0;
	l->cells[0] = cell(r, s->work, 0);
	l->cells[1] = cell(r, s->command, 0);
	l->cells[2] = cell(r, s->y_name, 0);
	bench_format_value(text, s->fit.slope, s->y_unit);
	l->cells[3].text = bench_keep_printf(r, "%s", s->fit.is_valid ? text : "-") ?: "";
	l->cells[3].key = s->fit.slope;
	l->cells[4] = cell(r, s->x_name, 0);
	bench_format_exponent(text, &s->fit);
	l->cells[5] = cell(r, text, s->fit.exponent);
	if (s->expected_exponent) {
		snprintf(text, sizeof(text), "%.2f", s->expected_exponent);
		l->cells[6] = cell(r, text, s->expected_exponent);
	}
	if (s->n) {
		bench_format_value(from, s->x[0], "");
		bench_format_value(to, s->x[s->n - 1], "");
		l->cells[7].text =
			bench_keep_printf(r, "%s to %s in %zu", from, to, s->n) ?: "";
	}
	l->cells[8] = cell(r,
			   s->note	   ? s->note :
			   s->fit.is_valid ? "" :
					     "no fit: less than what the runs vary by",
			   0);
	return NULL;
}

struct err *bench_table_series(struct bench_results *r,
			       const struct bench_suite_info *suite,
			       struct bench_table *ret)
{
	static const struct {
		const char *title;
		bool is_number;
	} columns[] = {
		{ "work", false },     { "command", false },  { "grows", false },
		{ "one costs", true }, { "with", false },     { "exponent (95 %)", true },
		{ "expected", true },  { "measured", false }, { "note", false },
	};
	struct err *err = NULL;

	*ret = (struct bench_table){};
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		column_add(ret, columns[i].title, columns[i].is_number);
	for (size_t i = 0; i < r->series.size && !err; i++)
		if (!strcmp(r->series.data[i].suite, suite->name))
			err = series_line(r, &r->series.data[i], ret);
	columns_prune(ret);
	return err;
}

/* ---- works and tools --------------------------------------------------------------------------- */

/** Add a line of three texts. */
static struct err *words_push(struct bench_table *t, const char *a, const char *b,
			      const char *c)
{
	struct bench_line *l = line_push(t);

	if (!l)
		return &err_nomem;
	l->is_first = true;
	l->role = BENCH_PEER; // not ours, hence nothing special
	l->cells[0].text = a ?: "";
	l->cells[1].text = b ?: "";
	l->cells[2].text = c ?: "";
	return NULL;
}

struct err *bench_table_works(struct bench_results *r, struct bench_table *ret)
{
	struct err *err = NULL;

	*ret = (struct bench_table){};
	column_add(ret, "work", false);
	column_add(ret, "what it is", false);
	for (size_t i = 0; i < r->works.size && !err; i++)
		err = words_push(ret, r->works.data[i].name, r->works.data[i].what, NULL);
	return err;
}

struct err *bench_table_tools(struct bench_results *r, struct bench_table *ret)
{
	struct err *err = NULL;

	*ret = (struct bench_table){};
	column_add(ret, "tool", false);
	column_add(ret, "version", false);
	column_add(ret, "what it does", false);
	for (size_t i = 0; i < r->tools.size && !err; i++) {
		const struct bench_tool *t = &r->tools.data[i];
		const char *missing = bench_keep_printf(r, "not installed (Debian: %s)",
							t->package ?: "no package");

		err = words_push(ret, t->name, t->version ?: missing, t->what);
	}
	return err;
}
