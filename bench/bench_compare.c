// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "bench/bench_compare.h"

#include <math.h>
#include <string.h>

#include "bench/bench_format.h"

#define CHANCE 0.01	///< below it runs are no longer taken for the same
#define CHANCE_MOST 0.1 ///< what so few runs must allow at least to be judged: 3 and 3
#define SHIFT 0.05	///< smaller ones do not matter

static const char *const verdict_names[] = {
	[BENCH_NOISE] = "noise",     [BENCH_WORSE] = "worse",
	[BENCH_BETTER] = "better",   [BENCH_CHANGED] = "changed",
	[BENCH_TOO_FEW] = "too few",
};

/** What is compared of a row: its runs, each divided by its base's of the same round. */
struct quantity {
	double value[BENCH_RUNS_MAX];
	size_t n;
	bool is_ratio;
};

static const struct bench_row *base_find(const struct bench_results *r,
					 const struct bench_row *row)
{
	const char *metric = row->base_metric ?: row->metric;

	for (size_t i = 0; i < r->rows.size && row->ratio_to; i++) {
		const struct bench_row *o = &r->rows.data[i];

		if (!strcmp(o->suite, row->suite) && !strcmp(o->work, row->work) &&
		    !strcmp(o->metric, metric) && !strcmp(o->command, row->ratio_to))
			return o;
	}
	return NULL;
}

static void quantity_of(const struct bench_results *r, const struct bench_row *row,
			struct quantity *q)
{
	const struct bench_row *base = base_find(r, row);

	*q = (struct quantity){ .n = row->n_runs, .is_ratio = base && base->n_runs };
	for (size_t i = 0; i < row->n_runs; i++) {
		double by = !q->is_ratio		? 1 :
			    base->n_runs == row->n_runs ? base->runs[i] :
							  base->value.median;

		q->value[i] = by > 0 ? row->runs[i] / by : row->runs[i];
	}
}

static enum bench_verdict verdict_of(double shift, enum bench_better better)
{
	if (better == BENCH_NEITHER)
		return BENCH_CHANGED;
	return (shift > 1) == (better == BENCH_LOWER) ? BENCH_WORSE : BENCH_BETTER;
}

enum bench_verdict bench_compare_runs(const double *before, size_t n_before,
				      const double *after, size_t n_after,
				      enum bench_better better, double *shift,
				      double *chance)
{
	double from = bench_range_of(before, n_before).median;
	double least = bench_same_chance_min(n_before, n_after);

	*shift = from > 0 ? bench_range_of(after, n_after).median / from : 0;
	*chance = bench_same_chance(before, n_before, after, n_after);
	// One part in a million: 2 / 20 is no tenth exactly.
	if (least > CHANCE_MOST * (1 + 1e-6) || *shift <= 0)
		return BENCH_TOO_FEW;
	if (*chance > fmax(CHANCE, least) * (1 + 1e-6) || fabs(*shift - 1) < SHIFT)
		return BENCH_NOISE;
	return verdict_of(*shift, better);
}

static enum bench_verdict compare_exact(const struct bench_row *before,
					const struct bench_row *after, double *shift)
{
	double from = before->value.median, to = after->value.median;

	*shift = from != 0 ? to / from : 0;
	if (from == to && before->value.min == after->value.min &&
	    before->value.max == after->value.max)
		return BENCH_NOISE;
	return from == to ? BENCH_CHANGED : verdict_of(to / from, after->better);
}

static const struct bench_row *row_find(const struct bench_results *r,
					const struct bench_row *row)
{
	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *o = &r->rows.data[i];

		if (bench_rows_share_group(o, row) && !strcmp(o->command, row->command))
			return o;
	}
	return NULL;
}

static bool is_compared(const struct bench_row *row)
{
	return row->role == BENCH_OURS && row->n_runs && (row->is_exact || row->ratio_to);
}

static void moved_print(FILE *out, enum bench_verdict verdict,
			const struct bench_row *row, const char *from, const char *to,
			double shift, double chance)
{
	fprintf(out, "%-8s %s, %s, %s: %s, was %s", verdict_names[verdict], row->suite,
		row->work, row->command, row->metric, from);
	fprintf(out, ", is %s", to);
	if (shift > 0)
		fprintf(out, " (%+.1f %%)", (shift - 1) * 100);
	if (chance > 0)
		fprintf(out, ", by chance %.2g %%", chance * 100);
	fputc('\n', out);
}

static void quantity_text(char ret[BENCH_TEXT_MAX], const struct quantity *q,
			  const char *unit)
{
	struct bench_range range = bench_range_of(q->value, q->n);

	if (q->is_ratio)
		bench_format_ratio(ret, &range);
	else
		bench_format_value(ret, range.median, unit);
}

static void row_compare(FILE *out, const struct bench_results *r_before,
			const struct bench_row *before,
			const struct bench_results *r_after,
			const struct bench_row *after, struct bench_comparison *ret)
{
	char from[BENCH_TEXT_MAX], to[BENCH_TEXT_MAX];
	double shift, chance = 0;
	enum bench_verdict verdict;
	struct quantity a, b;

	quantity_of(r_before, before, &a);
	quantity_of(r_after, after, &b);
	if (after->is_exact) {
		verdict = compare_exact(before, after, &shift);
	} else {
		verdict = bench_compare_runs(a.value, a.n, b.value, b.n, after->better,
					     &shift, &chance);
		if (verdict != BENCH_TOO_FEW)
			ret->expected += fmax(CHANCE, bench_same_chance_min(a.n, b.n));
	}
	ret->n[verdict]++;
	if (verdict == BENCH_NOISE || verdict == BENCH_TOO_FEW)
		return;
	a.is_ratio &= !after->is_exact;
	b.is_ratio &= !after->is_exact;
	quantity_text(from, &a, before->unit);
	quantity_text(to, &b, after->unit);
	moved_print(out, verdict, after, from, to, shift, chance);
}

static const struct bench_series *series_find(const struct bench_results *r,
					      const struct bench_series *s)
{
	for (size_t i = 0; i < r->series.size; i++) {
		const struct bench_series *o = &r->series.data[i];

		if (!strcmp(o->suite, s->suite) && !strcmp(o->work, s->work) &&
		    !strcmp(o->command, s->command) && !strcmp(o->y_name, s->y_name))
			return o;
	}
	return NULL;
}

static void series_compare(FILE *out, const struct bench_series *before,
			   const struct bench_series *after, struct bench_comparison *ret)
{
	const struct bench_row row = { .suite = after->suite,
				       .work = after->work,
				       .command = after->command,
				       .metric = "exponent" };
	char from[BENCH_TEXT_MAX], to[BENCH_TEXT_MAX];
	enum bench_verdict verdict = BENCH_NOISE;

	if (!before->fit.is_valid || !after->fit.is_valid)
		verdict = BENCH_TOO_FEW;
	else if (after->fit.low > before->fit.high)
		verdict = BENCH_WORSE;
	else if (after->fit.high < before->fit.low)
		verdict = BENCH_BETTER;
	ret->n[verdict]++;
	if (verdict == BENCH_NOISE || verdict == BENCH_TOO_FEW)
		return;
	bench_format_exponent(from, &before->fit);
	bench_format_exponent(to, &after->fit);
	moved_print(out, verdict, &row, from, to, 0, 0);
}

/** Print the rows of ours that only @p r has. @return how many. */
static size_t only_print(FILE *out, const struct bench_results *r,
			 const struct bench_results *other, const char *where)
{
	size_t n = 0;

	for (size_t i = 0; i < r->rows.size; i++) {
		const struct bench_row *row = &r->rows.data[i], *o;

		if (!is_compared(row))
			continue;
		o = row_find(other, row);
		if (o && is_compared(o))
			continue;
		fprintf(out, "%-8s %s, %s, %s: %s%s%s\n", where, row->suite, row->work,
			row->command, row->metric, o && o->skipped ? ": there " : "",
			o && o->skipped ? o->skipped : "");
		n++;
	}
	return n;
}

void bench_compare(FILE *out, const struct bench_results *before,
		   const struct bench_results *after, struct bench_comparison *ret)
{
	*ret = (struct bench_comparison){};
	for (size_t i = 0; i < after->rows.size; i++) {
		const struct bench_row *row = &after->rows.data[i], *old;

		if (!is_compared(row))
			continue;
		old = row_find(before, row);
		if (old && is_compared(old))
			row_compare(out, before, old, after, row, ret);
	}
	for (size_t i = 0; i < after->series.size; i++) {
		const struct bench_series *s = &after->series.data[i];
		const struct bench_series *old = series_find(before, s);

		if (old && s->role == BENCH_OURS)
			series_compare(out, old, s, ret);
	}
	ret->n_only_old = only_print(out, before, after, "only old");
	ret->n_only_new = only_print(out, after, before, "only new");
	fprintf(out,
		"%zu worse, %zu better, %zu changed, %zu within noise, %zu of too few runs "
		"to tell; by chance alone %.1f would have moved\n",
		ret->n[BENCH_WORSE], ret->n[BENCH_BETTER], ret->n[BENCH_CHANGED],
		ret->n[BENCH_NOISE], ret->n[BENCH_TOO_FEW], ret->expected);
}
