// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/suppress.h"

#include <string.h>

#include "base/file.h"
#include "base/text.h"

static const char *const head =
	"<!DOCTYPE html><html><head><meta charset=\"utf-8\"><title>suppressed</title><style>\n"
	"body{font-family:sans-serif;margin:1em}pre,code{white-space:pre-wrap}\n"
	".f{background:#fbb;padding:.3em}td,th{text-align:left;padding:0 1em 0 0;"
	"vertical-align:top}\n"
	"</style></head><body>\n";

static void put(FILE *out, const char *text)
{
	text_put_markup(out, text, strlen(text));
}

/* Its line of the source, if that may be read. */
static void put_source(const struct sup_result *r, const struct dec_place *p, FILE *out)
{
	_cleanup_fclose_ FILE *f = p->line ? dec_symbols_source(r->symbols, p) : NULL;
	_cleanup_free_ char *line = NULL;
	size_t bytes = 0;

	for (int i = 0; f && i < p->line; i++)
		if (getline(&line, &bytes, f) < 0)
			return;
	if (!f || !line)
		return;
	line[strcspn(line, "\r\n")] = 0;
	fputs(" <code>", out);
	put(out, line + strspn(line, " \t"));
	fputs("</code>", out);
}

static void put_place(const struct sup_result *r, const struct sup_place *p, FILE *out)
{
	char text[1024] = "";
	FILE *f = fmemopen(text, sizeof(text), "w");

	if (f) {
		dec_place_print(&p->place, f);
		fclose(f);
	}
	put(out, text);
	if (p->by) {
		fputs(", by ", out);
		put(out, p->by);
		fputs("()", out);
	}
	put_source(r, &p->place, out);
}

static void put_found(const struct sup_result *r, FILE *out)
{
	const struct sup_step *s = r->steps.size ? &r->steps.data[r->found] : NULL;

	if (!r->has_crashed)
		fputs("<p>It did not crash.</p>\n", out);
	else if (!r->is_removed && !r->is_race)
		fputs("<p>The crash could not be removed.</p>\n", out);
	for (size_t i = s && (r->is_removed || r->is_race) ? s->first : SIZE_MAX;
	     i < (s ? s->first + s->n : 0); i++) {
		fprintf(out, "<p class=\"f\">%s ",
			i > s->first ? "or" :
			r->is_race   ? "made by a race, likely:" :
				       "first corruption, likely:");
		put_place(r, &r->points.data[i].place, out);
		fputs("</p>\n", out);
	}
}

static void put_ordering(const struct sup_ordering *o, FILE *out)
{
	fprintf(out,
		"<p>With variables elsewhere (%s), the latter just behind the former:</p><ul>",
		o->space);
	for (size_t i = 0; i < o->pairs.size; i++) {
		fputs("<li>", out);
		put(out, o->pairs.data[i]);
	}
	fputs("</ul>\n", out);
}

/* The way of the run behind step @p s, where it is not that of the one before. */
static void put_omitted(const struct sup_result *r, const struct sup_step *s, FILE *out)
{
	if (!s->omitted.size)
		return;
	fprintf(out,
		"<details><summary>%lu of %lu instructions left out</summary><table>"
		"<tr><th>instructions<th>statement\n",
		s->n_omitted, s->n_steps);
	for (size_t i = 0; i < s->omitted.size; i++) {
		fprintf(out, "<tr><td>%lu<td>", s->omitted.data[i].n);
		put_place(r, &s->omitted.data[i].place, out);
		fputc('\n', out);
	}
	fputs("</table></details>\n", out);
}

static void put_step(const struct sup_result *r, size_t i, FILE *out)
{
	const struct sup_step *s = &r->steps.data[i];

	fprintf(out, "<h2>%zu. %s</h2>\n", i + 1, text_signal(s->signal));
	if (s->ordering && (!i || s[-1].ordering != s->ordering))
		put_ordering(&r->orderings.data[s->ordering - 1], out);
	fprintf(out, "<p>at instruction %lu: ", s->position);
	put_place(r, &s->place, out);
	fputs("</p>\n", out);
	for (size_t k = s->first; k < s->first + s->n; k++) {
		fprintf(out, "<p>suppressed, at instruction %lu: ",
			r->points.data[k].position);
		put_place(r, &r->points.data[k].place, out);
		fputs("</p>\n", out);
	}
	put_omitted(r, s, out);
}

static void put_races(const struct sup_result *r, FILE *out)
{
	for (size_t i = 0; i < r->races.size; i++) {
		const struct sup_race *race = &r->races.data[i];

		fprintf(out, "<p>race, %s, %s, by %zu other schedules</p>\n",
			sup_race_kind(&race->race),
			race->is_harmful ? "may do harm" : "not seen to do harm",
			race->schedules.size);
	}
}

static void put_printed(const struct sup_result *r, FILE *out)
{
	for (int i = 0; i < 2; i++) {
		if (!r->told.n_printed[i])
			continue;
		fprintf(out, "<h2>std%s of the last run</h2><pre>", i ? "err" : "out");
		text_put_markup(out, r->told.printed[i], r->told.n_printed[i]);
		fputs("</pre>\n", out);
	}
}

struct err *report_suppress_page(const struct sup_result *r, const char *path,
				 mode_t mode)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	struct err *err = new_file_open(&f, path, mode);

	if (err)
		return err;
	fputs(head, f.stream);
	put_found(r, f.stream);
	for (size_t i = 0; i < r->steps.size; i++)
		put_step(r, i, f.stream);
	put_races(r, f.stream);
	put_printed(r, f.stream);
	for (size_t i = 0; i < r->notes.size; i++) {
		fputs("<p>", f.stream);
		put(f.stream, r->notes.data[i]);
		fputs("</p>\n", f.stream);
	}
	fputs("</body></html>\n", f.stream);
	return new_file_commit(&f);
}
