// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The program must not be harmed, whatever becomes of us. Two processes: the keeper, which
 * the user started, sees and kills; and its child, the recorder, which traces and writes.
 *
 *   keeper killed    the recorder gets SIGTERM from the kernel: it ends the recording as
 *                    when it leaves a program that it attached to, and nothing is lost,
 *                    of the capture neither.
 *   recorder killed  the kernel lets its tracees run at once, changed as they are. The
 *                    keeper hears of it by the end of a pipe, which closes before that:
 *                    it becomes their tracer as soon as it can, and undoes the changes,
 *                    of which it has tables (undo.c, wards.c).
 *
 * The keeper is of the program's process group, as who started it expects; the recorder has one
 * to itself.
 *
 * In the second case there is a moment in which rdtsc or cpuid would end the program; the
 * process with the well-known number is therefore the other one. A thread that was making
 * a call for us waits in the gate meanwhile (vdso.c).
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/start/keeper.h"
#include "pt-collect/start/start.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/tracee/privilege.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/undo.h"

#define SEIZE_NS 1000000000ull ///< so long the kernel may take to end the recorder

sigset_t ptc_watched_signals(bool in_flight)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGQUIT);
	if (in_flight)
		sigaddset(&set, SIGUSR2);
	return set;
}

/* ---- after the recorder's death ------------------------------------------------------------- */

/** Seize thread @p t as soon as the dying recorder has let go of it. */
static void seize(struct ptc_process *p, pid_t tid)
{
	uint64_t until_ns = ptc_now_ns() + SEIZE_NS;
	struct ptc_thread *t = ptc_thread_find(p, tid);
	long failed;

	do
		failed = ptrace(PTRACE_SEIZE, tid, NULL, NULL);
	while (failed && errno == EPERM && ptc_now_ns() < until_ns);
	if (t && !failed)
		t->is_attached = true;
}

static void seize_all(struct ptc_process *p)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};

	p->tracee.pid = ptc_undo_pid();
	ptc_tids_read(p->tracee.pid, &tids);
	for (size_t i = 0; i < tids.size; i++)
		seize(p, tids.data[i]);
}

static bool is_stopped(const struct ptc_process *p)
{
	return vec_find(&p->threads, t, (*t)->is_in_group_stop);
}

static struct err *repair(struct ptc_process *p)
{
	struct ptc_vdso vdso;
	bool was_stopped;
	struct err *err = ptc_tracee_open(&p->tracee);

	if (!err)
		err = ptc_freeze(p, false);
	if (err)
		return err;
	was_stopped = is_stopped(p);
	ptc_undo_vdso(&vdso);
	p->tracee.syscall_at = vdso.gate;
	err = ptc_attach_change_back(p);
	ptc_thaw(p, true, 0);
	// The kernel side asked for time, of a recorder that is no more.
	if (was_stopped && !ptc_undo_is_stopped())
		kill(p->tracee.pid, SIGCONT);
	return err;
}

/** @p session's only process is the target. */
static int take_over(struct ptc_processes *all, int signo)
{
	struct ptc_process *p = all->list.data[0];
	_cleanup_err_ struct err *err = NULL;

	bool goes_on = ptc_wards_repair();

	p->tracee.pid = ptc_undo_pid();
	if (p->tracee.pid)
		err = repair(p);
	fprintf(stderr,
		"faultline: cannot go on recording: the recorder was killed by "
		"%s%s\n",
		text_signal(signo),
		p->tracee.pid || goes_on ? "; the program goes on" : "");
	if (err && err->code != ERR_NOT_FOUND)
		fprintf(stderr, "faultline: process %d is not as it was: %s\n",
			p->tracee.pid, err->message);
	ptc_wards_wait();
	return PTC_EXIT_FAILED;
}

/* ---- before ----------------------------------------------------------------------------------- */

static bool descends_from(pid_t ancestor, pid_t pid)
{
	while (pid > 1 && pid != ancestor)
		pid = ptc_stat_number(pid, PTC_STAT_PARENT);
	return pid == ancestor;
}

/** What is sent to us with kill is meant for the recorder, unless by the program: that means its
 * process group. What the terminal sends has reached the program already, which the recorder
 * sees by the code. */
static void pass_signals(int signals, pid_t recorder)
{
	struct signalfd_siginfo si;

	while (read(signals, &si, sizeof(si)) > 0) {
		if (si.ssi_signo == SIGCHLD)
			continue;
		if (si.ssi_code != SI_USER)
			sigqueue(recorder, si.ssi_signo, (union sigval){});
		else if (!descends_from(recorder, si.ssi_pid))
			kill(recorder, si.ssi_signo);
	}
}

/** What the program sends to its process group is meant for its like. It is stopped with them,
 * though: whoever waits for us sees that. */
static void block_all(void)
{
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, SIGTSTP);
	sigdelset(&set, SIGTTIN);
	sigdelset(&set, SIGTTOU);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

static int watch(struct ptc_processes *all, pid_t recorder, int its_end, sigset_t set)
{
	_cleanup_close_ int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	struct pollfd p[2] = { { .fd = its_end }, { .fd = signals, .events = POLLIN } };
	int status;

	while (waitpid(recorder, &status, WNOHANG) != recorder) {
		poll(p, 2, -1);
		pass_signals(signals, recorder);
		if (p[0].revents)
			ptc_wards_seize(recorder);
		if (p[0].revents && ptc_undo_pid())
			seize_all(all->list.data[0]);
		if (p[0].revents)
			p[0].fd = -1;
		p[0].revents = 0;
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : take_over(all, WTERMSIG(status));
}

/** Of the recorder; 0 in programs that record without a keeper. */
static pid_t keeper_pid;

/** What the recorder has otherwise than whom the user started. */
static struct {
	pid_t group; ///< 0: nothing
	sigset_t blocked;
	struct sigaction output;
} users;

bool ptc_is_keeper_gone(void)
{
	return keeper_pid && getppid() != keeper_pid;
}

void ptc_be_usual(void)
{
	if (!users.group)
		return;
	setpgid(0, users.group);
	sigaction(SIGTTOU, &users.output, NULL);
	sigprocmask(SIG_SETMASK, &users.blocked, NULL);
}

/** What the program sends to all of its group is not for the recorder: it has a group to itself,
 * and so is in the background for a terminal. What is sent to it waits until it looks. */
static void be_unusual(const sigset_t *blocked)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	users.group = getpgrp();
	users.blocked = *blocked;
	setpgid(0, 0);
	sigaction(SIGTTOU, &ignore, &users.output);
}

__attribute__((noreturn)) static void be_recorder(pid_t keeper, int (*fn)(void *ctx),
						  void *ctx)
{
	keeper_pid = keeper;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	// Killing by name means the one that can be killed.
	prctl(PR_SET_NAME, "flt-recorder");
	if (getppid() != keeper)
		_exit(PTC_EXIT_FAILED);
	exit(fn(ctx));
}

int ptc_keep(int (*fn)(void *ctx), void *ctx, bool in_flight)
{
	struct ptc_processes all = {};
	struct ptc_process *p;
	struct sigaction usual = { .sa_handler = SIG_DFL }, on_child;
	sigset_t set = ptc_watched_signals(in_flight), before;
	pid_t keeper = getpid(), recorder = -1;
	struct err *err = ptc_undo_init();
	int end[2], ret = PTC_EXIT_FAILED;

	if (!err)
		err = ptc_wards_init();
	if (!err)
		err = ptc_process_create(&all, 0, &p);
	// Were children ignored, we would never hear of the recorder's end.
	sigaction(SIGCHLD, &usual, &on_child);
	sigprocmask(SIG_BLOCK, &set, &before);
	if (!err && !pipe2(end, O_CLOEXEC))
		recorder = fork();
	if (!recorder) {
		sigaction(SIGCHLD, &on_child, NULL);
		be_unusual(&before);
		close(end[0]);
		be_recorder(keeper, fn, ctx);
	}
	if (recorder < 0) {
		fprintf(stderr, "faultline: cannot start the recorder: %s\n",
			err ? err->message : strerror(errno));
		return ret;
	}
	close(end[1]);
	block_all();
	ptc_privilege_end();
	ret = watch(&all, recorder, end[0], set);
	close(end[0]);
	ptc_process_destroy(p);
	vec_deinit(&all.list);
	return ret;
}
