// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline suite check' and `analyze': what an analysis of each capture of a suite came to. In tests/NAME: VERB.json, what the command
 * printed; VERB.log, what it said; and VERB.status, which comes last, by rename: its exit status,
 * and in a second line why it could not do it.
 */
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/suite_int.h"

#define WHY_BYTES 4096

static void name_status(const struct suite_run *r, char name[NAME_MAX])
{
	snprintf(name, NAME_MAX, "%s.status", r->analysis->verb);
}

int cmd_suite_result(const struct suite_run *r, const struct cap_suite_test *t,
		     char **why)
{
	char name[NAME_MAX], text[WHY_BYTES], *end;
	_cleanup_close_ int fd = -1;
	ssize_t n;
	long status;

	name_status(r, name);
	if (why)
		*why = NULL;
	fd = cap_suite_open(r->dir, t->name, name, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return -1;
	text[n] = 0;
	status = strtol(text, &end, 10);
	if (end == text || *end != '\n' || status < 0 || status > 255)
		return -1;
	end[1 + strcspn(end + 1, "\n")] = 0;
	if (why && end[1])
		*why = strdup(end + 1);
	return status;
}

struct err *cmd_suite_keep_result(const struct suite_run *r,
				  const struct cap_suite_test *t, int status,
				  const char *why)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_close_ int in = cap_suite_open(r->work, t->name, NULL, O_PATH);
	char name[NAME_MAX];
	struct err *err;

	name_status(r, name);
	if (in < 0)
		return err_errno("cannot write '%s' of test '%s'", name, t->name);
	err = new_file_open_in(&f, in, name, name);
	if (err)
		return err;
	fprintf(f.stream, "%d\n%s\n", status, why);
	return new_file_commit(&f);
}

/* ---- the command ------------------------------------------------------------------------------- */

/* Results of other options are none of these. @p plan: what they are made with, as it is noted. */
static struct err *forget_others(const struct suite_run *r, const char *plan)
{
	_cleanup_free_ char *path = NULL, *was = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	_cleanup_(new_file_deinit) struct new_file to = {};
	char name[NAME_MAX];
	size_t capacity = 0;
	struct err *err;

	if (asprintf(&path, "%s/%s.plan", r->dir, r->analysis->verb) < 0)
		return &err_nomem;
	f = fopen(path, "re");
	if (f && getline(&was, &capacity, f) >= 0) {
		was[strcspn(was, "\n")] = 0;
		if (!strcmp(was, plan))
			return NULL;
	}
	name_status(r, name);
	for (size_t i = 0; i < r->suite->n_tests; i++) {
		const char *test = cap_suite_at(r->suite, i)->name;
		_cleanup_close_ int in = cap_suite_open(r->dir, test, NULL, O_PATH);

		if (in >= 0 && unlinkat(in, name, 0) && errno != ENOENT)
			return err_errno("cannot remove '%s' of test '%s'", name, test);
	}
	err = new_file_open(&to, path, 0600);
	if (err)
		return err;
	fprintf(to.stream, "%s\n", plan);
	return new_file_commit(&to);
}

/* @return the analysis' options in one line, for free(); NULL: no memory. */
static char *options_line(const struct suite_analysis *a)
{
	cJSON *list = cJSON_CreateStringArray((const char *const *)a->options,
					      (int)a->n_options);
	char *line = list ? cJSON_PrintUnformatted(list) : NULL;

	cJSON_Delete(list);
	return line;
}

/* @return the exit status. */
static int summarize(const struct suite_run *r)
{
	size_t n_clean = 0, n_errors = 0, n_not = 0, n_missing = 0;
	bool is_suppress = !strcmp(r->analysis->verb, "suppress");

	for (size_t i = 0; i < r->suite->n_tests; i++) {
		const struct cap_suite_test *t = cap_suite_at(r->suite, i);
		_cleanup_free_ char *why = NULL;
		int status = t->is_recorded ? cmd_suite_result(r, t, &why) : -1;

		n_clean += status == 0;
		n_errors += status == 1;
		n_not += status > 1;
		n_missing += status < 0;
		if (status > 1)
			fprintf(stderr, "faultline: note: %s of '%s' ended with %d%s%s\n",
				r->analysis->verb, t->name, status, why ? ": " : "",
				text_line(why ?: ""));
	}
	printf("%zu capture%s: %zu %s, %zu %s, %zu could not be looked at",
	       r->suite->n_tests - n_missing,
	       r->suite->n_tests - n_missing == 1 ? "" : "s", n_clean,
	       is_suppress ? "did not crash" : "clean", n_errors,
	       is_suppress ? "crashed" : "with errors", n_not);
	if (n_missing)
		printf("; %zu test%s not recorded", n_missing,
		       n_missing == 1 ? " is" : "s are");
	if (r->n_found)
		printf(" (%zu looked at before)", r->n_found);
	puts("");
	return n_not || n_missing ? SUITE_COULD_NOT :
	       n_errors		  ? SUITE_SOME_FAILED :
				    SUITE_PASSED;
}

static struct err *analyze_all(struct suite_run *r, const struct suite_options *o)
{
	_cleanup_free_ char *plan = options_line(r->analysis);
	struct err *err = plan ? forget_others(r, plan) : &err_nomem;

	if (!err)
		err = cmd_suite_note_command(r->dir, "suite", o->again);
	if (!err)
		err = o->place.is_slurm ? cmd_suite_slurm(r, o->place.slurm, o->again) :
					  cmd_suite_run(r);
	if (!err && r->is_interrupted)
		return err_new(
			ERR_OS,
			"cannot finish with suite '%s': interrupted (the same command, "
			"or faultline suite resume, goes on with it)",
			r->dir);
	return err;
}

struct err *cmd_suite_analyze(const struct suite_options *o, int *status)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	_cleanup_close_ int lock = open(o->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ bool *wanted = NULL;
	struct suite_analysis a = { .verb = o->verb,
				    .result = "json",
				    .options = o->command };
	struct suite_run r = {
		.dir = o->dir,
		.work = o->dir,
		.suite = &s,
		.n_jobs = cmd_suite_jobs(o),
		.timeout_s = o->timeout_s,
		.analysis = &a,
	};
	struct err *err = cap_suite_list(o->dir, CAP_SUITE_FILE, &s);

	while (o->command && o->command[a.n_options])
		a.n_options++;
	*status = SUITE_PASSED;
	if (err)
		return err;
	if (o->part) {
		err = cmd_suite_part(&r, o->part, &wanted);
		r.is_wanted = wanted;
		return err ?: cmd_suite_run(&r);
	}
	if (flock(lock, LOCK_EX | LOCK_NB))
		return err_new(ERR_USAGE,
			       "cannot work on suite '%s': another faultline does so",
			       o->dir);
	err = analyze_all(&r, o);
	if (!err)
		*status = summarize(&r);
	return err;
}

/* ---- status, resume ---------------------------------------------------------------------------- */

struct err *cmd_suite_note_command(const char *dir, const char *verb, char *const *argv)
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *path = NULL, *cwd = getcwd(NULL, 0), *text = NULL;
	cJSON *j = cJSON_CreateObject(), *words = cJSON_AddArrayToObject(j, "argv");
	struct err *err = NULL;

	cJSON_AddItemToArray(words, cJSON_CreateString(verb));
	for (size_t i = 1; words && argv[i]; i++)
		cJSON_AddItemToArray(words, cJSON_CreateString(argv[i]));
	if (cwd && cJSON_AddStringToObject(j, "cwd", cwd))
		text = cJSON_PrintUnformatted(j);
	cJSON_Delete(j);
	if (!text || asprintf(&path, "%s/command.json", dir) < 0)
		return &err_nomem;
	err = new_file_open(&f, path, 0600);
	if (err)
		return err;
	fprintf(f.stream, "%s\n", text);
	return new_file_commit(&f);
}

struct err *cmd_suite_check_owner(const char *dir, const char *file)
{
	_cleanup_free_ char *path = NULL;
	struct stat st;

	if (asprintf(&path, "%s/%s", dir, file) < 0)
		return &err_nomem;
	if (lstat(path, &st))
		return err_errno("cannot go on with '%s': cannot read '%s'", dir, path);
	if (st.st_uid != geteuid() || st.st_mode & 022 || !S_ISREG(st.st_mode))
		return err_new(
			ERR_PERMISSION,
			"cannot go on with '%s': others may have written '%s', which "
			"says what to run",
			dir, path);
	return NULL;
}

struct err *cmd_suite_resume(const struct suite_options *o)
{
	_cleanup_free_ char *path = NULL, *text = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	const cJSON *argv, *cwd;
	size_t capacity = 0, n = 0;
	char **words;
	cJSON *j;
	struct err *err = cmd_suite_check_owner(o->dir, "command.json");

	if (err)
		return err;
	if (asprintf(&path, "%s/command.json", o->dir) < 0)
		return &err_nomem;
	f = fopen(path, "re");
	if (!f || getline(&text, &capacity, f) < 0)
		return err_errno("cannot resume suite '%s': cannot read '%s'", o->dir,
				 path);
	j = cJSON_Parse(text); // ours until the end
	argv = cJSON_GetObjectItem(j, "argv");
	cwd = cJSON_GetObjectItem(j, "cwd");
	words = calloc(cJSON_GetArraySize(argv) + 2, sizeof(*words));
	if (!words || !cJSON_IsString(cwd) || cJSON_GetArraySize(argv) < 2)
		return err_new(ERR_FORMAT, "cannot resume suite '%s': '%s' is damaged",
			       o->dir, path);
	words[n++] = "faultline";
	for (int i = 0; i < cJSON_GetArraySize(argv); i++)
		words[n++] = cJSON_GetStringValue(cJSON_GetArrayItem(argv, i)) ?: "";
	if (chdir(cwd->valuestring))
		return err_errno("cannot resume suite '%s': cannot enter '%s'", o->dir,
				 cwd->valuestring);
	fflush(NULL);
	execv("/proc/self/exe", words);
	return err_errno("cannot execute faultline");
}

struct err *cmd_suite_status(const struct suite_options *o, int *status)
{
	static const char *const verbs[] = { "check", "analyze", "suppress", "run" };
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	struct suite_run r = { .dir = o->dir, .work = o->dir, .suite = &s };
	struct err *err = cap_suite_list(o->dir, CAP_SUITE_PLAN, &s);
	size_t n_recorded = 0;
	bool is_work;

	if (err)
		return err;
	// No test is, in a suite's plan.
	is_work = s.n_tests && cap_suite_at(&s, 0)->is_recorded;
	for (size_t i = 0; i < s.n_tests; i++) {
		struct cap_suite_test *t = cap_suite_at(&s, i);

		if (!is_work)
			cmd_suite_judge(o->dir, t);
		n_recorded += t->is_recorded;
	}
	if (!is_work)
		printf("record: %zu of %zu\n", n_recorded, s.n_tests);
	*status = n_recorded < s.n_tests ? SUITE_SOME_FAILED : SUITE_PASSED;
	for (size_t k = 0; k < sizeof(verbs) / sizeof(*verbs); k++) {
		struct suite_analysis a = { .verb = verbs[k] };
		size_t n = 0;

		r.analysis = &a;
		for (size_t i = 0; i < s.n_tests; i++)
			n += cmd_suite_result(&r, cap_suite_at(&s, i), NULL) >= 0;
		if (n)
			printf("%s: %zu of %zu\n", verbs[k], n, n_recorded);
		if (is_work && !strcmp(a.verb, "run") && n < n_recorded)
			*status = SUITE_SOME_FAILED;
	}
	cmd_suite_slurm_status(o->dir);
	return NULL;
}
