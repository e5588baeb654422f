// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `faultline suite record': a suite's directory, made or gone on with.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/suite_int.h"

/** FILE without its suffix and directory, with .suite. */
static char *default_dir(const char *tests)
{
	_cleanup_free_ char *copy = strdup(tests);
	char *name = copy ? basename(copy) : NULL, *dot, *dir;

	if (!name)
		return NULL;
	dot = strrchr(name, '.');
	if (dot && dot != name)
		*dot = 0;
	return asprintf(&dir, "%s.suite", name) < 0 ? NULL : dir;
}

static bool are_same(char *const *a, char *const *b)
{
	while (*a && *b && !strcmp(*a, *b))
		a++, b++;
	return !*a && !*b;
}

/** Is @p test the one that was recorded? What is expected of it may be another now. */
static bool is_same_test(const struct cap_suite_test *test,
			 const struct cap_suite_test *was)
{
	return are_same(test->args, was->args) && !test->input == !was->input &&
	       (!test->input || !strcmp(test->input, was->input));
}

/** What is in @p dir already must be of the same command and tests. */
static struct err *compare_plan(const char *dir, const struct cap_suite *s)
{
	_cleanup_(cap_suite_deinit) struct cap_suite was = {};
	struct err *err = cap_suite_read(dir, CAP_SUITE_PLAN, &was);

	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	if (!are_same(s->command, was.command))
		return err_new(ERR_USAGE,
			       "cannot go on with suite '%s': it is of another command "
			       "(choose another with -o)",
			       dir);
	for (size_t i = 0; i < was.n_tests; i++) {
		const struct cap_suite_test *t = cap_suite_find(s, was.tests[i].name);

		if (!t || !is_same_test(t, &was.tests[i]))
			return err_new(
				ERR_USAGE,
				"cannot go on with suite '%s': its test '%s' is not "
				"listed, or has other arguments or stdin (choose "
				"another with -o)",
				dir, was.tests[i].name);
	}
	return NULL;
}

/** Make @p dir, or go on with it; @p lock keeps others out until it is closed. */
static struct err *enter_dir(const char *dir, const struct cap_suite *s, int *lock)
{
	_cleanup_free_ char *tests = NULL, *done = NULL;
	_cleanup_close_ int found = -1;
	bool is_new;
	struct err *err = file_make_dir(dir, lock, &is_new);

	if (err)
		return err;
	if (asprintf(&tests, "%s/tests", dir) < 0 ||
	    asprintf(&done, "%s/" CAP_SUITE_FILE, dir) < 0)
		return &err_nomem;
	if (!is_new && faccessat(*lock, CAP_SUITE_PLAN, F_OK, 0) &&
	    file_dir_is_empty(*lock) != 1)
		return err_new(ERR_USAGE,
			       "cannot record into '%s': it is there, and no suite "
			       "(choose another with -o)",
			       dir);
	if (flock(*lock, LOCK_EX | LOCK_NB))
		return err_new(ERR_USAGE,
			       "cannot record into '%s': another faultline does so", dir);
	err = compare_plan(dir, s);
	if (!err)
		err = cap_suite_write(dir, CAP_SUITE_PLAN, s);
	if (err)
		return err;
	if (mkdirat(*lock, "tests", 0700) && errno != EEXIST)
		return err_errno("cannot create '%s'", tests);
	if (unlinkat(*lock, CAP_SUITE_FILE, 0) && errno != ENOENT)
		return err_errno("cannot remove '%s'", done);
	found = file_open_below(*lock, "tests", O_PATH | O_DIRECTORY);
	return found < 0 ? err_errno("cannot open '%s'", tests) : NULL;
}

/** Why the first of those without a capture has none. */
static void tell_missing(const struct cap_suite *s, size_t n)
{
	size_t i = 0;

	while (s->tests[i].is_recorded)
		i++;
	fprintf(stderr, "faultline: note: '%s'", text_line(s->tests[i].name));
	if (n > 1)
		fprintf(stderr, " and %zu more", n - 1);
	fprintf(stderr, " could not be recorded: %s\n", text_line(s->tests[i].why ?: ""));
}

/** @return the exit status. */
static int summarize(const struct suite_run *r)
{
	size_t n[CAP_SUITE_FAILED + 1] = {}, n_missing = 0;
	const struct cap_suite *s = r->suite;

	for (size_t i = 0; i < s->n_tests; i++) {
		n[s->tests[i].outcome]++;
		n_missing += !s->tests[i].is_recorded;
	}
	printf("%zu test%s: %zu passed, %zu failed, %zu unknown; %zu could not be recorded; in %s",
	       s->n_tests, s->n_tests == 1 ? "" : "s", n[CAP_SUITE_PASSED],
	       n[CAP_SUITE_FAILED], n[CAP_SUITE_UNKNOWN], n_missing, r->dir);
	if (r->n_found)
		printf(" (%zu recorded before)", r->n_found);
	puts("");
	if (r->store)
		printf("%zu files shared with others in %s, %.1f MiB; %zu are new there\n",
		       r->shared.n_found, r->store, r->shared.bytes / 1048576.0,
		       r->shared.n_new);
	if (n_missing) {
		tell_missing(s, n_missing);
		return SUITE_COULD_NOT;
	}
	return n[CAP_SUITE_PASSED] == s->n_tests ? SUITE_PASSED : SUITE_SOME_FAILED;
}

/** The command, copied: the suite owns it. */
static struct err *take_command(struct cap_suite *s, char *const *command)
{
	size_t n = 0;

	while (command[n])
		n++;
	s->command = calloc(n + 1, sizeof(*s->command));
	for (; s->command && s->n_command < n; s->n_command++) {
		s->command[s->n_command] = strdup(command[s->n_command]);
		if (!s->command[s->n_command])
			return &err_nomem;
	}
	return s->command ? NULL : &err_nomem;
}

/** Some of the tests, for a command that waits for them. */
static struct err *record_part(struct suite_run *r, const char *part)
{
	_cleanup_free_ bool *wanted = NULL;
	struct err *err = cap_suite_read(r->dir, CAP_SUITE_PLAN, r->suite);

	if (!err)
		err = cmd_suite_part(r, part, &wanted);
	r->is_wanted = wanted;
	if (!err)
		err = cmd_suite_record_part(r);
	return err ?: r->is_interrupted ? err_new(ERR_OS, "interrupted") : NULL;
}

/** All of them, by whoever is to do it; then what became of each. */
static struct err *record_all(struct suite_run *r, const struct suite_options *o)
{
	struct err *err =
		o->place.is_slurm ? cmd_suite_slurm(r, o->place.slurm, o->again) : NULL;
	size_t n_found = r->n_found;

	r->judges_only = o->place.is_slurm;
	if (!err && !r->is_interrupted)
		err = cmd_suite_run(r);
	r->n_found = o->place.is_slurm ? n_found : r->n_found;
	if (!err && r->is_interrupted)
		return err_new(ERR_OS,
			       "cannot finish suite '%s': interrupted (the same command, "
			       "or faultline suite resume, goes on with it)",
			       r->dir);
	return err;
}

struct err *cmd_suite_record(const struct suite_options *o, int *status)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	_cleanup_free_ char *made_dir = o->dir ? NULL : default_dir(o->tests);
	_cleanup_(closep) int lock = -1;
	struct suite_run r = {
		.dir = o->dir ?: made_dir,
		.work = o->dir ?: made_dir,
		.suite = &s,
		.n_jobs = cmd_suite_jobs(o),
		.timeout_s = o->timeout_s,
		.store = o->store,
	};
	struct err *err = r.dir ? NULL : &err_nomem;

	*status = SUITE_PASSED;
	if (!err && o->part)
		return record_part(&r, o->part);
	if (!err)
		err = take_command(&s, o->command);
	if (!err)
		err = cmd_suite_tests(o->tests, &s);
	if (!err)
		err = enter_dir(r.dir, &s, &lock);
	if (!err)
		err = cmd_suite_note_command(r.dir, "suite", o->again);
	if (!err)
		err = record_all(&r, o);
	if (!err)
		err = cap_suite_write(r.dir, CAP_SUITE_FILE, &s);
	if (!err)
		*status = summarize(&r);
	return err;
}
