// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "cmd/work.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file.h"
#include "base/text.h"
#include "cmd/slurm.h"
#include "cmd/suite_int.h"

#define PARTS_MOST 256

static struct suite_analysis own = { .verb = "run", .result = "out", .is_own = true };

struct err *cmd_work_init(struct work *w, const struct work_place *place, const char *dir,
			  ...)
{
	va_list ap;

	*w = (struct work){ .place = *place, .lock = -1 };
	va_start(ap, dir);
	if (vasprintf(&w->dir, dir, ap) < 0)
		w->dir = NULL;
	va_end(ap);
	w->list.command = calloc(3, sizeof(*w->list.command));
	return w->dir && w->list.command ? NULL : &err_nomem;
}

struct err *cmd_work_add(struct work *w, const char *name, const char *const *words)
{
	size_t n = w->list.n_tests;
	struct cap_suite_test *t = w->list.tests;

	// Room is doubled.
	if (!(n & (n - 1)))
		t = reallocarray(w->list.tests, n ? 2 * n : 1, sizeof(*t));
	if (!t)
		return &err_nomem;
	w->list.tests = t;
	t = &t[w->list.n_tests++];
	*t = (struct cap_suite_test){ .name = strdup(name),
				      .want_status = CAP_SUITE_ANY,
				      .is_recorded = true,
				      .outcome = CAP_SUITE_UNKNOWN,
				      .status = CAP_SUITE_ANY };
	while (words[t->n_args])
		t->n_args++;
	t->args = calloc(t->n_args + 1, sizeof(*t->args));
	for (size_t i = 0; t->args && i < t->n_args; i++) {
		t->args[i] = strdup(words[i]);
		if (!t->args[i])
			return &err_nomem;
	}
	return t->args && t->name ? NULL : &err_nomem;
}

static bool are_same(char *const *a, char *const *b)
{
	while (*a && *b && !strcmp(*a, *b))
		a++, b++;
	return !*a && !*b;
}

/* What is there must be the same list; is anything? */
static struct err *compare(const struct work *w, bool *is_there)
{
	_cleanup_(cap_suite_deinit) struct cap_suite was = {};
	struct err *err = cap_suite_read(w->dir, CAP_SUITE_PLAN, &was);
	bool is_same;

	*is_there = !err;
	if (err && err->code == ERR_NOT_FOUND) {
		err_destroy(err);
		return NULL;
	}
	if (err)
		return err;
	is_same = was.n_tests == w->list.n_tests;
	for (size_t i = 0; is_same && i < was.n_tests; i++)
		is_same = !strcmp(was.tests[i].name, w->list.tests[i].name) &&
			  are_same(was.tests[i].args, w->list.tests[i].args);
	return is_same ? NULL :
			 err_new(ERR_USAGE,
				 "cannot go on with '%s': it is of another command "
				 "(remove it)",
				 w->dir);
}

/* Make the directory, or go on with it. */
static struct err *enter(struct work *w)
{
	bool is_new, is_there;
	struct err *err = file_make_dir(w->dir, &w->lock, &is_new);

	if (err)
		return err;
	if (flock(w->lock, LOCK_EX | LOCK_NB))
		return err_new(ERR_USAGE, "another faultline works in '%s'", w->dir);
	err = compare(w, &is_there);
	if (!err && !is_new && !is_there && file_dir_is_empty(w->lock) != 1)
		err = err_new(ERR_USAGE, "cannot work in '%s': it holds something else",
			      w->dir);
	if (!err && !is_there)
		err = cap_suite_write(w->dir, CAP_SUITE_PLAN, &w->list);
	if (!err && mkdirat(w->lock, "tests", 0700) && errno != EEXIST)
		err = err_errno("cannot create '%s/tests'", w->dir);
	return err;
}

unsigned cmd_work_parts(const struct work *w)
{
	_cleanup_(cap_suite_deinit) struct cap_suite was = {};
	_cleanup_err_ struct err *err = cap_suite_read(w->dir, CAP_SUITE_PLAN, &was);
	size_t n = err ? 2 * cmd_slurm_processors() : was.n_tests;

	return n < 2 ? 2 : n > PARTS_MOST ? PARTS_MOST : n;
}

static struct suite_run run_of(const struct work *w)
{
	return (struct suite_run){ .dir = w->dir,
				   .work = w->dir,
				   .suite = (struct cap_suite *)&w->list,
				   .n_jobs = w->place.n_jobs,
				   .analysis = &own,
				   .until = w->until,
				   .needs = w->needs };
}

/* A piece reads them as the list's command: "until" or "", and the needs in hex. */
static struct err *note_terms(struct work *w)
{
	char needs[24];

	snprintf(needs, sizeof(needs), "%lx", w->needs);
	w->list.n_command = 2;
	w->list.command[0] = strdup(w->until ?: "");
	w->list.command[1] = strdup(needs);
	return w->list.command[0] && w->list.command[1] ? NULL : &err_nomem;
}

static void read_terms(const struct cap_suite *s, struct suite_run *r)
{
	if (s->n_command == 2) {
		r->until = *s->command[0] ? s->command[0] : NULL;
		r->needs = strtoul(s->command[1], NULL, 16);
	}
}

struct err *cmd_work_run(struct work *w, const char *verb, char *const *argv)
{
	_cleanup_free_ char *dir = NULL;
	struct suite_run r = run_of(w);
	struct err *err;

	if (!r.n_jobs)
		r.n_jobs = sysconf(_SC_NPROCESSORS_ONLN);
	err = note_terms(w);
	if (!err)
		err = enter(w);
	if (!err && verb)
		err = cmd_suite_note_command(w->dir, verb, argv);
	dir = err ? NULL : realpath(w->dir, NULL);
	if (!err && !dir)
		err = err_errno("cannot find '%s'", w->dir);
	r.is_tried = w->is_tried;
	if (!err && w->place.is_slurm)
		err = cmd_suite_slurm(&r, w->place.slurm,
				      (char *const[]){ "", "run", dir, NULL });
	else if (!err)
		err = cmd_suite_run(&r);
	if (!err && r.is_interrupted)
		err = err_new(
			ERR_INTERRUPTED,
			"interrupted (the same command, or faultline suite resume %s, "
			"goes on with it)",
			w->dir);
	return err;
}

int cmd_work_status(const struct work *w, size_t i, char **why)
{
	struct suite_run r = run_of(w);

	return cmd_suite_result(&r, &w->list.tests[i], why);
}

char *cmd_work_path(const struct work *w, size_t i, const char *what)
{
	char name[64];

	snprintf(name, sizeof(name), "%s.%s", own.verb, what);
	return cap_suite_path(w->dir, w->list.tests[i].name,
			      !strcmp(what, "out") || !strcmp(what, "log") ? name : what);
}

struct err *cmd_work_failed(const struct work *w, size_t i)
{
	_cleanup_free_ char *why = NULL, *log = cmd_work_path(w, i, "log");
	int status = cmd_work_status(w, i, &why);

	return err_new(ERR_OS, "'%s' of the work in '%s' ended with %d: %s",
		       w->list.tests[i].name, w->dir, status,
		       why	   ?:
			       log ?:
				     "");
}

void cmd_work_remove(struct work *w)
{
	cmd_suite_remove(w->dir);
}

void cmd_work_deinit(struct work *w)
{
	closep(&w->lock);
	cap_suite_deinit(&w->list);
	free(w->dir);
}

/* A piece: some of the commands. */
struct err *cmd_suite_work(const struct suite_options *o)
{
	_cleanup_(cap_suite_deinit) struct cap_suite s = {};
	_cleanup_free_ bool *wanted = NULL;
	struct suite_run r = { .dir = o->dir,
			       .work = o->dir,
			       .suite = &s,
			       .n_jobs = cmd_suite_jobs(o),
			       .analysis = &own };
	struct err *err = cmd_suite_check_owner(o->dir, CAP_SUITE_PLAN);

	if (!err)
		err = cap_suite_read(o->dir, CAP_SUITE_PLAN, &s);
	if (err)
		return err;
	read_terms(&s, &r);
	err = cmd_suite_part(&r, o->part, &wanted);
	r.is_wanted = wanted;
	return err ?: cmd_suite_record_part(&r);
}
