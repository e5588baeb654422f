// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_format.h"

#include <math.h>
#include <string.h>

/** Digits after the point so that three count. */
static int digits_of(double v)
{
	v = fabs(v);
	return v >= 100 || v == 0 ? 0 : v >= 10 ? 1 : 2;
}

struct scale {
	double factor;
	const char *prefix;
};

/** How @p value of @p unit is written: times from ns to s, bytes in powers of two, what is
 * counted by the second in thousands. */
static struct scale scale_of(double value, const char *unit)
{
	static const struct scale up[] = { { 1e-9, "G" }, { 1e-6, "M" }, { 1e-3, "k" } };
	static const struct scale down[] = { { 1e3, "m" }, { 1e6, "u" }, { 1e9, "n" } };
	static const struct scale bytes[] = { { 0x1p-30, "Gi" },
					      { 0x1p-20, "Mi" },
					      { 0x1p-10, "Ki" } };
	double v = fabs(value);

	if (!strcmp(unit, "s"))
		for (int i = 0; i < 3 && v < 1 && v > 0; i++)
			if (v * down[i].factor >= 1 || i == 2)
				return down[i];
	if (!strcmp(unit, "B"))
		for (int i = 0; i < 3; i++)
			if (v * bytes[i].factor >= 1)
				return bytes[i];
	if (strstr(unit, "/s") || (!*unit && v >= 1e5))
		for (int i = 0; i < 3; i++)
			if (v * up[i].factor >= 1)
				return up[i];
	return (struct scale){ 1, "" };
}

static bool is_whole(double v, const char *unit)
{
	return v == floor(v) && fabs(v) < 1e5 && (!*unit || !strcmp(unit, "B"));
}

void bench_format_value(char ret[BENCH_TEXT_MAX], double value, const char *unit)
{
	struct scale s = scale_of(value, unit);
	double v = value * s.factor;
	int digits = !*s.prefix && is_whole(value, unit) ? 0 : digits_of(v);
	const char *gap =
		*s.prefix || (*unit && strcmp(unit, "%") && strcmp(unit, "x")) ? " " : "";

	snprintf(ret, BENCH_TEXT_MAX, "%.*f%s%s%s", digits, v, gap, s.prefix, unit);
}

void bench_format_range(char ret[BENCH_TEXT_MAX], const struct bench_range *v,
			const char *unit)
{
	struct scale s = scale_of(v->median, unit);
	double min = v->min * s.factor, max = v->max * s.factor;
	int digits = !*s.prefix && is_whole(v->min, unit) && is_whole(v->max, unit) ?
			     0 :
			     digits_of(v->median * s.factor);

	ret[0] = 0;
	if (v->min != v->max)
		snprintf(ret, BENCH_TEXT_MAX, "%.*f-%.*f", digits, min, digits, max);
}

void bench_format_ratio(char ret[BENCH_TEXT_MAX], const struct bench_range *ratio)
{
	int digits = digits_of(ratio->median);

	ret[0] = 0;
	if (ratio->median <= 0)
		return;
	if (ratio->min == ratio->max)
		snprintf(ret, BENCH_TEXT_MAX, "%.*fx", digits, ratio->median);
	else
		snprintf(ret, BENCH_TEXT_MAX, "%.*fx (%.*f-%.*f)", digits, ratio->median,
			 digits, ratio->min, digits, ratio->max);
}

void bench_format_exponent(char ret[BENCH_TEXT_MAX], const struct bench_fit *fit)
{
	if (!fit->is_valid)
		snprintf(ret, BENCH_TEXT_MAX, "-");
	else if (fit->low == fit->high)
		snprintf(ret, BENCH_TEXT_MAX, "%.2f", fit->exponent);
	else
		snprintf(ret, BENCH_TEXT_MAX, "%.2f (%.2f-%.2f)", fit->exponent, fit->low,
			 fit->high);
}

/* ---- what is to be said of a row -------------------------------------------------------------- */

/** A row that is a ratio itself has none to another. */
static bool has_limit(const struct bench_row *row)
{
	return row->limit > 0 &&
	       (row->ratio_to || (row->n_runs && !strcmp(row->unit, "x")));
}

static bool misses(const struct bench_row *row, double value, double limit)
{
	return row->better == BENCH_HIGHER ? value < limit : value > limit;
}

static bool misses_limit(const struct bench_row *row)
{
	return has_limit(row) &&
	       misses(row, row->ratio_to ? row->ratio.median : row->value.median,
		      row->limit);
}

static bool misses_wanted(const struct bench_row *row)
{
	return row->wanted > 0 && row->n_runs &&
	       misses(row, row->value.median, row->wanted);
}

bool bench_row_misses_limit(const struct bench_row *row)
{
	return misses_limit(row) || misses_wanted(row);
}

static void say_wanted(FILE *f, const struct bench_row *row, const char *wanted,
		       bool is_missed, const char **gap)
{
	fprintf(f, "%swanted at %s %s: %s", *gap,
		row->better == BENCH_HIGHER ? "least" : "most", wanted,
		is_missed ? "MISSED" : "kept");
	*gap = "; ";
}

static void say_limits(FILE *f, const struct bench_row *row, const char **gap)
{
	char wanted[BENCH_TEXT_MAX];

	if (has_limit(row)) {
		snprintf(wanted, sizeof(wanted), "%.2fx", row->limit);
		say_wanted(f, row, wanted, misses_limit(row), gap);
	}
	if (row->wanted > 0 && row->n_runs) {
		bench_format_value(wanted, row->wanted, row->unit);
		say_wanted(f, row, wanted, misses_wanted(row), gap);
	}
}

static void say_standing(FILE *f, const struct bench_row *row, const char **gap)
{
	char ratio[BENCH_TEXT_MAX];

	if (row->ratio_to && bench_range_is_noise(&row->ratio)) {
		fprintf(f, "%snoise: as %s", *gap, row->ratio_to);
		*gap = "; ";
	}
	if (!row->beaten_by)
		return;
	bench_format_ratio(ratio, &row->beaten_ratio);
	if (bench_range_is_noise(&row->beaten_ratio))
		fprintf(f, "%sno better than %s: %s is noise", *gap, row->beaten_by,
			ratio);
	else
		fprintf(f, "%snot the best: %s is %s better", *gap, row->beaten_by,
			ratio);
	*gap = "; ";
}

char *bench_format_note(const struct bench_row *row)
{
	char *text = NULL;
	const char *gap = "";
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (row->skipped) {
		fprintf(f, "%s: %s", row->is_failure ? "FAILED" : "skipped",
			row->skipped);
		gap = "; ";
	}
	say_standing(f, row, &gap);
	say_limits(f, row, &gap);
	if (row->note)
		fprintf(f, "%s%s", gap, row->note);
	fclose(f);
	return text;
}

const char *bench_format_about(struct bench_results *r,
			       const struct bench_suite_info *suite)
{
	const char *about = suite->about ?: "", *gap = suite->about ? " " : "";

	if (!suite->took_s)
		return about;
	return bench_keep_printf(r, "%s%sMeasured in %.0f min %02.0f s.", about, gap, floor(suite->took_s / 60), fmod(suite->took_s, 60)) ?:
		       about;
}

/* ---- the header ------------------------------------------------------------------------------ */

/** Whether the tool before has the same version: valgrind has several. */
static bool is_repeated(const struct bench_results *r, size_t i)
{
	const struct bench_tool *t = &r->tools.data[i];

	return i && t[-1].version && t->version && !strcmp(t[-1].version, t->version);
}

static const char *tools_text(struct bench_results *r, bool is_there)
{
	const char *text = "";

	for (size_t i = 0; i < r->tools.size && text; i++) {
		const struct bench_tool *t = &r->tools.data[i];

		if (is_there && t->version && !is_repeated(r, i))
			text = bench_keep_printf(r, "%s%s%s", text, *text ? ", " : "",
						 t->version);
		else if (!is_there && !t->version)
			text = bench_keep_printf(r, "%s%s%s (Debian: %s)", text,
						 *text ? ", " : "", t->name,
						 t->package ?: "no package");
	}
	return text;
}

/** Load and what others had of the processors; the end is not known while suites run. */
static const char *load_text(struct bench_results *r)
{
	const struct bench_header *h = &r->header;

	if (!h->load_end)
		return bench_keep_printf(r, "%.2f", h->load_start);
	return bench_keep_printf(
		r, "%.2f before, %.2f after; other work had %.0f %% of the processors%s",
		h->load_start, h->load_end, h->others * 100,
		h->others > BENCH_OTHERS_MOST ? ": TIMES ARE NOT TO BE QUOTED" : "");
}

size_t bench_format_header(struct bench_results *r, const char *ret[][2], size_t max)
{
	const struct bench_header *h = &r->header;
	const char *const lines[][2] = {
		{ "faultline", bench_keep_printf(r, "%s, commit %s", h->version ?: "?",
						 h->commit ?: "unknown") },
		{ "date", h->date },
		{ "command", h->command },
		{ "processor", bench_keep_printf(r, "%s, %d processors, %s memory",
						 h->processor ?: "unknown",
						 h->n_processors, h->memory ?: "?") },
		{ "kernel", h->kernel },
		{ "governor", h->governor },
		{ "load", load_text(r) },
		{ "rounds",
		  bench_keep_printf(r, "%d that count, after one that does not%s",
				    h->rounds, h->is_quick ? "; quick form" : "") },
		{ "peers", tools_text(r, true) },
		{ "missing", tools_text(r, false) },
	};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines) && n < max; i++)
		if (lines[i][1] && *lines[i][1]) {
			ret[n][0] = lines[i][0];
			ret[n++][1] = lines[i][1];
		}
	return n;
}
