// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline suite report': the captures of suites, in groups of those with which the same is
 * wrong, from what `suite check' or `suite analyze' left: the same error of a rule with the same
 * callers, the same faulty statement, the same end, the same reason why a test failed.
 */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "cmd/suite_int.h"
#include "report/crowd.h"

#define RESULT_BYTES (UINT64_C(64) << 20) ///< of one capture, at most
#define CALLERS_MOST 8			  ///< are compared
#define NAMED 5				  ///< of a group, in its text

static const char *const verbs[] = { "analyze",
				     "check" }; // the former has the latter's, too

struct grouping {
	struct cap_suite *suites;
	struct report_suite *told;
	size_t n_suites;
	VEC(struct report_group) groups;
	struct map by_key; ///< hash of what is the same -> index plus 1
	size_t n_looked_at;
};

/** A test, as it is put into groups. */
struct looked {
	size_t suite;
	const char *name;
	bool is_wrong;
};

static uint64_t mix(uint64_t hash, const char *text)
{
	return hash_bytes(hash_text(hash, text), "\xff", 1);
}

static const char *text_of(const cJSON *o, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItem(o, name)) ?: "";
}

/* "file.c:12 in f", of an object with these; "" when it has none. */
static void print_place(const cJSON *o, char *buf, size_t size)
{
	const cJSON *line = cJSON_GetObjectItem(o, "line");

	*buf = 0;
	if (*text_of(o, "file") && cJSON_IsNumber(line))
		snprintf(buf, size, "%s:%d in %s", text_of(o, "file"), line->valueint,
			 text_of(o, "function"));
}

/* Put @p l into the group of @p key, which is made when there is none. Texts are copied. */
static struct err *add(struct grouping *g, struct looked *l, uint64_t key,
		       const char *kind, const char *text, const char *where)
{
	const uint64_t *at = map_get(&g->by_key, key);
	struct report_group *to;

	l->is_wrong = true;
	if (!at) {
		to = vec_push(&g->groups);
		if (!to || map_put(&g->by_key, key, g->groups.size))
			return &err_nomem;
		*to = (struct report_group){ .kind = strdup(kind),
					     .text = strdup(text),
					     .where = strdup(where),
					     .n = calloc(g->n_suites, sizeof(*to->n)) };
		if (!to->kind || !to->text || !to->where || !to->n)
			return &err_nomem;
	} else {
		to = &g->groups.data[*at - 1];
	}
	// A capture counts once.
	if (to->members.size && to->members.data[to->members.size - 1].name == l->name)
		return NULL;
	to->n[l->suite]++;
	return vec_add(&to->members,
		       ((struct report_member){ .suite = l->suite, .name = l->name }));
}

static struct err *add_finding(struct grouping *g, struct looked *l, const cJSON *f)
{
	const cJSON *calls = cJSON_GetArrayItem(cJSON_GetObjectItem(f, "callers"), 0), *c;
	uint64_t key = mix(HASH_START, text_of(f, "rule"));
	char where[1024], place[512];
	size_t n = 0;

	print_place(cJSON_GetObjectItem(f, "at"), where, sizeof(where));
	key = mix(key, where);
	cJSON_ArrayForEach(c, calls)
	{
		print_place(c, place, sizeof(place));
		if (n < CALLERS_MOST)
			key = mix(key, place);
		if (!n++) {
			size_t end = strlen(where);

			snprintf(where + end, sizeof(where) - end, ", called at %s",
				 place);
		}
	}
	return add(g, l, key, text_of(f, "rule"), text_of(f, "message"), where);
}

static struct err *add_fault(struct grouping *g, struct looked *l, const cJSON *f)
{
	char where[1024], text[1024];

	print_place(f, where, sizeof(where));
	snprintf(text, sizeof(text), "the statement that broke a data structure (%s)",
		 text_of(f, "because"));
	return add(g, l, mix(mix(1, where), text), "fault", text, where);
}

static struct err *add_violation(struct grouping *g, struct looked *l, const cJSON *v)
{
	char text[1024];

	snprintf(text, sizeof(text),
		 "constraint %s does not hold; no statement was found",
		 text_of(v, "constraint"));
	return add(g, l, mix(2, text), "violation", text, "");
}

/* How it ended, by its first frame that is no library's. */
static struct err *add_end(struct grouping *g, struct looked *l, const cJSON *end)
{
	const cJSON *frame;
	char where[1024] = "", place[512];

	cJSON_ArrayForEach(frame, cJSON_GetObjectItem(end, "frames"))
	{
		print_place(frame, place, sizeof(place));
		if (*place && !*where &&
		    !cJSON_IsTrue(cJSON_GetObjectItem(frame, "library")))
			snprintf(where, sizeof(where), "%s", place);
	}
	return add(g, l, mix(mix(3, text_of(end, "signal")), where),
		   text_of(end, "signal"), text_of(end, "message"), where);
}

static struct err *add_all(struct grouping *g, struct looked *l, const cJSON *list,
			   struct err *(*to)(struct grouping *g, struct looked *l,
					     const cJSON *one))
{
	struct err *err = NULL;
	const cJSON *one;

	cJSON_ArrayForEach(one, list) err = err ?: to(g, l, one);
	return err;
}

/* What result @p j says is wrong. */
static struct err *add_result(struct grouping *g, struct looked *l, const cJSON *j)
{
	const cJSON *faults = cJSON_GetObjectItem(j, "faults"),
		    *end = cJSON_GetObjectItem(j, "end");
	struct err *err = add_all(g, l, cJSON_GetObjectItem(j, "findings"), add_finding);

	if (!err && cJSON_GetArraySize(faults)) // the others are less likely
		return add_fault(g, l, cJSON_GetArrayItem(faults, 0));
	if (!err)
		err = add_all(g, l, cJSON_GetObjectItem(j, "violations"), add_violation);
	if (!err && !l->is_wrong && cJSON_IsObject(end) && *text_of(end, "signal"))
		err = add_end(g, l, end);
	return err;
}

/* @return the result in tests/NAME, for cJSON_Delete(); NULL: it cannot be read. */
static cJSON *read_result(const char *dir, const char *test, const char *verb)
{
	char name[NAME_MAX];
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = -1;
	struct stat st;

	snprintf(name, sizeof(name), "%s.json", verb);
	fd = cap_suite_open(dir, test, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) || (uint64_t)st.st_size > RESULT_BYTES)
		return NULL;
	text = malloc(st.st_size + 1);
	if (!text || read(fd, text, st.st_size) != st.st_size)
		return NULL;
	text[st.st_size] = 0;
	return cJSON_Parse(text);
}

/* The best analysis that there is of @p t. */
static struct err *group_test(struct grouping *g, size_t suite,
			      const struct cap_suite_test *t)
{
	struct suite_run r = { .dir = g->told[suite].dir };
	struct looked l = { .suite = suite, .name = t->name };
	_cleanup_free_ char *why = NULL;
	struct suite_analysis a = {};
	struct err *err = NULL;
	int status = -1;

	r.analysis = &a;
	for (size_t i = 0; t->is_recorded && status < 0 && i < 2; i++) {
		a.verb = verbs[i];
		status = cmd_suite_result(&r, t, &why);
	}
	g->told[suite].n_captures += t->is_recorded;
	g->n_looked_at += status >= 0;
	g->told[suite].n_unseen += t->is_recorded && status < 0;
	if (status == 0 || status == 1) {
		cJSON *j = read_result(r.dir, t->name, a.verb);

		err = j ? add_result(g, &l, j) :
			  add(g, &l, mix(4, ""), "could not", "the result cannot be read",
			      "");
		cJSON_Delete(j);
	} else if (status > 1) {
		err = add(g, &l, mix(5, why ?: ""), "could not",
			  why ?: "it was not said why", "");
	}
	if (!err && !l.is_wrong && t->outcome != CAP_SUITE_PASSED && t->why)
		err = add(g, &l, mix(6, t->why), cap_suite_outcome_name(t->outcome),
			  t->why, "");
	g->told[suite].n_clean += !l.is_wrong && status >= 0;
	return err;
}

static int by_size(const void *a, const void *b)
{
	const struct report_group *x = a, *y = b;

	if (x->members.size != y->members.size)
		return x->members.size < y->members.size ? 1 : -1;
	return strcmp(x->where, y->where) ?: strcmp(x->kind, y->kind);
}

static struct err *group_all(struct grouping *g)
{
	struct err *err = NULL;

	for (size_t i = 0; i < g->n_suites && !err; i++) {
		err = cap_suite_read(g->told[i].dir, CAP_SUITE_FILE, &g->suites[i]);
		for (size_t k = 0; !err && k < g->suites[i].n_tests; k++)
			err = group_test(g, i, &g->suites[i].tests[k]);
	}
	if (!err && !g->n_looked_at)
		return err_new(ERR_NOT_FOUND,
			       "cannot report on suite '%s': nobody has looked at its "
			       "captures (faultline suite check %s)",
			       g->told[0].dir, g->told[0].dir);
	vec_sort(&g->groups, by_size);
	return err;
}

/* ---- how it is told ------------------------------------------------------------------------------- */

static void print_text(const struct grouping *g)
{
	for (size_t i = 0; i < g->n_suites; i++)
		printf("%s: %zu captures, %zu clean, %zu not looked at\n",
		       text_line(g->told[i].dir), g->told[i].n_captures,
		       g->told[i].n_clean, g->told[i].n_unseen);
	for (size_t i = 0; i < g->groups.size; i++) {
		const struct report_group *of = &g->groups.data[i];

		printf("\n%5zu  %s%s%s\n       %s\n       e.g.", of->members.size,
		       text_line(of->kind), *of->where ? " at " : "",
		       text_line(of->where), text_line(of->text));
		for (size_t k = 0; k < of->members.size && k < NAMED; k++) {
			const struct report_member *m = &of->members.data[k];

			printf(" %s/tests/%s", text_line(g->told[m->suite].dir),
			       text_line(m->name));
		}
		puts("");
	}
}

static struct err *print_json(const struct grouping *g)
{
	cJSON *j = cJSON_CreateObject(), *suites = cJSON_AddArrayToObject(j, "suites");
	cJSON *groups = cJSON_AddArrayToObject(j, "groups");
	char *text;

	cJSON_AddNumberToObject(j, "version", 1);
	for (size_t i = 0; i < g->n_suites; i++) {
		cJSON *s = cJSON_CreateObject();

		cJSON_AddStringToObject(s, "dir", g->told[i].dir);
		cJSON_AddNumberToObject(s, "captures", (double)g->told[i].n_captures);
		cJSON_AddNumberToObject(s, "clean", (double)g->told[i].n_clean);
		cJSON_AddNumberToObject(s, "not_looked_at", (double)g->told[i].n_unseen);
		cJSON_AddItemToArray(suites, s);
	}
	for (size_t i = 0; i < g->groups.size; i++) {
		const struct report_group *of = &g->groups.data[i];
		cJSON *o = cJSON_CreateObject(), *tests;

		cJSON_AddStringToObject(o, "kind", of->kind);
		cJSON_AddStringToObject(o, "text", of->text);
		cJSON_AddStringToObject(o, "where", of->where);
		tests = cJSON_AddArrayToObject(o, "tests");
		for (size_t k = 0; k < of->members.size; k++) {
			cJSON *m = cJSON_CreateObject();

			cJSON_AddNumberToObject(m, "suite",
						(double)of->members.data[k].suite);
			cJSON_AddStringToObject(m, "name", of->members.data[k].name);
			cJSON_AddItemToArray(tests, m);
		}
		cJSON_AddItemToArray(groups, o);
	}
	text = cJSON_PrintUnformatted(j);
	cJSON_Delete(j);
	if (!text)
		return &err_nomem;
	puts(text);
	free(text);
	return NULL;
}

/* The capture that stands for group @p of, if suite @p i has it; else NULL. */
static const struct cap_suite_test *example(const struct grouping *g,
					    const struct report_group *of, size_t i)
{
	const struct report_member *m = &of->members.data[0];
	const struct cap_suite_test *t =
		m->suite == i ? cap_suite_find(&g->suites[i], m->name) : NULL;

	return t && t->is_recorded ? t : NULL;
}

/* Those of suite @p i that have a page are linked to it. */
static struct err *link_pages(struct grouping *g, const struct suite_run *r, size_t i)
{
	_cleanup_free_ char *dir = realpath(r->dir, NULL);

	for (size_t k = 0; dir && k < g->groups.size; k++) {
		const struct cap_suite_test *t = example(g, &g->groups.data[k], i);
		int status = t ? cmd_suite_result(r, t, NULL) : -1;
		char *page;

		if (status < 0 || status > 1)
			continue;
		if (asprintf(&page, "%s/tests/%s/report.html", dir, t->name) < 0)
			return &err_nomem;
		g->groups.data[k].members.data[0].page = page;
	}
	return NULL;
}

/* Have a page of one capture of each group, in its suite. */
static struct err *make_pages(struct grouping *g, const struct suite_options *o)
{
	static char *words[] = { "-o", "-" };
	struct suite_analysis a = { "report", "html", words, 2, false };
	struct err *err = NULL;

	for (size_t i = 0; i < g->n_suites && !err; i++) {
		_cleanup_free_ bool *wanted =
			calloc(g->suites[i].n_tests + 1, sizeof(*wanted));
		struct suite_run r = {
			.dir = g->told[i].dir,
			.work = g->told[i].dir,
			.suite = &g->suites[i],
			.n_jobs = cmd_suite_jobs(o),
			.analysis = &a,
			.is_wanted = wanted,
		};

		if (!wanted)
			return &err_nomem;
		for (size_t k = 0; k < g->groups.size; k++) {
			const struct cap_suite_test *t =
				example(g, &g->groups.data[k], i);

			if (t)
				wanted[t - g->suites[i].tests] = true;
		}
		err = cmd_suite_run(&r);
		if (!err && r.is_interrupted)
			err = err_new(ERR_OS, "cannot make the pages: interrupted");
		if (!err)
			err = link_pages(g, &r, i);
	}
	return err;
}

static struct err *write_page(struct grouping *g, const struct suite_options *o)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	const struct report_crowd c = { g->told, g->n_suites, g->groups.data,
					g->groups.size };
	struct err *err = new_file_check(o->output);

	if (!err)
		err = make_pages(g, o);
	if (!err)
		err = new_file_open(&f, o->output, 0666);
	if (err)
		return err;
	report_crowd_print(&c, f.stream);
	return new_file_commit(&f);
}

static void grouping_deinit(struct grouping *g)
{
	for (size_t i = 0; i < g->groups.size; i++) {
		struct report_group *of = &g->groups.data[i];

		for (size_t k = 0; k < of->members.size; k++)
			free((char *)of->members.data[k].page);
		vec_deinit(&of->members);
		free((char *)of->kind);
		free((char *)of->text);
		free((char *)of->where);
		free(of->n);
	}
	for (size_t i = 0; g->suites && i < g->n_suites; i++)
		cap_suite_deinit(&g->suites[i]);
	vec_deinit(&g->groups);
	map_deinit(&g->by_key);
	free(g->suites);
	free(g->told);
}

struct err *cmd_suite_report(const struct suite_options *o, int *status)
{
	_cleanup_(grouping_deinit) struct grouping g = {};
	struct err *err;

	g.n_suites = o->n_dirs;
	g.suites = calloc(g.n_suites, sizeof(*g.suites));
	g.told = calloc(g.n_suites, sizeof(*g.told));
	if (!g.suites || !g.told)
		return &err_nomem;
	for (size_t i = 0; i < g.n_suites; i++)
		g.told[i].dir = o->dirs[i];
	err = group_all(&g);
	if (err)
		return err;
	*status = g.groups.size ? SUITE_SOME_FAILED : SUITE_PASSED;
	if (o->output)
		return write_page(&g, o);
	if (o->as_json)
		return print_json(&g);
	print_text(&g);
	return NULL;
}
