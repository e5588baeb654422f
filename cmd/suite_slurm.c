// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A suite's work as job arrays of Slurm, which distributes, retries and cancels it. A piece of it is
 * this very command over some of the tests; what it has done it hands over by rename, each test
 * for itself, so that a piece may die anywhere, come again, or run twice. In DIR/slurm: `pending',
 * the tests that the last array is about, one a line; `job', its number and pieces; `K.log' of each
 * piece; and a piece's own directory while it runs. Nothing is asked of clocks.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "cmd/command.h"
#include "cmd/slurm.h"
#include "cmd/suite_array.h"
#include "cmd/suite_int.h"

#define PIECE_S 60.0	 ///< of work are in a piece, more or less
#define PIECES_MOST 1000 ///< in an array, as Slurm's MaxArraySize has it by itself
#define ROUNDS 3	 ///< arrays in which nothing is done, and it is given up
#define POLL_LEAST_S 0.2
#define POLL_MOST_S 5.0

/* ---- files ----------------------------------------------------------------------------------------- */

static char *path_of(const struct suite_array *a, const char *name)
{
	char *path;

	return asprintf(&path, "%s/%s", a->dir, name) < 0 ? NULL : path;
}

/* Of @p t, what is to be done is done, whatever came of it. */
static bool is_done(const struct suite_run *r, const struct cap_suite_test *t)
{
	int fd;

	if (r->analysis)
		return cmd_suite_result(r, t, NULL) >= 0;
	fd = cap_suite_open(r->dir, t->name, NULL, O_PATH);
	closep(&fd);
	return fd >= 0;
}

/* Write @p name in DIR/slurm, by rename. */
static struct err *write_file(const struct suite_array *a, const char *name,
			      void (*print)(const struct suite_array *a, FILE *out))
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *path = path_of(a, name);
	struct err *err = path ? new_file_open(&f, path, 0600) : &err_nomem;

	if (err)
		return err;
	print(a, f.stream);
	return new_file_commit(&f);
}

static void print_pending(const struct suite_array *a, FILE *out)
{
	for (size_t i = 0; i < a->r->suite->n_tests; i++)
		if (a->is_pending[i] && cmd_suite_array_is_in_round(a, i))
			fprintf(out, "%s\n", cap_suite_at(a->r->suite, i)->name);
}

static void print_job(const struct suite_array *a, FILE *out)
{
	fprintf(out, "%lu\n", a->job);
}

static unsigned long read_job(const char *dir)
{
	_cleanup_free_ char *path = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	unsigned long job = 0;

	if (asprintf(&path, "%s/slurm/job", dir) < 0)
		return 0;
	f = fopen(path, "re");
	return f && fscanf(f, "%lu", &job) == 1 ? job : 0;
}

/* ---- an array ---------------------------------------------------------------------------------------- */

/* What a piece runs, of @p n_parts. @return for free(), or NULL. */
static char *make_script(const struct suite_array *a, size_t n_parts)
{
	char self[PATH_MAX], *text = NULL;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return NULL;
	self[n > 0 ? n : 0] = 0;
	fputs("#!/bin/sh\nexec", out);
	cmd_command_put_quoted(out, self);
	fprintf(out, " suite --part=$SLURM_ARRAY_TASK_ID/%zu", n_parts);
	for (size_t i = 1; a->argv[i]; i++)
		cmd_command_put_quoted(out, a->argv[i]);
	fputc('\n', out);
	return fclose(out) ? (free(text), NULL) : text;
}

/* In how many pieces @p n tests are done, each of which takes @p each_s. */
static size_t count_parts(size_t n, double each_s)
{
	size_t least = 2 * cmd_slurm_processors(), n_parts = ceil(n * each_s / PIECE_S);

	n_parts = n_parts > least ? n_parts : least;
	n_parts = n_parts < n ? n_parts : n;
	return n_parts < PIECES_MOST ? n_parts : PIECES_MOST;
}

/* Submit the tests of this round, each of which takes @p each_s. */
static struct err *submit(struct suite_array *a, double each_s)
{
	_cleanup_free_ char *log = path_of(a, "%a.log"), *script = NULL, *where = NULL,
			    *out = NULL;
	size_t n_parts = count_parts(cmd_suite_array_choose_round(a), each_s);
	char array[64];
	char *more[] = { array, "-o", log, NULL, NULL, NULL };
	struct err *err = write_file(a, "pending", print_pending);
	size_t n = 3;

	if (!err)
		err = cmd_suite_array_find_places(a, &where, &out);
	if (err)
		return err;
	script = make_script(a, n_parts);
	if (!log || !script)
		return &err_nomem;
	snprintf(array, sizeof(array), "--array=0-%zu", n_parts - 1);
	if (where)
		more[n++] = where;
	if (out)
		more[n++] = out;
	err = cmd_slurm_submit(script, more, a->options, &a->job);
	if (err && (out || where))
		err = cmd_suite_array_no_node(a, err);
	return err ?: write_file(a, "job", print_job);
}

static void count_pending(struct suite_array *a)
{
	a->n_pending = 0;
	for (size_t i = 0; i < a->r->suite->n_tests; i++) {
		a->is_pending[i] = a->is_pending[i] &&
				   !is_done(a->r, cap_suite_at(a->r->suite, i)) &&
				   !cmd_suite_is_needless(a->r, i);
		a->n_pending += a->is_pending[i];
	}
}

static void show(struct suite_array *a, size_t n_waiting, size_t n_running)
{
	double spent_s = clock_now_s() - a->begun_s;
	size_t done = a->n_all - a->n_pending;
	char left[64] = "";

	if (!isatty(2))
		return;
	if (done && a->n_pending)
		snprintf(left, sizeof(left), ", about %.0f s left",
			 spent_s * a->n_pending / done);
	fprintf(stderr,
		TEXT_AGAIN
		"faultline: %zu of %zu tests, job %lu: %zu pieces run, %zu wait%s ",
		done, a->n_all, a->job, n_running, n_waiting, left);
}

/* Until the array is over; interrupted, it is cancelled, and so it is when it would wait for ever. */
static struct err *await(struct suite_array *a)
{
	size_t n_waiting, n_running;

	while (!a->r->is_interrupted) {
		_cleanup_free_ char *why = NULL;
		double begun_s = clock_now_s(), pause_s;
		enum cmd_slurm_state state =
			cmd_slurm_ask(a->job, &n_waiting, &n_running, &why);
		struct timespec pause = {};
		int signo;

		count_pending(a);
		show(a, n_waiting, n_running);
		if (state == CMD_SLURM_OVER)
			return NULL;
		if (a->r->until && !a->n_pending) { // the others are not wanted
			cmd_slurm_cancel(a->job);
			return NULL;
		}
		if (why) {
			cmd_slurm_cancel(a->job);
			return err_new(
				ERR_USAGE,
				"cannot have it done by Slurm: job %lu would never run (%s)",
				a->job, why);
		}
		if (state == CMD_SLURM_SILENT && !a->is_told_silent) {
			a->is_told_silent = true;
			fprintf(stderr,
				"faultline: note: Slurm's controller does not answer; what "
				"runs goes on, and is waited for\n");
		}
		// What takes long is looked at less often, and so are many files.
		pause_s = fmin(fmax((begun_s - a->begun_s) / 50, POLL_LEAST_S),
			       POLL_MOST_S);
		pause_s = fmax(pause_s, 10 * (clock_now_s() - begun_s));
		pause.tv_sec = pause_s;
		pause.tv_nsec = (pause_s - pause.tv_sec) * 1e9;
		signo = sigtimedwait(&a->watched, NULL, &pause);
		a->r->is_interrupted = signo > 0 && signo != SIGCHLD;
		if (a->r->is_interrupted)
			cmd_slurm_cancel(a->job);
	}
	return NULL;
}

/* Whoever records more where there is no space left only makes it worse. */
static struct err *check_space(const struct suite_array *a,
			       const struct cap_suite_test *t)
{
	if (t->is_recorded || !t->why ||
	    (!strstr(t->why, strerror(ENOSPC)) && !strstr(t->why, strerror(EDQUOT))))
		return NULL;
	return err_new(ERR_OS, "cannot record into '%s': %s", a->r->dir, t->why);
}

/* One test here: how long does it take, and does it work at all? */
static struct err *try_one(struct suite_array *a, double *ret_s)
{
	_cleanup_free_ bool *one = calloc(a->r->suite->n_tests, sizeof(*one));
	struct suite_run r = *a->r;
	double begun_s = clock_now_s();
	struct err *err;
	size_t i = 0;

	if (!one)
		return &err_nomem;
	while (!a->is_pending[i])
		i++;
	one[i] = true;
	r.is_wanted = one;
	r.n_jobs = 1;
	err = cmd_suite_run(&r);
	*ret_s = clock_now_s() - begun_s;
	a->r->is_interrupted = r.is_interrupted;
	if (!err && !r.analysis && !r.is_interrupted)
		err = check_space(a, cap_suite_at(r.suite, i));
	return err;
}

/* Everything that is not done, without what an earlier run left of it. */
static struct err *find_pending(struct suite_array *a)
{
	const struct cap_suite *s = a->r->suite;
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_tests && !err; i++) {
		struct cap_suite_test *t = cap_suite_at(s, i);

		if (!a->r->analysis)
			cmd_suite_judge(a->r->dir, t);
		a->is_pending[i] = a->r->analysis ?
					   t->is_recorded && !is_done(a->r, t) &&
						   !cmd_suite_is_needless(a->r, i) :
					   !t->is_recorded;
		a->n_pending += a->is_pending[i];
		if (a->is_pending[i] && !a->r->analysis)
			err = cmd_suite_remove_test(a->r->dir, t->name);
	}
	a->n_all = a->n_pending;
	return err;
}

/* Where pieces recorded that died, and which nodes did not do, once. */
static void remove_leftovers(const struct suite_array *a)
{
	DIR *d = opendir(a->dir);
	struct dirent *entry;

	while (d && (entry = readdir(d))) {
		_cleanup_free_ char *path = path_of(a, entry->d_name);
		unsigned job, again;
		int end = 0;

		if (path && sscanf(entry->d_name, "%u.%u%n", &job, &again, &end) == 2 &&
		    !entry->d_name[end])
			cmd_suite_remove(path);
		else if (path &&
			 !strncmp(entry->d_name, SUITE_UNFIT, strlen(SUITE_UNFIT)))
			unlink(path);
	}
	if (d)
		closedir(d);
}

/* An array of an earlier command that was killed goes on: it is waited for. */
static struct err *go_on(struct suite_array *a)
{
	size_t n_waiting, n_running;
	_cleanup_free_ char *why = NULL;
	struct err *err;

	a->job = read_job(a->r->dir);
	if (!a->job ||
	    cmd_slurm_ask(a->job, &n_waiting, &n_running, &why) != CMD_SLURM_UNDER_WAY)
		return NULL;
	err = cmd_suite_array_read_pending(a->r, 0, 1, a->is_pending, &a->n_all);
	if (err)
		return err;
	fprintf(stderr, "faultline: job %lu for this suite goes on: it is waited for\n",
		a->job);
	return await(a);
}

static struct err *left_over(const struct suite_array *a)
{
	const struct cap_suite *s = a->r->suite;
	size_t i = 0;

	while (i + 1 < s->n_tests && !a->is_pending[i])
		i++;
	return err_new(
		ERR_OS,
		"cannot finish '%s': %d job arrays did nothing, and %zu tests are not done, "
		"'%s' among them; what their pieces said is in %s/*.log",
		a->r->dir, ROUNDS, a->n_pending, cap_suite_at(s, i)->name, a->dir);
}

static struct err *run_arrays(struct suite_array *a)
{
	double each_s = 0;
	struct err *err = go_on(a);

	if (err || a->r->is_interrupted)
		return err;
	remove_leftovers(a);
	memset(a->is_pending, 0, a->r->suite->n_tests);
	err = find_pending(a);
	a->r->n_found = a->r->suite->n_tests - a->n_pending;
	if (!err && a->n_pending && !a->r->is_tried)
		err = try_one(a, &each_s);
	if (err || a->r->is_interrupted)
		return err;
	count_pending(a);
	if (!err && a->n_pending)
		err = cmd_suite_array_find_needs(a);
	for (int n_idle = 0;
	     !err && n_idle < ROUNDS && a->n_pending && !a->r->is_interrupted;) {
		size_t was = a->n_pending, n_unfit = cmd_suite_array_count_unfit(a);

		err = submit(a, each_s);
		if (!err)
			err = await(a);
		n_idle += a->n_pending == was &&
			  cmd_suite_array_count_unfit(a) == n_unfit;
	}
	if (err)
		return err;
	remove_leftovers(a);
	return a->n_pending && !a->r->is_interrupted ? left_over(a) : NULL;
}

struct err *cmd_suite_slurm(struct suite_run *r, const char *options, char *const *argv)
{
	struct suite_array a = {
		.r = r,
		.options = options,
		.argv = argv,
		.is_pending = calloc(r->suite->n_tests + 1, sizeof(bool)),
		.begun_s = clock_now_s(),
	};
	sigset_t were_blocked;
	struct err *err = NULL;

	sigemptyset(&a.watched);
	sigaddset(&a.watched, SIGINT);
	sigaddset(&a.watched, SIGTERM);
	sigaddset(&a.watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &a.watched, &were_blocked);
	if (!a.is_pending || asprintf(&a.dir, "%s/slurm", r->dir) < 0)
		err = &err_nomem;
	else if (mkdir(a.dir, 0700) && errno != EEXIST)
		err = err_errno("cannot create '%s'", a.dir);
	if (!err)
		err = run_arrays(&a);
	sigprocmask(SIG_SETMASK, &were_blocked, NULL);
	if (isatty(2))
		fputs("\n", stderr);
	free(a.dir);
	free(a.is_pending);
	free(a.kind);
	return err;
}

void cmd_suite_slurm_status(const char *dir)
{
	unsigned long job = read_job(dir);
	size_t n_waiting, n_running;
	_cleanup_free_ char *why = NULL;

	if (!job)
		return;
	switch (cmd_slurm_ask(job, &n_waiting, &n_running, &why)) {
	case CMD_SLURM_OVER:
		printf("job %lu: over\n", job);
		return;
	case CMD_SLURM_SILENT:
		printf("job %lu: Slurm's controller does not answer\n", job);
		return;
	case CMD_SLURM_UNDER_WAY:
		printf("job %lu: %zu pieces run, %zu wait%s%s\n", job, n_running,
		       n_waiting, why ? " for ever: " : "", why ?: "");
	}
}
