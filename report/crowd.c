// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "report/crowd.h"

#include <stdint.h>
#include <string.h>

#include "base/text.h"

#define NAMED_MOST 1000 ///< members that are named; the others are counted

extern const char report_crowd_html[], report_crowd_html_end[];

static void put(FILE *out, const char *s)
{
	text_put_markup(out, s, strlen(s));
}

/* As a reference has it. */
static void put_path(FILE *out, const char *path)
{
	for (; *path; path++)
		if (strchr("/._-", *path) ||
		    ((*path | 32) >= 'a' && (*path | 32) <= 'z') ||
		    (*path >= '0' && *path <= '9'))
			fputc(*path, out);
		else
			fprintf(out, "%%%02x", (uint8_t)*path);
}

static void put_suites(const struct report_crowd *c, FILE *out)
{
	fputs("<table><tr><th>suite<th>captures<th>clean<th>not looked at</tr>\n", out);
	for (size_t i = 0; i < c->n_suites; i++) {
		fputs("<tr><td><code>", out);
		put(out, c->suites[i].dir);
		fprintf(out,
			"</code><td class=n>%zu<td class=n>%zu<td class=n>%zu</tr>\n",
			c->suites[i].n_captures, c->suites[i].n_clean,
			c->suites[i].n_unseen);
	}
	fputs("</table>\n", out);
}

static void put_member(const struct report_crowd *c, const struct report_member *m,
		       FILE *out)
{
	if (m->page) {
		fputs("<a href=\"", out);
		put_path(out, m->page);
		fputs("\">", out);
	}
	if (c->n_suites > 1) {
		put(out, c->suites[m->suite].dir);
		fputs(": ", out);
	}
	put(out, m->name);
	if (m->page)
		fputs("</a>", out);
}

/* How many of each suite: what comes, stays and goes. */
static void put_over_time(const struct report_crowd *c, const struct report_group *g,
			  FILE *out)
{
	if (c->n_suites < 2)
		return;
	fputs("<p>over time:", out);
	for (size_t i = 0; i < c->n_suites; i++)
		fprintf(out, "%s %zu", i ? "," : "", g->n[i]);
	fputs("</p>\n", out);
}

static void put_group(const struct report_crowd *c, const struct report_group *g,
		      FILE *out)
{
	size_t most = c->groups[0].members.size;

	fprintf(out, "<section><b>%zu<span style=\"width:%zu%%\"></span></b><div>\n<h2>",
		g->members.size, 1 + 99 * g->members.size / most);
	put(out, g->kind);
	if (*g->where) {
		fputs(" <small>at</small> <code>", out);
		put(out, g->where);
		fputs("</code>", out);
	}
	fputs("</h2>\n<p>", out);
	put(out, g->text);
	fputs("</p>\n", out);
	put_over_time(c, g, out);
	fputs("<p>for example ", out);
	put_member(c, &g->members.data[0], out);
	fputs("</p>\n", out);
	if (g->members.size > 1) {
		fputs("<details><summary>all of them</summary><p>", out);
		for (size_t i = 0; i < g->members.size && i < NAMED_MOST; i++) {
			fputs(i ? ", " : "", out);
			put_member(c, &g->members.data[i], out);
		}
		if (g->members.size > NAMED_MOST)
			fprintf(out, " and %zu more", g->members.size - NAMED_MOST);
		fputs("</p></details>\n", out);
	}
	fputs("</div></section>\n", out);
}

void report_crowd_print(const struct report_crowd *c, FILE *out)
{
	size_t n = 0, n_clean = 0;

	for (size_t i = 0; i < c->n_suites; i++) {
		n += c->suites[i].n_captures;
		n_clean += c->suites[i].n_clean;
	}
	fwrite(report_crowd_html, 1, report_crowd_html_end - report_crowd_html, out);
	fprintf(out,
		"<h1>%zu captures, %zu clean; what is wrong with the others: %zu thing%s</h1>\n",
		n, n_clean, c->n_groups, c->n_groups == 1 ? "" : "s");
	put_suites(c, out);
	for (size_t i = 0; i < c->n_groups; i++)
		put_group(c, &c->groups[i], out);
	fputs("</body>\n</html>\n", out);
}
