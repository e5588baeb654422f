// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Tests recorded beside each other, each by a `faultline record' of its own; then its oracle,
 * if it has one. Or their captures analysed, each by a command of its own. Each process started here leads a group: what is to end is found by that, and
 * Ctrl-C reaches us alone. A finished capture is what says that a test was recorded, so one
 * that is to be recorded again is removed.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
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

enum job_kind { RECORDING, JUDGING, ANALYSING };

struct job {
	pid_t pid;   ///< and group
	size_t test; ///< of the suite
	enum job_kind kind;
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

int cmd_suite_remove(const char *path)
{
	return nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

struct err *cmd_suite_remove_test(const char *dir, const char *name)
{
	_cleanup_close_ int there = cap_suite_open(dir, name, NULL, O_PATH);
	_cleanup_free_ char *path = cap_suite_path(dir, name, "");

	if (!path)
		return &err_nomem;
	path[strlen(path) - 1] = 0; // the slash
	if (there < 0 && errno == ENOENT)
		return NULL;
	if (there < 0 || cmd_suite_remove(path))
		return err_errno("cannot remove '%s'", path);
	return NULL;
}

/** Open @p what of test @p t as descriptor @p as. In the child: no memory of errors. */
static void open_as(const struct runner *n, const struct cap_suite_test *t,
		    const char *what, int flags, int as)
{
	int fd = cap_suite_open(n->r->work, t->name, what, flags);

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

/** In the words of an own command "@/" is its test's directory. */
static char *own_word(const struct runner *n, const struct cap_suite_test *t, char *word)
{
	return strncmp(word, "@/", 2) ? word :
					cap_suite_path(n->r->work, t->name, word + 2);
}

/** A command over its capture, which prints its result; or a test that is a command. */
__attribute__((noreturn)) static void
be_analyst(const struct runner *n, const struct cap_suite_test *t, const char *capture)
{
	const struct suite_analysis *a = n->r->analysis;
	char **argv = calloc(5 + a->n_options + t->n_args, sizeof(*argv));
	char name[NAME_MAX];
	size_t i = 0;

	snprintf(name, sizeof(name), "%s.log", a->verb);
	open_as(n, t, name, O_WRONLY | O_CREAT | O_APPEND, 2);
	snprintf(name, sizeof(name), "%s.%s", a->verb, a->result);
	open_as(n, t, name, O_WRONLY | O_CREAT, 1);
	if (!argv || (a->is_own && !freopen("/dev/null", "r", stdin)))
		_exit(125);
	argv[i++] = "faultline";
	for (size_t k = 0; a->is_own && k < t->n_args; k++)
		argv[i++] = own_word(n, t, t->args[k]);
	if (!a->is_own)
		argv[i++] = (char *)a->verb;
	for (size_t k = 0; k < a->n_options; k++)
		argv[i++] = a->options[k];
	if (!strcmp(a->result, "json"))
		argv[i++] = "--json";
	if (!a->is_own)
		argv[i++] = (char *)capture;
	execv("/proc/self/exe", argv);
	_exit(125);
}

/* ---- jobs ------------------------------------------------------------------------------------------ */

static struct err *start(struct runner *n, size_t test, enum job_kind kind)
{
	const struct cap_suite_test *t = cap_suite_at(n->r->suite, test);
	_cleanup_free_ char *capture = cap_suite_path(n->r->work, t->name, "capture");
	struct job *job = vec_push(&n->jobs);

	if (!job || !capture)
		return &err_nomem;
	*job = (struct job){ .test = test, .kind = kind };
	job->deadline_s = n->r->timeout_s ? clock_now_s() + n->r->timeout_s : INFINITY;
	job->pid = fork();
	if (!job->pid) {
		setpgid(0, 0);
		sigprocmask(SIG_SETMASK, &n->were_blocked, NULL);
		if (kind == JUDGING)
			be_oracle(n, t);
		if (kind == ANALYSING)
			be_analyst(n, t, capture);
		be_recorder(n, t, capture);
	}
	if (job->pid < 0) {
		n->jobs.size--;
		return err_errno("cannot start a process");
	}
	setpgid(job->pid, job->pid); // whoever is first
	return NULL;
}

/** The test is not done yet: do it in a new directory, without what may be there of it. */
static struct err *start_anew(struct runner *n, size_t test, enum job_kind kind)
{
	const struct cap_suite_test *t = cap_suite_at(n->r->suite, test);
	_cleanup_free_ char *path = NULL;
	struct err *err = cmd_suite_remove_test(n->r->work, t->name);

	if (err)
		return err;
	path = cap_suite_path(n->r->work, t->name, "");
	if (!path)
		return &err_nomem;
	if (mkdir(path, 0700))
		return err_errno("cannot create '%s'", path);
	return start(n, test, kind);
}

static void tally(struct runner *n, const struct cap_suite_test *t)
{
	n->n_ended++;
	n->n_failed += t->outcome == CAP_SUITE_FAILED;
}

/** A piece's own work is over: let it be seen, all at once, where the suite is. Another piece may have
 * been as far with the same test: one of them is there. */
static struct err *hand_over(struct runner *n, struct cap_suite_test *t)
{
	_cleanup_free_ char *from = cap_suite_path(n->r->work, t->name, "");
	_cleanup_free_ char *to = cap_suite_path(n->r->dir, t->name, "");

	if (!from || !to)
		return &err_nomem;
	from[strlen(from) - 1] = to[strlen(to) - 1] = 0; // the slash
	if (!rename(from, to))
		return NULL;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return err_errno("cannot rename '%s' to '%s'", from, to);
	return cmd_suite_remove_test(n->r->work, t->name);
}

/** Its files become those of all. Where that cannot be it has its own, which is told once. */
static void share(struct runner *n, const struct cap_suite_test *t)
{
	_cleanup_free_ char *capture = cap_suite_path(n->r->work, t->name, "capture");
	_cleanup_err_ struct err *err = NULL;

	if (!n->r->store || !t->is_recorded || !capture)
		return;
	err = cap_share(capture, n->r->store, &n->r->shared);
	if (err && !n->r->is_told_unshared)
		fprintf(stderr, "faultline: note: %s\n", err->message);
	n->r->is_told_unshared |= err != NULL;
}

/** It is recorded: judge it, or let its oracle. */
static struct err *judge(struct runner *n, size_t test)
{
	struct cap_suite_test *t = cap_suite_at(n->r->suite, test);
	bool needs_oracle = cmd_suite_judge(n->r->work, t);

	share(n, t);
	if (n->r->work != n->r->dir) {
		n->n_ended++;
		return hand_over(n, t);
	}
	if (needs_oracle)
		return start(n, test, JUDGING);
	tally(n, t);
	return NULL;
}

static struct err *start_analysis(struct runner *n, size_t test)
{
	const struct cap_suite_test *t = cap_suite_at(n->r->suite, test);
	int status = cmd_suite_result(n->r, t, NULL);

	if (cmd_suite_is_needless(n->r, test))
		return NULL;
	if (status < 0 && n->r->analysis->is_own)
		return start_anew(n, test, ANALYSING);
	if (t->is_recorded && status < 0)
		return start(n, test, ANALYSING);
	n->r->n_found += t->is_recorded;
	n->n_ended++;
	n->n_failed += status > 0;
	return NULL;
}

static struct err *start_next(struct runner *n)
{
	size_t i = n->next++;
	struct cap_suite_test *t;
	bool needs_oracle;

	if (n->r->is_wanted && !n->r->is_wanted[i])
		return NULL;
	if (n->r->analysis)
		return start_analysis(n, i);
	t = cap_suite_at(n->r->suite, i);
	needs_oracle = cmd_suite_judge(n->r->dir, t);
	if (!t->is_recorded && n->r->judges_only) {
		tally(n, t);
		return NULL;
	}
	if (!t->is_recorded)
		return start_anew(n, i, RECORDING);
	n->r->n_found++;
	if (n->r->work != n->r->dir)
		return NULL;
	share(n, t);
	if (needs_oracle)
		return start(n, i, JUDGING);
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
	_cleanup_close_ int fd =
		cap_suite_open(n->r->work, cap_suite_at(n->r->suite, job->test)->name,
			       SUITE_HUNG, O_WRONLY | O_CREAT);

	if (fd >= 0)
		dprintf(fd, "%g\n", n->r->timeout_s);
}

bool cmd_suite_is_needless(const struct suite_run *r, size_t i)
{
	for (size_t k = 0; r->until && k < i; k++) {
		const struct cap_suite_test *t = cap_suite_at(r->suite, k);
		_cleanup_close_ int fd =
			cap_suite_open(r->dir, t->name, r->until, O_PATH);

		if (fd >= 0 && cmd_suite_result(r, t, NULL) >= 0)
			return true;
	}
	return false;
}

static void end_what_is_due(struct runner *n)
{
	double now_s = clock_now_s();

	for (size_t i = 0; i < n->jobs.size; i++) {
		struct job *job = &n->jobs.data[i];
		bool is_due = now_s >= job->deadline_s ||
			      (n->r->until && !job->is_ending &&
			       cmd_suite_is_needless(n->r, job->test));

		if (!is_due && !job->is_ending)
			continue;
		if (!job->is_ending) {
			if (job->kind == RECORDING)
				note_hung(n, job);
			job->is_ending = true;
			job->deadline_s = now_s + GRACE_S;
			is_due = false;
		}
		if (!is_due && job->kind == ANALYSING && n->r->analysis->is_own)
			kill(job->pid, SIGTERM); // it may have a recording to end
		else if (is_due || job->kind != RECORDING)
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

/** Its result is there when its status is, which comes by rename. */
static struct err *conclude_analysis(struct runner *n, struct job job, int status)
{
	struct cap_suite_test *t = cap_suite_at(n->r->suite, job.test);
	int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	_cleanup_free_ char *said = NULL;
	char name[NAME_MAX], why[SAID_BYTES] = "";
	struct err *err;

	snprintf(name, sizeof(name), "%s.log", n->r->analysis->verb);
	if (code > 1)
		said = cmd_suite_line(n->r->work, t, name, "faultline: ");
	if (said)
		snprintf(why, sizeof(why), "%s", said);
	if (job.is_ending)
		snprintf(why, sizeof(why), "ended after %g s", n->r->timeout_s);
	n->n_ended++;
	n->n_failed += code > 0;
	err = cmd_suite_keep_result(n->r, t, code, why);
	return err || n->r->work == n->r->dir ? err : hand_over(n, t);
}

/** @p job, no longer among those that run, has ended with waitpid()'s @p status. */
static struct err *conclude(struct runner *n, struct job job, int status)
{
	struct cap_suite_test *t = cap_suite_at(n->r->suite, job.test);
	char said[SAID_BYTES];

	if (n->r->is_interrupted && job.kind != RECORDING)
		return NULL; // what it would have said is not known
	if (job.kind == ANALYSING)
		return conclude_analysis(n, job, status);
	if (n->r->is_interrupted && job.is_ending)
		return cmd_suite_remove_test(n->r->work, t->name);
	if (job.kind == RECORDING)
		return judge(n, job.test);
	read_said(n, t, said);
	cmd_suite_heed(t, status, said);
	tally(n, t);
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
	fprintf(stderr, TEXT_AGAIN "faultline: %zu of %zu tests, %zu %s ", n->n_ended,
		n->r->suite->n_tests, n->n_failed,
		n->r->analysis ? "with errors" : "failed");
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
