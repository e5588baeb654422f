// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The list of tests: one JSON object a line. A member that is not known is a mistake, as what
 * it asks for would not be done.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/vec.h"
#include "cmd/suite_int.h"

struct reader {
	const char *file;
	char *dir; ///< of the file, absolute: where its paths begin
	unsigned line;
	VEC(struct cap_suite_test) tests;
};

/** @p what of the line that is being read. */
#define WRONG(r, fmt, ...)                                                      \
	err_new(ERR_FORMAT, "cannot read tests '%s': line %u: " fmt, (r)->file, \
		(r)->line, ##__VA_ARGS__)

static void json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

static struct err *take_name(struct reader *r, const cJSON *m, struct cap_suite_test *t)
{
	if (!cJSON_IsString(m) || !cap_suite_name_is_fine(m->valuestring))
		return WRONG(r, "\"name\" must be text that can name a file");
	for (size_t i = 0; i + 1 < r->tests.size; i++)
		if (!strcmp(r->tests.data[i].name, m->valuestring))
			return WRONG(r, "a second test '%s'", m->valuestring);
	t->name = strdup(m->valuestring);
	return t->name ? NULL : &err_nomem;
}

static struct err *take_args(struct reader *r, const cJSON *m, struct cap_suite_test *t)
{
	const cJSON *item;
	char **args;

	if (!cJSON_IsArray(m))
		return WRONG(r, "\"args\" must be an array of texts");
	args = realloc(t->args, (cJSON_GetArraySize(m) + 1) * sizeof(*args));
	if (!args)
		return &err_nomem;
	t->args = args;
	args[0] = NULL;
	cJSON_ArrayForEach(item, m)
	{
		if (!cJSON_IsString(item))
			return WRONG(r, "\"args\" must be an array of texts");
		args[t->n_args] = strdup(item->valuestring);
		if (!args[t->n_args])
			return &err_nomem;
		args[++t->n_args] = NULL;
	}
	return NULL;
}

/** The path of a file that can be read, or (@p mode X_OK) executed. */
static struct err *take_path(struct reader *r, const cJSON *m, int mode, char **slot)
{
	struct stat st;

	if (!cJSON_IsString(m) || !m->valuestring[0])
		return WRONG(r, "\"%s\" must be a path", m->string);
	if (m->valuestring[0] == '/')
		*slot = strdup(m->valuestring);
	else if (asprintf(slot, "%s/%s", r->dir, m->valuestring) < 0)
		*slot = NULL;
	if (!*slot)
		return &err_nomem;
	if (!stat(*slot, &st) && S_ISDIR(st.st_mode))
		errno = EISDIR;
	else if (!access(*slot, mode))
		return NULL;
	return WRONG(r, "cannot %s %s '%s': %s", mode == X_OK ? "execute" : "read",
		     m->string, *slot, strerror(errno));
}

static struct err *take_status(struct reader *r, const cJSON *m, struct cap_suite_test *t)
{
	if (!cJSON_IsNumber(m) || m->valuedouble != m->valueint || m->valueint < 0 ||
	    m->valueint > 255)
		return WRONG(r, "\"status\" must be a number from 0 to 255");
	t->want_status = m->valueint;
	return NULL;
}

static struct err *take_member(struct reader *r, const cJSON *m, struct cap_suite_test *t)
{
	if (!strcmp(m->string, "name") && !t->name)
		return take_name(r, m, t);
	if (!strcmp(m->string, "args") && !t->n_args)
		return take_args(r, m, t);
	if (!strcmp(m->string, "stdin") && !t->input)
		return take_path(r, m, R_OK, &t->input);
	if (!strcmp(m->string, "expected") && !t->expected)
		return take_path(r, m, R_OK, &t->expected);
	if (!strcmp(m->string, "oracle") && !t->oracle)
		return take_path(r, m, X_OK, &t->oracle);
	if (!strcmp(m->string, "status"))
		return take_status(r, m, t);
	return WRONG(r,
		     "\"%s\" is unknown, or there twice (known: name, args, stdin, "
		     "expected, oracle, status)",
		     m->string);
}

static struct err *read_line(struct reader *r, const char *text)
{
	_cleanup_(json_deletep) cJSON *j = cJSON_ParseWithOpts(text, NULL, true);
	struct cap_suite_test *t;
	struct err *err = NULL;
	const cJSON *m;

	if (!cJSON_IsObject(j))
		return WRONG(r, "not a JSON object");
	t = vec_push(&r->tests);
	if (!t)
		return &err_nomem;
	t->want_status = t->status = CAP_SUITE_ANY;
	t->args = calloc(1, sizeof(*t->args));
	if (!t->args)
		return &err_nomem;
	for (m = j->child; m && !err; m = m->next)
		err = take_member(r, m, t);
	if (!err && !t->name)
		return WRONG(r, "\"name\" is missing");
	if (!err && t->expected && t->oracle)
		return WRONG(r, "\"expected\" or \"oracle\", not both");
	return err;
}

static struct err *read_lines(struct reader *r, FILE *f)
{
	_cleanup_free_ char *text = NULL;
	struct err *err = NULL;
	size_t capacity = 0;
	ssize_t n;

	while (!err && (n = getline(&text, &capacity, f)) >= 0) {
		r->line++;
		if (strlen(text) != (size_t)n)
			return WRONG(r, "not a JSON object");
		if (text[strspn(text, " \t\r\n")])
			err = read_line(r, text);
	}
	if (!err && ferror(f))
		return err_errno("cannot read tests '%s'", r->file);
	if (!err && !r->tests.size)
		return err_new(ERR_FORMAT, "cannot read tests '%s': there is none in it",
			       r->file);
	return err;
}

struct err *cmd_suite_tests(const char *file, struct cap_suite *s)
{
	struct reader r = { .file = file };
	_cleanup_(fclosep) FILE *f = fopen(file, "re");
	_cleanup_free_ char *real = f ? realpath(file, NULL) : NULL;
	struct err *err;

	if (!real)
		return err_errno("cannot read tests '%s'", file);
	r.dir = dirname(real);
	err = read_lines(&r, f);
	s->tests = r.tests.data;
	s->n_tests = r.tests.size;
	return err;
}
