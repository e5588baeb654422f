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

static void json_deletep(cJSON **j)
{
	cJSON_Delete(*j);
}

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

static void walk_suite(struct cap_walk *w, struct cap_suite *s)
{
	s->command = cap_walk_texts(w, "command", s->command, &s->n_command);
	s->tests = cap_walk_array(w, "tests", s->tests, &s->n_tests, sizeof(*s->tests),
				  walk_test);
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
	_cleanup_(json_deletep) cJSON *j = cJSON_CreateObject();
	struct cap_walk w = { .at = j, .no_memory = !j };
	struct cap_suite same = *s; // a walk that prints assigns what was there
	_cleanup_close_ int in = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *path = NULL, *text = NULL;
	struct err *err;

	cap_walk_put(&w, "format", cJSON_CreateString(SUITE_FORMAT));
	cap_walk_int(&w, "version", CAP_SUITE_VERSION, 1, INT32_MAX);
	walk_suite(&w, &same);
	text = w.no_memory ? NULL : cJSON_Print(j);
	if (!text || asprintf(&path, "%s/%s", dir, file) < 0)
		return &err_nomem;
	if (in < 0)
		return err_errno("cannot open '%s'", dir);
	err = new_file_open_in(&f, in, file, path);
	if (err)
		return err;
	fprintf(f.stream, "%s\n", text);
	return new_file_commit(&f);
}

static struct err *parse(const char *text, const char *path, struct cap_suite *s)
{
	_cleanup_(json_deletep) cJSON *j = NULL;
	struct err *err = cap_walk_parse(text, "it", &j);
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(j, "format");
	struct cap_walk w = { .at = j, .is_parse = true };
	int version;

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
	walk_suite(&w, s);
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
