// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Tests recorded beside each other, each by a `faultline record' of its own; then its oracle,
 * if it has one. Each process started here leads a group: what is to end is found by that, and
 * Ctrl-C reaches us alone. A finished capture is what says that a test was recorded, so one
 * that is to be recorded again is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "cmd/suite_int.h"

#define GRACE_S 20 ///< so long a recorder may take to write what it has
#define STEP_NS 100000000
#define SAID_BYTES 4096

struct job {
	pid_t pid; ///< and group
	struct cap_suite_test *test;
	bool is_judging;   ///< it is the oracle that runs
	bool is_ending;	   ///< its time is over, or we are to end
	double deadline_s; ///< when that is; then, when the recorder's is
};

struct runner {
	struct suite_run *r;
	VEC(struct job) jobs; ///< that run
	size_t next, n_ended, n_failed;
	double begun_s, shown_s;
	sigset_t were_blocked;
};

/* ---- files ------------------------------------------------------------------------------------ */

static int remove_one(const char *path, const struct stat *st, int kind,
		      struct FTW *where)
{
	(void)st, (void)kind, (void)where;
	return remove(path);
}

/** What tests/NAME holds; @return NULL when nothing is left of it. */
static struct err *remove_test(const char *dir, const char *name)
{
	_cleanup_close_ int there = cap_suite_open(dir, name, NULL, O_PATH);
	_cleanup_free_ char *path = cap_suite_path(dir, name, "");

	if (!path)
		return &err_nomem;
	path[strlen(path) - 1] = 0; // the slash
	if (there < 0 && errno == ENOENT)
		return NULL;
	if (there < 0 || nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS))
		return err_errno("cannot remove '%s'", path);
	return NULL;
}

/** Open @p what of test @p t as descriptor @p as. In the child: no memory of errors. */
static void open_as(const struct runner *n, const struct cap_suite_test *t,
		    const char *what, int flags, int as)
{
	int fd = cap_suite_open(n->r->dir, t->name, what, flags);

	if (fd < 0 || dup2(fd, as) < 0) {
		fprintf(stderr, "faultline: cannot open '%s' of test '%s': %s\n", what,
			t->name, strerror(errno));
		_exit(125);
	}
	if (fd != as)
		close(fd);
}

/* ---- in the child ------------------------------------------------------------------------------ */

__attribute__((noreturn)) static void
be_recorder(const struct runner *n, const struct cap_suite_test *t, const char *capture)
{
	const struct cap_suite *s = n->r->suite;
	char **argv = calloc(6 + s->n_command + t->n_args, sizeof(*argv));
	const char *input = t->input ?: "/dev/null";
	int fd = open(input, O_RDONLY);
	size_t i = 0;

	open_as(n, t, "stderr", O_WRONLY | O_CREAT | O_APPEND, 2);
	open_as(n, t, "stdout", O_WRONLY | O_CREAT, 1);
	if (!argv || fd < 0 || dup2(fd, 0) < 0) {
		fprintf(stderr, "faultline: cannot read stdin '%s': %s\n", input,
			strerror(errno));
		_exit(125);
	}
	if (fd)
		close(fd);
	argv[i++] = "faultline";
	argv[i++] = "record";
	argv[i++] = "-o";
	argv[i++] = (char *)capture;
	argv[i++] = "--";
	for (size_t k = 0; k < s->n_command; k++)
		argv[i++] = s->command[k];
	for (size_t k = 0; k < t->n_args; k++)
		argv[i++] = t->args[k];
	execv("/proc/self/exe", argv);
	fprintf(stderr, "faultline: cannot execute itself: %s\n", strerror(errno));
	_exit(125);
}

/** Its arguments are the test's name and exit status, its stdin is what the test printed. */
__attribute__((noreturn)) static void be_oracle(const struct runner *n,
						const struct cap_suite_test *t)
{
	char status[16];

	snprintf(status, sizeof(status), "%d", t->status);
	open_as(n, t, "oracle", O_WRONLY | O_CREAT | O_APPEND, 1);
	open_as(n, t, "stdout", O_RDONLY, 0);
	dup2(1, 2);
	execl(t->oracle, t->oracle, t->name, status, NULL);
	fprintf(stderr, "cannot execute '%s': %s\n", t->oracle, strerror(errno));
	_exit(126);
}

/* ---- jobs ------------------------------------------------------------------------------------------ */

static struct err *start(struct runner *n, struct cap_suite_test *t, bool is_judging)
{
	_cleanup_free_ char *capture = cap_suite_path(n->r->dir, t->name, "capture");
	struct job *job = vec_push(&n->jobs);

	if (!job || !capture)
		return &err_nomem;
	*job = (struct job){ .test = t, .is_judging = is_judging };
	job->deadline_s = n->r->timeout_s ? clock_now_s() + n->r->timeout_s : INFINITY;
	job->pid = fork();
	if (!job->pid) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &n->were_blocked, NULL);
		if (is_judging)
			be_oracle(n, t);
		be_recorder(n, t, capture);
	}
	if (job->pid < 0) {
		n->jobs.size--;
		return err_errno("cannot start a process");
	}
	setpgid(job->pid, job->pid); // whoever is first
	return NULL;
}

/** The test is not done yet: record it, after what may be there of it. */
static struct err *start_recording(struct runner *n, struct cap_suite_test *t)
{
	_cleanup_free_ char *path = NULL;
	struct err *err = remove_test(n->r->dir, t->name);

	if (err)
		return err;
	path = cap_suite_path(n->r->dir, t->name, "");
	if (!path)
		return &err_nomem;
	if (mkdir(path, 0700))
		return err_errno("cannot create '%s'", path);
	return start(n, t, false);
}

static void tally(struct runner *n, const struct cap_suite_test *t)
{
	n->n_ended++;
	n->n_failed += t->outcome == CAP_SUITE_FAILED;
}

/** It is recorded: judge it, or let its oracle. */
static struct err *judge(struct runner *n, struct cap_suite_test *t)
{
	if (cmd_suite_judge(n->r->dir, t))
		return start(n, t, true);
	tally(n, t);
	return NULL;
}

static struct err *start_next(struct runner *n)
{
	struct cap_suite_test *t = &n->r->suite->tests[n->next++];
	bool needs_oracle = cmd_suite_judge(n->r->dir, t);

	if (!t->is_recorded)
		return start_recording(n, t);
	n->r->n_found++;
	if (needs_oracle)
		return start(n, t, true);
	tally(n, t);
	return NULL;
}

/** SIGKILL to the recorded program: the recorder's child, and ours's grandchild. */
static void kill_program(pid_t keeper)
{
	int pid, recorder, n = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", keeper, keeper);
	f = fopen(path, "re");
	n = f ? fscanf(f, "%d", &recorder) : 0;
	if (f)
		fclose(f);
	if (n != 1)
		return;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", recorder, recorder);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1)
		kill(pid, SIGKILL);
	if (f)
		fclose(f);
}

/** Its time is over: that is noted before the capture can be finished. */
static void note_hung(struct runner *n, const struct job *job)
{
	_cleanup_close_ int fd = cap_suite_open(n->r->dir, job->test->name, SUITE_HUNG,
						O_WRONLY | O_CREAT);

	if (fd >= 0)
		dprintf(fd, "%g\n", n->r->timeout_s);
}

static void end_what_is_due(struct runner *n)
{
	double now_s = clock_now_s();

	for (size_t i = 0; i < n->jobs.size; i++) {
		struct job *job = &n->jobs.data[i];
		bool is_due = now_s >= job->deadline_s;

		if (!is_due && !job->is_ending)
			continue;
		if (!job->is_ending) {
			if (!job->is_judging)
				note_hung(n, job);
			job->is_ending = true;
			job->deadline_s = now_s + GRACE_S;
			is_due = false;
		}
		if (is_due || job->is_judging)
			kill(-job->pid, SIGKILL);
		else // again: it may not have been started
			kill_program(job->pid);
	}
}

static void interrupt(struct runner *n)
{
	n->r->is_interrupted = true;
	for (size_t i = 0; i < n->jobs.size; i++) {
		n->jobs.data[i].is_ending = true;
		n->jobs.data[i].deadline_s = clock_now_s() + GRACE_S;
	}
}

/** What the oracle printed first. */
static void read_said(struct runner *n, const struct cap_suite_test *t,
		      char said[SAID_BYTES])
{
	_cleanup_close_ int fd = cap_suite_open(n->r->dir, t->name, "oracle", O_RDONLY);
	ssize_t got = fd < 0 ? 0 : read(fd, said, SAID_BYTES - 1);

	said[got > 0 ? got : 0] = 0;
}

/** @p job, no longer among those that run, has ended with waitpid()'s @p status. */
static struct err *conclude(struct runner *n, struct job job, int status)
{
	char said[SAID_BYTES];

	if (n->r->is_interrupted && job.is_judging)
		return NULL; // what it would have said is not known
	if (n->r->is_interrupted && job.is_ending)
		return remove_test(n->r->dir, job.test->name);
	if (!job.is_judging)
		return judge(n, job.test);
	read_said(n, job.test, said);
	cmd_suite_heed(job.test, status, said);
	tally(n, job.test);
	return NULL;
}

/** Take what has ended. */
static struct err *reap(struct runner *n)
{
	struct err *err = NULL;

	for (size_t i = 0; i < n->jobs.size && !err;) {
		struct job job = n->jobs.data[i];
		siginfo_t info = {};
		int status;

		if (waitid(P_PID, job.pid, &info, WEXITED | WNOHANG | WNOWAIT) ||
		    !info.si_pid) {
			i++;
			continue;
		}
		if (job.is_ending) // what it left running; the number is still its own
			kill(-job.pid, SIGKILL);
		waitpid(job.pid, &status, 0);
		n->jobs.data[i] = n->jobs.data[--n->jobs.size];
		err = conclude(n, job, status);
	}
	return err;
}

/* Over two seconds, and to people. */
static void show_progress(struct runner *n)
{
	double now_s = clock_now_s();

	if (now_s - n->begun_s < 2 || now_s - n->shown_s < 0.5 || !isatty(2))
		return;
	n->shown_s = now_s;
	fprintf(stderr, TEXT_AGAIN "faultline: %zu of %zu tests, %zu failed ", n->n_ended,
		n->r->suite->n_tests, n->n_failed);
}

static struct err *run(struct runner *n, const sigset_t *watched)
{
	static const struct timespec step = { .tv_nsec = STEP_NS };
	struct err *err = NULL;
	int signo;

	while (!err) {
		while (!err && !n->r->is_interrupted && n->jobs.size < n->r->n_jobs &&
		       n->next < n->r->suite->n_tests)
			err = start_next(n);
		if (err || !n->jobs.size)
			break;
		signo = sigtimedwait(watched, NULL, &step);
		if (signo > 0 && signo != SIGCHLD)
			interrupt(n);
		end_what_is_due(n);
		err = reap(n);
		show_progress(n);
	}
	return err;
}

/** After a failure of ours: nothing that we started goes on. */
static void end_all(struct runner *n)
{
	while (n->jobs.size) {
		struct job job = n->jobs.data[--n->jobs.size];

		kill_program(job.pid);
		kill(-job.pid, SIGKILL);
		waitpid(job.pid, NULL, 0);
	}
}

struct err *cmd_suite_run(struct suite_run *r)
{
	struct runner n = { .r = r, .begun_s = clock_now_s() };
	struct err *err;
	sigset_t watched;

	sigemptyset(&watched);
	sigaddset(&watched, SIGCHLD);
	sigaddset(&watched, SIGINT);
	sigaddset(&watched, SIGTERM);
	sigaddset(&watched, SIGHUP);
	sigprocmask(SIG_BLOCK, &watched, &n.were_blocked);
	err = run(&n, &watched);
	end_all(&n);
	sigprocmask(SIG_SETMASK, &n.were_blocked, NULL);
	vec_deinit(&n.jobs);
	if (n.shown_s)
		fputs("\n", stderr);
	return err;
}
