// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/bench_svg.h"

#include <math.h>
#include <string.h>

#include "bench/bench_format.h"

#define WIDTH BENCH_SVG_WIDTH
#define LOG_FROM 20 ///< from this factor on, lengths are logarithms

void report_bench_text(FILE *out, const char *s)
{
	text_put_markup(out, s, strlen(s));
}

/** From values to places along a line. */
struct axis {
	double low, high; ///< values
	double from, to;  ///< places
	bool is_log;
};

static double place(const struct axis *a, double v)
{
	double share;

	if (a->is_log)
		share = v > 0 ? log(v / a->low) / log(a->high / a->low) : 0;
	else
		share = (v - a->low) / (a->high - a->low);
	return a->from + fmin(fmax(share, 0), 1.02) * (a->to - a->from);
}

static void text_at(FILE *out, double x, double y, const char *anchor, const char *class,
		    const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y,
		anchor, class);
	report_bench_text(out, text);
	fputs("</text>\n", out);
}

static void line_at(FILE *out, double x1, double y1, double x2, double y2,
		    const char *class)
{
	fprintf(out,
		"<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" class=\"%s\"/>\n",
		x1, y1, x2, y2, class);
}

/* ---- bars ----------------------------------------------------------------------------------- */

enum { ROW_HEIGHT = 22, LABEL_WIDTH = 128, VALUE_WIDTH = 66, AXIS_HEIGHT = 20 };

static struct axis bars_axis(const struct bench_row *const *rows, size_t n)
{
	struct axis a = { .from = LABEL_WIDTH, .to = WIDTH - VALUE_WIDTH };
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < n; i++) {
		if (!rows[i]->n_runs)
			continue;
		least = rows[i]->value.min > 0 ? fmin(least, rows[i]->value.min) : least;
		most = fmax(most, rows[i]->value.max);
	}
	a.is_log = least < INFINITY && most / least > LOG_FROM;
	a.high = most > 0 ? most : 1;
	// Bars of logarithms begin at a power of ten below all of them.
	a.low = a.is_log ? pow(10, floor(log10(least * 0.8))) : 0;
	return a;
}

/** A place on an axis in few digits: "20 ms". */
static void tick_text(char ret[BENCH_TEXT_MAX], double v, const char *unit)
{
	char *point, *end;

	bench_format_value(ret, v, unit);
	point = strchr(ret, '.');
	if (!point)
		return;
	end = point + 1 + strspn(point + 1, "0123456789");
	if (strspn(point + 1, "0") == (size_t)(end - point - 1))
		memmove(point, end, strlen(end) + 1);
	else if (end[-1] == '0')
		memmove(end - 1, end, strlen(end) + 1);
}

/** 1, 2 or 5 times a power of ten, so that about four of it make @p v. */
static double step_for(double v)
{
	double power = pow(10, floor(log10(v / 4))), n = v / 4 / power;

	return power * (n < 1.5 ? 1 : n < 3.5 ? 2 : n < 7.5 ? 5 : 10);
}

static void bars_ticks(FILE *out, const struct axis *a, const char *unit, double bottom)
{
	char text[BENCH_TEXT_MAX];
	double decades = a->is_log ? log10(a->high / a->low) : 0;
	double step = a->is_log ? pow(10, ceil(decades / 5)) : step_for(a->high);
	double v = a->low;

	for (int i = 0; i < 8 && v <= a->high * 1.001; i++) {
		line_at(out, place(a, v), 0, place(a, v), bottom, "grid");
		tick_text(text, v, unit);
		text_at(out, place(a, v), bottom + 14, "middle", "faint", v ? text : "0");
		v = a->is_log ? v * step : v + step;
	}
	if (a->is_log)
		text_at(out, 0, bottom + 14, "start", "faint", "logarithmic");
}

static void bar(FILE *out, const struct axis *a, const struct bench_row *row, double y)
{
	static const char *const classes[] = { "ours", "native", "peer" };
	double x = place(a, row->value.median), min = place(a, row->value.min),
	       max = place(a, row->value.max), middle = y + ROW_HEIGHT / 2.0;
	char text[BENCH_TEXT_MAX];

	text_at(out, LABEL_WIDTH - 6, middle + 4, "end", "", row->command);
	fprintf(out,
		"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" class=\"%s\"/>\n",
		a->from, y + 4, fmax(x - a->from, 1), ROW_HEIGHT - 8, classes[row->role]);
	if (row->value.min != row->value.max) {
		line_at(out, min, middle, max, middle, "whisker");
		line_at(out, min, middle - 4, min, middle + 4, "whisker");
		line_at(out, max, middle - 4, max, middle + 4, "whisker");
	}
	bench_format_value(text, row->value.median, row->unit);
	text_at(out, fmax(x, max) + 5, middle + 4, "start", "value", text);
}

void report_bench_svg_bars(FILE *out, const struct bench_row *const *rows, size_t n)
{
	struct axis a = bars_axis(rows, n);
	size_t n_shown = 0;
	double y = 0;

	for (size_t i = 0; i < n; i++)
		n_shown += rows[i]->n_runs > 0;
	fprintf(out, "<svg viewBox=\"0 0 %d %zu\" role=\"img\">\n", WIDTH,
		n_shown * ROW_HEIGHT + AXIS_HEIGHT);
	bars_ticks(out, &a, rows[0]->unit, (double)n_shown * ROW_HEIGHT);
	for (size_t i = 0; i < n; i++)
		if (rows[i]->n_runs) {
			bar(out, &a, rows[i], y);
			y += ROW_HEIGHT;
		}
	fputs("</svg>\n", out);
}

/* ---- growth ---------------------------------------------------------------------------------- */

enum { HEIGHT = 250, LEFT = 58, RIGHT = 14, TOP = 8, BOTTOM = 30, KEY_HEIGHT = 17 };

static double net(const struct bench_series *s, double y)
{
	return y - s->fixed;
}

static void growth_axes(const struct bench_series *const *series, size_t n,
			struct axis *x, struct axis *y)
{
	*x = (struct axis){ INFINITY, 0, LEFT, WIDTH - RIGHT, true };
	*y = (struct axis){ INFINITY, 0, HEIGHT - BOTTOM, TOP, true };
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < series[i]->n; j++) {
			double at = series[i]->x[j],
			       value = net(series[i], series[i]->y[j].median);

			if (at <= 0 || value <= 0)
				continue;
			x->low = fmin(x->low, at);
			x->high = fmax(x->high, at);
			y->low = fmin(y->low, value);
			y->high = fmax(y->high, value);
		}
	x->low /= 1.15;
	x->high *= 1.15;
	y->low /= 1.4;
	y->high *= 1.4;
}

static void growth_tick(FILE *out, const struct axis *a, bool is_x, double v,
			const char *unit)
{
	double at = place(a, v);
	char text[BENCH_TEXT_MAX];

	if (v < a->low || v > a->high)
		return;
	tick_text(text, v, unit);
	if (is_x) {
		line_at(out, at, TOP, at, HEIGHT - BOTTOM, "grid");
		text_at(out, at, HEIGHT - BOTTOM + 14, "middle", "faint", text);
	} else {
		line_at(out, LEFT, at, WIDTH - RIGHT, at, "grid");
		text_at(out, LEFT - 5, at + 4, "end", "faint", text);
	}
}

/** Lines at 1, 2 and 5 times powers of ten (of bytes: at powers of two); at fewer when the
 * axis is long. */
static void growth_ticks(FILE *out, const struct axis *a, bool is_x, const char *unit)
{
	static const double steps[] = { 1, 2, 5 };
	bool is_bytes = !strcmp(unit, "B"), is_long = a->high / a->low > 300;
	double base = is_bytes ? is_long ? 16 : 2 : 10;
	double power = pow(base, floor(log(a->low) / log(base)));

	for (; power <= a->high; power *= base)
		for (size_t i = 0; i < (is_bytes || is_long ? 1 : 3); i++)
			growth_tick(out, a, is_x, power * steps[i], unit);
}

static void growth_line(FILE *out, const struct bench_series *s, const struct axis *x,
			const struct axis *y)
{
	double from = 0, to = 0;

	for (size_t i = 0; i < s->n; i++) {
		double value = net(s, s->y[i].median), at = place(x, s->x[i]);

		if (s->x[i] <= 0 || value <= 0)
			continue;
		from = from ? from : s->x[i];
		to = s->x[i];
		line_at(out, at, place(y, net(s, s->y[i].min)), at,
			place(y, net(s, s->y[i].max)), "spread");
		fprintf(out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.2\" class=\"point\"/>\n",
			at, place(y, value));
	}
	if (s->fit.is_valid)
		line_at(out, place(x, from),
			place(y, s->fit.coefficient * pow(from, s->fit.exponent)),
			place(x, to),
			place(y, s->fit.coefficient * pow(to, s->fit.exponent)), "fit");
}

static void growth_key(FILE *out, const struct bench_series *s, double y)
{
	char exponent[BENCH_TEXT_MAX], slope[BENCH_TEXT_MAX], text[3 * BENCH_TEXT_MAX];

	bench_format_exponent(exponent, &s->fit);
	bench_format_value(slope, s->fit.slope, s->y_unit);
	fprintf(out, "<circle cx=\"%d\" cy=\"%.1f\" r=\"4\" class=\"point\"/>\n",
		LEFT + 4, y - 4);
	if (s->fit.is_valid)
		snprintf(text, sizeof(text), "%s: exponent %s, %s each", s->command,
			 exponent, slope);
	else
		snprintf(text, sizeof(text), "%s: no fit", s->command);
	text_at(out, LEFT + 14, y, "start", "", text);
}

int report_bench_svg_growth_height(size_t n)
{
	return HEIGHT + 8 +
	       (n < BENCH_SVG_SERIES_MAX ? n : BENCH_SVG_SERIES_MAX) * KEY_HEIGHT;
}

void report_bench_svg_growth(FILE *out, const struct bench_series *const *series,
			     size_t n, const char *attributes)
{
	struct axis x, y;

	n = n < BENCH_SVG_SERIES_MAX ? n : BENCH_SVG_SERIES_MAX;
	growth_axes(series, n, &x, &y);
	fprintf(out, "<svg viewBox=\"0 0 %d %d\" role=\"img\"%s>\n", WIDTH,
		report_bench_svg_growth_height(n), attributes);
	if (x.high > 0) {
		growth_ticks(out, &x, true, "");
		growth_ticks(out, &y, false, series[0]->y_unit);
	}
	text_at(out, WIDTH - RIGHT, HEIGHT - 2, "end", "faint", series[0]->x_name);
	for (size_t i = 0; i < n; i++) {
		fprintf(out, "<g class=\"s%zu\">\n", i);
		growth_line(out, series[i], &x, &y);
		growth_key(out, series[i], HEIGHT + 14 + (double)i * KEY_HEIGHT);
		fputs("</g>\n", out);
	}
	fputs("</svg>\n", out);
}
