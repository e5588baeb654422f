// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_suite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/cap_format.h"
#include "capture/cap_walk.h"

#define SUITE_FORMAT "faultline-suite"
#define NAME_MAX_BYTES 200 ///< a file's name is 255 at most
#define N_OUTCOMES (CAP_SUITE_FAILED + 1)

static const char *const outcome_names[] = {
	[CAP_SUITE_UNKNOWN] = "unknown",
	[CAP_SUITE_PASSED] = "passed",
	[CAP_SUITE_FAILED] = "failed",
};

const char *cap_suite_outcome_name(enum cap_suite_outcome outcome)
{
	return outcome_names[outcome];
}

bool cap_suite_name_is_fine(const char *name)
{
	if (!cap_name_is_safe(name) || strlen(name) > NAME_MAX_BYTES)
		return false;
	for (const char *c = name; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return false;
	return true;
}

char *cap_suite_path(const char *dir, const char *name, const char *what)
{
	char *path;

	if (asprintf(&path, "%s%stests/%s/%s", dir ?: "", dir ? "/" : "", name, what) < 0)
		return NULL;
	return path;
}

struct cap_suite_test *cap_suite_find(const struct cap_suite *s, const char *name)
{
	for (size_t i = 0; i < s->n_tests; i++)
		if (!strcmp(s->tests[i].name, name))
			return &s->tests[i];
	return NULL;
}

/* ---- suite.json, both ways ------------------------------------------------------------------ */

/** Where the capture is follows from the name: a reader is told, and checks it. */
static void walk_capture(struct cap_walk *w, struct cap_suite_test *t)
{
	_cleanup_free_ char *path = t->name ? cap_suite_path(NULL, t->name, "capture") :
					      NULL;
	_cleanup_free_ char *said = NULL;

	w->no_memory |= t->name && !path;
	if (!w->is_parse) {
		cap_walk_text(w, "capture", t->is_recorded ? path : NULL);
		return;
	}
	said = cap_walk_text(w, "capture", NULL);
	t->is_recorded = said != NULL;
	if (said && path && strcmp(said, path))
		cap_walk_wrong(w, "capture");
}

static void walk_test(struct cap_walk *w, void *what)
{
	struct cap_suite_test *t = what;

	t->name = cap_walk_text(w, "name", t->name);
	t->args = cap_walk_texts(w, "args", t->args, &t->n_args);
	t->input = cap_walk_text(w, "stdin", t->input);
	t->expected = cap_walk_text(w, "expected", t->expected);
	t->oracle = cap_walk_text(w, "oracle", t->oracle);
	t->want_status =
		cap_walk_int(w, "expected_status", t->want_status, CAP_SUITE_ANY, 255);
	walk_capture(w, t);
	t->outcome = cap_walk_name(w, "outcome", t->outcome, outcome_names, N_OUTCOMES);
	t->status = cap_walk_int(w, "status", t->status, CAP_SUITE_ANY, 255);
	t->why = cap_walk_text(w, "why", t->why);
	if (!t->name || !cap_suite_name_is_fine(t->name))
		cap_walk_wrong(w, "name");
}

static void walk_command(struct cap_walk *w, struct cap_suite *s)
{
	s->command = cap_walk_texts(w, "command", s->command, &s->n_command);
}

/* ---- many tests: never more than one of them is in memory as JSON ------------------------------ */

static char *skip_blanks(char *p)
{
	return p + strspn(p, " \t\r\n");
}

/** @return what is behind the string that begins at @p p, or its NUL. */
static char *behind_string(char *p)
{
	for (p++; *p && *p != '"'; p++)
		p += *p == '\\' && p[1];
	return p + (*p == '"');
}

/** @return what is behind the object or array that begins at @p p; NULL: it has no end. */
static char *behind(char *p)
{
	int depth = 0;

	while (*p) {
		if (*p == '"') {
			p = behind_string(p);
			continue;
		}
		depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
		p++;
		if (!depth)
			return p;
	}
	return NULL;
}

/** @return where the array of tests begins in the suite's text; NULL: it is not found so. */
static char *find_tests(char *text)
{
	char *p = skip_blanks(text);

	for (p += *p == '{'; p && *p && *p != '}';) {
		char *key = skip_blanks(p), *value;

		if (*key != '"')
			return NULL;
		value = skip_blanks(behind_string(key));
		if (*value != ':')
			return NULL;
		value = skip_blanks(value + 1);
		if (!strncmp(key, "\"tests\"", 7))
			return *value == '[' ? value : NULL;
		p = *value == '{' || *value == '[' ? behind(value) :
		    *value == '"'		   ? behind_string(value) :
						     value + strcspn(value, ",}");
		p = p ? skip_blanks(p) : NULL;
		p += p && *p == ',';
	}
	return NULL;
}

/** The next test, which @p p is at; @p ret: behind it. */
static struct err *parse_test(char *p, struct cap_suite *s, struct cap_walk *w,
			      char **ret)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct cap_walk own = { .is_parse = true };
	char *end = *p == '{' ? behind(p) : NULL, kept;
	struct cap_suite_test *more = s->tests;
	struct err *err;

	if (!end || s->n_tests == CAP_WALK_ITEMS_MAX) {
		w->wrong = w->wrong ?: "tests";
		*ret = p + strlen(p);
		return NULL;
	}
	if (!(s->n_tests & (s->n_tests - 1))) // room is doubled
		more = reallocarray(s->tests, s->n_tests ? 2 * s->n_tests : 1,
				    sizeof(*more));
	if (!more)
		return &err_nomem;
	s->tests = more;
	kept = *end;
	*end = 0;
	err = cap_walk_parse(p, "it", &j);
	*end = kept;
	if (err)
		return err;
	own.at = j;
	more[s->n_tests] = (struct cap_suite_test){};
	walk_test(&own, &more[s->n_tests++]);
	w->wrong = w->wrong ?: own.wrong;
	w->no_memory |= own.no_memory;
	*ret = end;
	return NULL;
}

/** Take the tests out of @p text, in which the array is empty then. */
static struct err *parse_tests(char *text, struct cap_suite *s, struct cap_walk *w)
{
	char *list = find_tests(text), *p = list ? skip_blanks(list + 1) : NULL;
	struct err *err = NULL;

	if (!list) {
		w->wrong = w->wrong ?: "tests";
		return NULL;
	}
	while (!err && *p && *p != ']') {
		err = parse_test(p, s, w, &p);
		p = skip_blanks(p);
		if (*p == ',')
			p = skip_blanks(p + 1);
		else if (*p != ']')
			w->wrong = w->wrong ?: "tests", p += strlen(p);
	}
	if (err || *p != ']') {
		w->wrong = w->wrong ?: "tests";
		return err;
	}
	memmove(list + 1, p, strlen(p) + 1);
	return NULL;
}

static bool put_test(FILE *out, struct cap_suite_test *t)
{
	_cleanup_(cap_json_deletep) cJSON *j = cJSON_CreateObject();
	struct cap_walk w = { .at = j, .no_memory = !j };
	_cleanup_free_ char *text = NULL;

	walk_test(&w, t); // a walk that prints assigns what was there
	text = w.no_memory ? NULL : cJSON_PrintUnformatted(j);
	if (text)
		fputs(text, out);
	return text;
}

static bool put_suite(FILE *out, const struct cap_suite *s)
{
	_cleanup_(cap_json_deletep) cJSON *j = cJSON_CreateObject();
	struct cap_walk w = { .at = j, .no_memory = !j };
	_cleanup_free_ char *text = NULL;
	struct cap_suite same = *s;

	cap_walk_put(&w, "format", cJSON_CreateString(SUITE_FORMAT));
	cap_walk_int(&w, "version", CAP_SUITE_VERSION, 1, INT32_MAX);
	walk_command(&w, &same);
	text = w.no_memory ? NULL : cJSON_PrintUnformatted(j);
	if (!text)
		return false;
	text[strlen(text) - 1] = 0; // the object goes on
	fprintf(out, "%s,\"tests\":[", text);
	for (size_t i = 0; i < s->n_tests; i++) {
		fputs(i ? ",\n" : "\n", out);
		if (!put_test(out, &s->tests[i]))
			return false;
	}
	fputs("]}\n", out);
	return true;
}

int cap_suite_open(const char *dir, const char *name, const char *what, int flags)
{
	_cleanup_free_ char *path = cap_suite_path(NULL, name, what ?: "");
	_cleanup_close_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), at = -1;
	_cleanup_err_ struct err *err = NULL;
	int fd = -1;

	if (!path || in < 0)
		return -1;
	*strrchr(path, '/') = 0;
	at = file_open_below(in, path, O_PATH | O_DIRECTORY);
	if (at < 0 || !what)
		return take_fd(&at);
	if (flags & O_CREAT && unlinkat(at, what, 0) && errno != ENOENT)
		return -1;
	if (flags != O_RDONLY)
		return file_open_below(at, what, flags);
	err = file_open_input(at, what, what, UINT64_MAX, &fd, NULL);
	errno = err && err->saved_errno ? err->saved_errno : EINVAL;
	return fd;
}

struct err *cap_suite_write(const char *dir, const char *file, const struct cap_suite *s)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_close_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *path = NULL;
	struct err *err;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return &err_nomem;
	if (in < 0)
		return err_errno("cannot open '%s'", dir);
	err = new_file_open_in(&f, in, file, path);
	if (err)
		return err;
	return put_suite(f.stream, s) ? new_file_commit(&f) : &err_nomem;
}

static struct err *parse(char *text, const char *path, struct cap_suite *s)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct cap_walk w = { .is_parse = true };
	struct err *err = parse_tests(text, s, &w);
	const cJSON *format;
	int version;

	if (!err)
		err = cap_walk_parse(text, "it", &j);
	w.at = j;
	format = cJSON_GetObjectItemCaseSensitive(j, "format");
	if (err)
		return err_prefix(err, "cannot read '%s'", path);
	if (!cJSON_IsString(format) || strcmp(format->valuestring, SUITE_FORMAT))
		return err_new(ERR_FORMAT, "cannot read '%s': not of a faultline suite",
			       path);
	version = cap_walk_int(&w, "version", 0, 1, INT32_MAX);
	if (version > CAP_SUITE_VERSION)
		return err_new(
			ERR_VERSION,
			"cannot read '%s': it has version %d, this faultline reads "
			"up to %d",
			path, version, CAP_SUITE_VERSION);
	walk_command(&w, s);
	if (w.no_memory)
		return &err_nomem;
	if (w.wrong)
		return err_new(ERR_FORMAT, "cannot read '%s': \"%s\" is missing or wrong",
			       path, w.wrong);
	return NULL;
}

struct err *cap_suite_read(const char *dir, const char *file, struct cap_suite *ret)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_close_ int in = -1;
	struct err *err;
	uint64_t n;

	*ret = (struct cap_suite){};
	if (asprintf(&path, "%s/%s", dir, file) < 0) {
		path = NULL;
		return &err_nomem;
	}
	in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (in < 0)
		return err_errno("cannot open suite '%s'", dir);
	err = cap_read_list(in, file, &text, &n);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return err_new(ERR_NOT_FOUND,
			       "cannot open suite '%s': not a finished suite (no %s)",
			       dir, file);
	}
	if (err)
		return err_prefix(err, "cannot open suite '%s'", dir);
	if (strlen(text) != n)
		return err_new(ERR_FORMAT, "cannot read '%s': not valid JSON", path);
	return parse(text, path, ret);
}

/* ---- life --------------------------------------------------------------------------------------- */

static void texts_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

void cap_suite_deinit(struct cap_suite *s)
{
	for (size_t i = 0; i < s->n_tests; i++) {
		struct cap_suite_test *t = &s->tests[i];

		texts_free(t->args);
		free(t->name);
		free(t->input);
		free(t->expected);
		free(t->oracle);
		free(t->why);
	}
	free(s->tests);
	texts_free(s->command);
	*s = (struct cap_suite){};
}
