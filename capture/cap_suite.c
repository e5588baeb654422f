// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_suite.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "capture/cap_format.h"
#include "capture/cap_suite_scan.h"
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

/* ---- reading ------------------------------------------------------------------------------------ */

static void texts_free(char **texts)
{
	for (size_t i = 0; texts && texts[i]; i++)
		free(texts[i]);
	free(texts);
}

static void test_deinit(struct cap_suite_test *t)
{
	texts_free(t->args);
	free(t->name);
	free(t->input);
	free(t->expected);
	free(t->oracle);
	free(t->why);
}

/** Take @p text for a test. @p ret: to be freed in any case. */
static struct err *parse_test(const char *text, struct cap_suite_test *ret)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct cap_walk w = { .is_parse = true };
	struct err *err = cap_walk_parse(text, "it", &j);

	*ret = (struct cap_suite_test){};
	if (err)
		return err;
	w.at = j;
	walk_test(&w, ret);
	if (w.no_memory)
		return &err_nomem;
	return w.wrong ? err_new(ERR_FORMAT, "\"%s\" is missing or wrong", w.wrong) :
			 NULL;
}

/** What is not tests. */
static struct err *parse_rest(const char *text, struct cap_suite *s)
{
	_cleanup_(cap_json_deletep) cJSON *j = NULL;
	struct err *err = cap_walk_parse(text, "it", &j);
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(j, "format");
	struct cap_walk w = { .at = j, .is_parse = true };
	int version;

	if (err)
		return err;
	if (!cJSON_IsString(format) || strcmp(format->valuestring, SUITE_FORMAT))
		return err_new(ERR_FORMAT, "not of a faultline suite");
	version = cap_walk_int(&w, "version", 0, 1, INT32_MAX);
	if (version > CAP_SUITE_VERSION)
		return err_new(ERR_VERSION,
			       "it has version %d, this faultline reads up to %d",
			       version, CAP_SUITE_VERSION);
	walk_command(&w, s);
	cap_walk_take(&w, "tests", cJSON_IsArray);
	if (w.no_memory)
		return &err_nomem;
	return w.wrong ? err_new(ERR_FORMAT, "\"%s\" is missing or wrong", w.wrong) :
			 NULL;
}

/** @p most: bytes. @p ret: to be read. */
static struct err *open_suite(const char *dir, const char *file, uint64_t most,
			      FILE **ret)
{
	_cleanup_close_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC), fd = -1;
	struct err *err;

	if (in < 0)
		return err_errno("cannot open suite '%s'", dir);
	err = file_open_input(in, file, file, most, &fd, NULL);
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return err_new(ERR_NOT_FOUND,
			       "cannot open suite '%s': not a finished suite (no %s)",
			       dir, file);
	}
	if (err)
		return err_prefix(err, "cannot open suite '%s'", dir);
	*ret = fdopen(fd, "r");
	if (!*ret)
		return &err_nomem;
	take_fd(&fd);
	return NULL;
}

static struct err *scan(FILE *f, const char *dir, const char *file,
			cap_suite_scan_fn *each, struct cap_suite *s)
{
	cap_suite_text rest = {};
	struct err *err = cap_suite_scan(f, each, s, &rest);

	if (!err)
		err = parse_rest(rest.data, s);
	vec_deinit(&rest);
	return err ? err_prefix(err, "cannot read '%s/%s'", dir, file) : NULL;
}

/* ---- all in memory ---------------------------------------------------------------------------- */

static struct err *keep_test(void *ctx, const char *text, uint64_t at)
{
	struct cap_suite *s = ctx;
	struct cap_suite_test *more = s->tests;

	(void)at;
	if (s->n_tests == CAP_WALK_ITEMS_MAX)
		return err_new(ERR_FORMAT, "it has more than %d tests",
			       CAP_WALK_ITEMS_MAX);
	if (!(s->n_tests & (s->n_tests - 1))) // room is doubled
		more = reallocarray(s->tests, s->n_tests ? 2 * s->n_tests : 1,
				    sizeof(*more));
	if (!more)
		return &err_nomem;
	s->tests = more;
	return parse_test(text, &more[s->n_tests++]);
}

struct err *cap_suite_read(const char *dir, const char *file, struct cap_suite *ret)
{
	_cleanup_(fclosep) FILE *f = NULL;
	struct err *err = open_suite(dir, file, CAP_LIST_MAX, &f);

	*ret = (struct cap_suite){};
	return err ?: scan(f, dir, file, keep_test, ret);
}

/* ---- as they are asked for ----------------------------------------------------------------------- */

#define WINDOW 256 ///< tests in memory

struct cap_suite_list {
	FILE *f;
	VEC(uint64_t) at; ///< in the file, of each WINDOWth test
	cap_suite_text text;
	size_t from, n; ///< what window has
	struct cap_suite_test window[WINDOW];
};

static struct err *note_test(void *ctx, const char *text, uint64_t at)
{
	struct cap_suite *s = ctx;
	struct cap_suite_test t;
	struct err *err = parse_test(text, &t);

	test_deinit(&t);
	if (!err && s->n_tests++ % WINDOW == 0)
		err = vec_add(&s->list->at, at);
	return err;
}

static void clear(struct cap_suite_list *l)
{
	while (l->n)
		test_deinit(&l->window[--l->n]);
}

static void load(const struct cap_suite *s, size_t from)
{
	struct cap_suite_list *l = s->list;
	struct err *err = NULL;

	clear(l);
	l->from = from;
	if (fseeko(l->f, l->at.data[from / WINDOW], SEEK_SET))
		return;
	while (!err && l->n < WINDOW && from + l->n < s->n_tests) {
		err = cap_suite_scan_test(l->f, &l->text);
		if (!err)
			err = parse_test(l->text.data, &l->window[l->n++]);
	}
	err_destroy(err);
}

struct err *cap_suite_list(const char *dir, const char *file, struct cap_suite *ret)
{
	struct cap_suite_list *l = calloc(1, sizeof(*l));
	struct err *err;

	*ret = (struct cap_suite){ .list = l };
	if (!l)
		return &err_nomem;
	err = open_suite(dir, file, UINT64_MAX, &l->f);
	return err ?: scan(l->f, dir, file, note_test, ret);
}

struct cap_suite_test *cap_suite_at(const struct cap_suite *s, size_t i)
{
	static struct cap_suite_test lost; // nothing of it is found

	assert(i < s->n_tests);
	if (s->tests)
		return &s->tests[i];
	if (i < s->list->from || i >= s->list->from + s->list->n)
		load(s, i - i % WINDOW);
	lost = (struct cap_suite_test){ .name = "" };
	return i < s->list->from + s->list->n ? &s->list->window[i - s->list->from] :
						&lost;
}

/* ---- life --------------------------------------------------------------------------------------- */

static void list_destroy(struct cap_suite_list *l)
{
	if (!l)
		return;
	clear(l);
	vec_deinit(&l->at);
	vec_deinit(&l->text);
	fclosep(&l->f);
	free(l);
}

void cap_suite_deinit(struct cap_suite *s)
{
	for (size_t i = 0; s->tests && i < s->n_tests; i++)
		test_deinit(&s->tests[i]);
	free(s->tests);
	list_destroy(s->list);
	texts_free(s->command);
	*s = (struct cap_suite){};
}
