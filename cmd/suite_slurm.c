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
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/text.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "cmd/command.h"
#include "cmd/suite_int.h"

#define PIECE_S 60.0	 ///< of work are in a piece, more or less
#define PIECES_MOST 1000 ///< in an array, as Slurm's MaxArraySize has it by itself
#define ROUNDS 3	 ///< an array for what is left, so often
#define SAID_BYTES 4096
#define PIECES_BYTES (256 << 10) ///< of a line each
#define POLL_LEAST_S 0.2
#define POLL_MOST_S 5.0

extern char **environ;

struct array {
	struct suite_run *r;
	const char *options;
	char *const *argv;
	char *const *envp;
	char *dir;	  ///< DIR/slurm
	bool *is_pending; ///< of each test
	size_t n_pending, n_all;
	unsigned long job;
	double begun_s;
	bool is_told_silent;
	sigset_t watched;
};

/* ---- Slurm's commands --------------------------------------------------------------------------- */

/* Run @p argv with @p input on its stdin. @p said: what it printed, both streams, and is cut to @p most
 * bytes. @return its exit status; -1: there is no such command. */
static int run_command(char *const *argv, int input, char *said, size_t most)
{
	char rest[SAID_BYTES];
	posix_spawn_file_actions_t actions;
	_cleanup_close_ int out = -1;
	size_t n = 0;
	ssize_t got;
	int pipes[2], status;
	pid_t pid;

	*said = 0;
	if (pipe2(pipes, O_CLOEXEC))
		return -1;
	out = pipes[0];
	posix_spawn_file_actions_init(&actions);
	if (input >= 0)
		posix_spawn_file_actions_adddup2(&actions, input, 0);
	else
		posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], 2);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	if (errno)
		return -1;
	while ((got = n < most - 1 ? read(out, said + n, most - 1 - n) :
				     read(out, rest, sizeof(rest))) > 0 ||
	       (got < 0 && errno == EINTR))
		n += n < most - 1 && got > 0 ? got : 0;
	said[n] = 0;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

static struct err *said_by(const char *what, const char *command, int status,
			   const char *said)
{
	if (status < 0)
		return err_new(ERR_NOT_FOUND,
			       "cannot %s: there is no %s here (Debian: slurm-client); "
			       "without --slurm the suite runs on this machine",
			       what, command);
	return err_new(ERR_OS, "cannot %s: %s says: %.*s", what, command,
		       (int)strcspn(said, "\n"), said);
}

size_t cmd_suite_slurm_processors(void)
{
	char *const argv[] = { "sinfo", "-h", "-o", "%C", NULL };
	unsigned long n = 0, one;
	char said[SAID_BYTES];

	if (run_command(argv, -1, said, sizeof(said)))
		return 1;
	for (const char *line = said; *line; line += strcspn(line, "\n")) {
		line += strspn(line, "\n");
		if (sscanf(line, "%*u/%*u/%*u/%lu", &one) == 1)
			n += one;
	}
	return n ? n : 1;
}

enum state { OVER, UNDER_WAY, SILENT };

/* How the reason begins for which a piece waits that will wait for ever: squeue(1), job reason codes, and
 * texts in their place. */
static const char *const hopeless[] = { "AccountNotAllowed",  "BadConstraints",
					"InvalidAccount",     "InvalidQOS",
					"Job's account",      "Job's QOS",
					"PartitionConfig",    "PartitionNodeLimit",
					"PartitionTimeLimit", "QOSNotAllowed" };

static bool is_hopeless(const char *reason)
{
	for (size_t i = 0; i < sizeof(hopeless) / sizeof(*hopeless); i++)
		if (!strncmp(reason, hopeless[i], strlen(hopeless[i])))
			return true;
	return false;
}

/* Of the array @p job: how many pieces wait, and how many run. @p why: for free(), why one will never run;
 * NULL: none such. */
static enum state ask(unsigned long job, size_t *n_waiting, size_t *n_running, char **why)
{
	_cleanup_free_ char *said = malloc(PIECES_BYTES);
	char number[32];
	char *const argv[] = { "squeue", "-h", "-r", "-o", "%T %r", "-j", number, NULL };
	int status;

	*n_waiting = *n_running = 0;
	*why = NULL;
	snprintf(number, sizeof(number), "%lu", job);
	status = said ? run_command(argv, -1, said, PIECES_BYTES) : -1;
	if (status)
		return said && strstr(said, "Invalid job id") ? OVER : SILENT;
	for (const char *line = said; *line;
	     line += strcspn(line, "\n"), line += strspn(line, "\n"))
		if (!strncmp(line, "PENDING", 7) || !strncmp(line, "REQUEUE", 7))
			++*n_waiting;
		else
			++*n_running;
	for (char *line = said; *line && !*why;
	     line += strcspn(line, "\n"), line += strspn(line, "\n")) {
		const char *reason = line + strcspn(line, " \n");

		if (!strncmp(line, "PENDING ", 8) && is_hopeless(reason + 1))
			*why = strndup(reason + 1, strcspn(reason + 1, "\n"));
	}
	return *n_waiting || *n_running ? UNDER_WAY : OVER;
}

/* ---- files ----------------------------------------------------------------------------------------- */

static char *path_of(const struct array *a, const char *name)
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

/* What the last array is about. @p ret: as cmd_suite_part(); @p ret_n: how many, of which those from
 * the @p k-th of @p n_parts on. */
static struct err *read_pending(const struct suite_run *r, size_t k, size_t n_parts,
				bool *ret, size_t *ret_n)
{
	_cleanup_free_ char *path = NULL, *line = NULL;
	_cleanup_(fclosep) FILE *f = NULL;
	VEC(size_t) all = {};
	size_t capacity = 0;

	if (asprintf(&path, "%s/slurm/pending", r->dir) < 0)
		return &err_nomem;
	f = fopen(path, "re");
	if (!f)
		return err_errno("cannot open '%s'", path);
	while (getline(&line, &capacity, f) >= 0) {
		const struct cap_suite_test *t;

		line[strcspn(line, "\n")] = 0;
		t = cap_suite_find(r->suite, line);
		if (t && vec_add(&all, (size_t)(t - r->suite->tests))) {
			vec_deinit(&all);
			return &err_nomem;
		}
	}
	*ret_n = all.size;
	for (size_t i = all.size * k / n_parts; i < all.size * (k + 1) / n_parts; i++)
		ret[all.data[i]] = true;
	vec_deinit(&all);
	return NULL;
}

/* Write @p name in DIR/slurm, by rename. */
static struct err *write_file(const struct array *a, const char *name,
			      void (*print)(const struct array *a, FILE *out))
{
	_cleanup_(new_file_deinit) struct new_file f = {};
	_cleanup_free_ char *path = path_of(a, name);
	struct err *err = path ? new_file_open(&f, path, 0600) : &err_nomem;

	if (err)
		return err;
	print(a, f.stream);
	return new_file_commit(&f);
}

static void print_pending(const struct array *a, FILE *out)
{
	for (size_t i = 0; i < a->r->suite->n_tests; i++)
		if (a->is_pending[i])
			fprintf(out, "%s\n", a->r->suite->tests[i].name);
}

static void print_job(const struct array *a, FILE *out)
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

/* What a piece runs, of @p n_parts. */
static void print_script(const struct array *a, size_t n_parts, FILE *out)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	fputs("#!/bin/sh\nexec", out);
	cmd_command_put_quoted(out, self);
	fprintf(out, " suite --part=$SLURM_ARRAY_TASK_ID/%zu", n_parts);
	for (size_t i = 1; a->argv[i]; i++)
		cmd_command_put_quoted(out, a->argv[i]);
	fputc('\n', out);
}

/* The script, for sbatch to read; -1: no memory. */
static int open_script(const struct array *a, size_t n_parts)
{
	int fd = memfd_create("faultline", MFD_CLOEXEC);
	FILE *out = fd < 0 ? NULL : fdopen(fd, "w");

	if (!out)
		return -1;
	print_script(a, n_parts, out);
	fflush(out);
	fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	fclose(out);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

/* Submit what is pending, a test of which takes @p each_s. */
static struct err *submit(struct array *a, double each_s)
{
	size_t processors = cmd_suite_slurm_processors(), n_parts;
	_cleanup_free_ char *log = path_of(a, "%a.log"),
			    *words = strdup(a->options ?: "");
	VEC(char *) argv = {};
	_cleanup_close_ int script = -1;
	char array[64], said[SAID_BYTES];
	struct err *err;
	int status;

	n_parts = ceil(a->n_pending * each_s / PIECE_S);
	n_parts = n_parts > 2 * processors ? n_parts : 2 * processors;
	n_parts = n_parts < a->n_pending ? n_parts : a->n_pending;
	n_parts = n_parts < PIECES_MOST ? n_parts : PIECES_MOST;
	err = write_file(a, "pending", print_pending);
	if (err)
		return err;
	script = open_script(a, n_parts);
	if (!log || !words || script < 0)
		return &err_nomem;
	snprintf(array, sizeof(array), "--array=0-%zu", n_parts - 1);
	// The user's come last, and win.
	char *const own[] = { "sbatch",
			      "--parsable",
			      "--requeue",
			      "--open-mode=append",
			      "--job-name=faultline",
			      array,
			      "-o",
			      log };
	for (size_t i = 0; i < sizeof(own) / sizeof(*own) && !err; i++)
		err = vec_add(&argv, own[i]);
	for (char *save, *word = strtok_r(words, " \t", &save); word && !err;
	     word = strtok_r(NULL, " \t", &save))
		err = vec_add(&argv, word);
	if (!err)
		err = vec_add(&argv, NULL);
	if (!err) {
		status = run_command(argv.data, script, said, sizeof(said));
		if (status || sscanf(said, "%lu", &a->job) != 1)
			err = said_by("submit to Slurm", "sbatch", status, said);
	}
	vec_deinit(&argv);
	return err ?: write_file(a, "job", print_job);
}

static void count_pending(struct array *a)
{
	a->n_pending = 0;
	for (size_t i = 0; i < a->r->suite->n_tests; i++) {
		a->is_pending[i] &= !is_done(a->r, &a->r->suite->tests[i]) &&
				    !cmd_suite_is_needless(a->r, i);
		a->n_pending += a->is_pending[i];
	}
}

static void show(struct array *a, size_t n_waiting, size_t n_running)
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

static void end_array(const struct array *a)
{
	char number[32], said[SAID_BYTES];
	char *const argv[] = { "scancel", number, NULL };
	size_t n_waiting, n_running;

	snprintf(number, sizeof(number), "%lu", a->job);
	run_command(argv, -1, said, sizeof(said));
	for (int i = 0; i < 150; i++) {
		_cleanup_free_ char *why = NULL;

		if (ask(a->job, &n_waiting, &n_running, &why) != UNDER_WAY)
			return;
		usleep(200000);
	}
}

/* Until the array is over; interrupted, it is cancelled, and so it is when it would wait for ever. */
static struct err *await(struct array *a)
{
	size_t n_waiting, n_running;

	while (!a->r->is_interrupted) {
		_cleanup_free_ char *why = NULL;
		double begun_s = clock_now_s(), pause_s;
		enum state state = ask(a->job, &n_waiting, &n_running, &why);
		struct timespec pause = {};
		int signo;

		count_pending(a);
		show(a, n_waiting, n_running);
		if (state == OVER)
			return NULL;
		if (a->r->until && !a->n_pending) { // the others are not wanted
			end_array(a);
			return NULL;
		}
		if (why) {
			end_array(a);
			return err_new(
				ERR_USAGE,
				"cannot have it done by Slurm: job %lu would never run (%s)",
				a->job, why);
		}
		if (state == SILENT && !a->is_told_silent) {
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
			end_array(a);
	}
	return NULL;
}

/* Whoever records more where there is no space left only makes it worse. */
static struct err *check_space(const struct array *a, const struct cap_suite_test *t)
{
	if (t->is_recorded || !t->why ||
	    (!strstr(t->why, strerror(ENOSPC)) && !strstr(t->why, strerror(EDQUOT))))
		return NULL;
	return err_new(ERR_OS, "cannot record into '%s': %s", a->r->dir, t->why);
}

/* One test here: how long does it take, and does it work at all? */
static struct err *try_one(struct array *a, double *ret_s)
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
		err = check_space(a, &r.suite->tests[i]);
	return err;
}

/* Everything that is not done, without what an earlier run left of it. */
static struct err *find_pending(struct array *a)
{
	const struct cap_suite *s = a->r->suite;
	struct err *err = NULL;

	for (size_t i = 0; i < s->n_tests && !err; i++) {
		struct cap_suite_test *t = &s->tests[i];

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

/* Where pieces recorded that died. */
static void remove_leftovers(const struct array *a)
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
	}
	if (d)
		closedir(d);
}

/* An array of an earlier command that was killed goes on: it is waited for. */
static struct err *go_on(struct array *a)
{
	size_t n_waiting, n_running;
	_cleanup_free_ char *why = NULL;
	struct err *err;

	a->job = read_job(a->r->dir);
	if (!a->job || ask(a->job, &n_waiting, &n_running, &why) != UNDER_WAY)
		return NULL;
	err = read_pending(a->r, 0, 1, a->is_pending, &a->n_all);
	if (err)
		return err;
	fprintf(stderr, "faultline: job %lu for this suite goes on: it is waited for\n",
		a->job);
	return await(a);
}

static struct err *left_over(const struct array *a)
{
	const struct cap_suite *s = a->r->suite;
	size_t i = 0;

	while (i + 1 < s->n_tests && !a->is_pending[i])
		i++;
	return err_new(ERR_OS,
		       "cannot finish '%s': after %d job arrays %zu tests are not done, "
		       "'%s' among them; what their pieces said is in %s/*.log",
		       a->r->dir, ROUNDS, a->n_pending, s->tests[i].name, a->dir);
}

static struct err *run_arrays(struct array *a)
{
	double each_s = 0;
	struct err *err = go_on(a);

	if (err || a->r->is_interrupted)
		return err;
	memset(a->is_pending, 0, a->r->suite->n_tests);
	err = find_pending(a);
	a->r->n_found = a->r->suite->n_tests - a->n_pending;
	if (!err && a->n_pending && !a->r->is_tried)
		err = try_one(a, &each_s);
	if (err || a->r->is_interrupted)
		return err;
	count_pending(a);
	for (int i = 0; i < ROUNDS && a->n_pending && !a->r->is_interrupted; i++) {
		err = submit(a, each_s);
		if (!err)
			err = await(a);
		if (err)
			return err;
	}
	remove_leftovers(a);
	return a->n_pending && !a->r->is_interrupted ? left_over(a) : NULL;
}

struct err *cmd_suite_slurm(struct suite_run *r, const char *options, char *const *argv)
{
	struct array a = {
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
	return err;
}

/* ---- a piece ------------------------------------------------------------------------------------------- */

unsigned cmd_suite_jobs(const struct suite_options *o)
{
	const char *given = o->part ? secure_getenv("SLURM_CPUS_PER_TASK") : NULL;
	long n = given ? strtol(given, NULL, 10) : 1;

	if (o->n_jobs)
		return o->n_jobs;
	return o->part ? (n > 0 && n <= 1024 ? n : 1) : sysconf(_SC_NPROCESSORS_ONLN);
}

struct err *cmd_suite_part(const struct suite_run *r, const char *part, bool **ret)
{
	unsigned long k, n;
	char host[256] = "";
	size_t n_pending;
	struct err *err;
	int end = 0;

	if (sscanf(part, "%lu/%lu%n", &k, &n, &end) != 2 || part[end] || k >= n)
		return err_new(ERR_USAGE, "no part of a suite: '%s'", part);
	*ret = calloc(r->suite->n_tests + 1, sizeof(bool));
	if (!*ret)
		return &err_nomem;
	err = read_pending(r, k, n, *ret, &n_pending);
	if (!err && !gethostname(host, sizeof(host) - 1))
		fprintf(stderr, "faultline: piece %lu of %lu, %lu tests, on %s\n", k + 1,
			n, n_pending * (k + 1) / n - n_pending * k / n, host);
	return err;
}

struct err *cmd_suite_record_part(struct suite_run *r)
{
	const char *job = secure_getenv("SLURM_JOB_ID"),
		   *again = secure_getenv("SLURM_RESTART_COUNT");
	_cleanup_free_ char *work = NULL, *tests = NULL;
	struct err *err;

	if (asprintf(&work, "%s/slurm/%s.%s", r->dir, job ?: "0", again ?: "0") < 0 ||
	    asprintf(&tests, "%s/tests", work) < 0)
		return &err_nomem;
	if ((mkdir(work, 0700) && errno != EEXIST) ||
	    (mkdir(tests, 0700) && errno != EEXIST))
		return err_errno("cannot create '%s'", tests);
	r->work = work;
	err = cmd_suite_run(r);
	rmdir(tests);
	rmdir(work);
	r->work = r->dir;
	return err;
}

void cmd_suite_slurm_status(const char *dir)
{
	unsigned long job = read_job(dir);
	size_t n_waiting, n_running;
	_cleanup_free_ char *why = NULL;

	if (!job)
		return;
	switch (ask(job, &n_waiting, &n_running, &why)) {
	case OVER:
		printf("job %lu: over\n", job);
		return;
	case SILENT:
		printf("job %lu: Slurm's controller does not answer\n", job);
		return;
	case UNDER_WAY:
		printf("job %lu: %zu pieces run, %zu wait%s%s\n", job, n_running,
		       n_waiting, why ? " for ever: " : "", why ?: "");
	}
}
