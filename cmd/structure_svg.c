// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An interleaving as a picture of space and time: a column for each operation, its sub-operations down
 * the page in the order in which they happen.
 */
#include <string.h>

#include "base/base.h"
#include "base/file.h"
#include "cmd/structure.h"
#include "report/bench_svg.h"

enum { ROW = 34, BOX = 26, TOP = 64, SIDE = 16, LETTER = 7, TITLE = 24 };

static const char style[] =
	"<style>text{font:12px monospace;fill:#1c2733}.t{font-weight:bold}"
	".b{fill:#e8edf2;stroke:#5b6b7b}.l{fill:#ffe3e3;stroke:#c92a2a}"
	"line{stroke:#8fa1b3}@media (prefers-color-scheme:dark){svg{background:#16202a}"
	"text{fill:#dfe7ee}.b{fill:#2b3743;stroke:#8fa1b3}.l{fill:#5c2b2b;stroke:#ff8787}}"
	"</style>\n";

/* Where each operation's column begins; @return where the last ends. */
static unsigned columns(const struct structure_picture *p, unsigned *from)
{
	unsigned at = SIDE;

	for (unsigned i = 0; i < p->n_instances; i++) {
		size_t widest = strlen(p->instances[i]);

		for (size_t k = 0; k < p->n_events; k++)
			if (p->events[k].instance == i &&
			    strlen(p->events[k].text) + 12 > widest)
				widest = strlen(p->events[k].text) + 12;
		from[i] = at;
		at += (unsigned)widest * LETTER + 2 * SIDE;
	}
	return at;
}

static void text_at(FILE *out, unsigned x, unsigned y, const char *class, const char *s)
{
	fprintf(out, "<text x=\"%u\" y=\"%u\" class=\"%s\">", x, y, class);
	report_bench_text(out, s);
	fputs("</text>\n", out);
}

static void draw_event(FILE *out, const struct structure_picture *p, size_t k,
		       const unsigned *from)
{
	const struct structure_event *e = &p->events[k];
	unsigned x = from[e->instance], y = TOP + (unsigned)k * ROW;
	char line[32];

	fprintf(out,
		"<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%d\" rx=\"3\" class=\"%c\"/>\n",
		x, y, from[e->instance + 1] - x - SIDE, BOX,
		k + 1 == p->n_events ? 'l' : 'b');
	snprintf(line, sizeof(line), "line %d", e->line);
	text_at(out, x + 6, y + 17, "n", line);
	text_at(out, x + 6 + 9 * LETTER, y + 17, "n", e->text);
}

static void draw_life(FILE *out, const struct structure_picture *p, unsigned i,
		      const unsigned *from)
{
	size_t first = p->n_events, last = 0;

	for (size_t k = 0; k < p->n_events; k++)
		if (p->events[k].instance == i) {
			first = k < first ? k : first;
			last = k;
		}
	text_at(out, from[i], TOP - 14, "t", p->instances[i]);
	if (first < last)
		fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\"/>\n",
			from[i] + 3 * LETTER, TOP + (unsigned)first * ROW + BOX,
			from[i] + 3 * LETTER, TOP + (unsigned)last * ROW);
}

struct err *cmd_structure_draw(const struct structure_picture *p, const char *path)
{
	unsigned from[STRUCTURE_PICTURE_MOST + 1] = {};
	struct new_file f = {};
	struct err *err = new_file_open(&f, path, 0666);
	unsigned width, title = (unsigned)strlen(p->title) * LETTER + 2 * SIDE;

	if (!err) {
		width = from[p->n_instances] = columns(p, from);
		fprintf(f.stream,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\">\n%s",
			width > title ? width : title,
			TOP + (unsigned)p->n_events * ROW + SIDE, style);
		text_at(f.stream, SIDE, TITLE, "t", p->title);
		for (unsigned i = 0; i < p->n_instances; i++)
			draw_life(f.stream, p, i, from);
		for (size_t k = 0; k < p->n_events; k++)
			draw_event(f.stream, p, k, from);
		fputs("</svg>\n", f.stream);
		err = new_file_commit(&f);
	}
	new_file_deinit(&f);
	return err;
}
