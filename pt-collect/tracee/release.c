// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Leaving a process alone whose recorder died.
 *
 * Each thread is brought to a ptrace stop outside everything: a signal that it meets on
 * the way there is blocked and passed on, so that the kernel queues it again with all
 * that it said. In that stop it makes the two calls, gets its signal mask back, and goes.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/wards.h"

#define KERNEL_SIGSET_BYTES 8
#define PASSES_MAX 1000 ///< looks at the list of threads before we give up

static bool contains(const ptc_tids *list, pid_t pid)
{
	for (size_t i = 0; i < list->size; i++)
		if (list->data[i] == pid)
			return true;
	return false;
}

static pid_t tracer_of(pid_t tid)
{
	return ptc_status_number(tid, tid, "TracerPid", 10);
}

/** A thread on its way out of our hands. */
struct leaving {
	pid_t tid;
	uint64_t mask; ///< of blocked signals, as it was
	bool has_mask;
	bool is_stopped; ///< the process is in a group stop
};

/** A signal that is ours to drop: the kernel side's SIGSTOP, and a trapped instruction,
 * which is executed again. */
static bool is_ours(const siginfo_t *si)
{
	return si->si_code == SI_KERNEL &&
	       (si->si_signo == SIGSTOP || si->si_signo == SIGSEGV);
}

/** Keep every signal away from it. @return whether it is in a stop, where that works. */
static bool block_signals(struct leaving *l)
{
	uint64_t all = ~0ull;

	if (!l->has_mask &&
	    ptrace(PTRACE_GETSIGMASK, l->tid, KERNEL_SIGSET_BYTES, &l->mask))
		return false;
	l->has_mask = true;
	return !ptrace(PTRACE_SETSIGMASK, l->tid, KERNEL_SIGSET_BYTES, &all);
}

/** From stop @p status on. @return whether that is where it rests. */
static bool lead_on(struct leaving *l, int status)
{
	int signo = status >> 16 ? 0 : WSTOPSIG(status);
	siginfo_t si;

	block_signals(l);
	if (status >> 16 == PTRACE_EVENT_STOP) {
		l->is_stopped = WSTOPSIG(status) != SIGTRAP;
		return true;
	}
	if (signo && !ptrace(PTRACE_GETSIGINFO, l->tid, NULL, &si) && is_ours(&si))
		signo = 0;
	// Blocked by now: the kernel queues it again.
	ptrace(PTRACE_CONT, l->tid, NULL, (long)signo);
	return false;
}

/** Bring it to a stop outside everything. @return whether it is still there. */
static bool bring_to_rest(struct leaving *l)
{
	bool was_stopped = block_signals(l);
	int status = 0;
	pid_t got;

	if (ptrace(PTRACE_INTERRUPT, l->tid, NULL, NULL))
		return false;
	// A stop that was waited for already is reported no more: it rests there.
	if (was_stopped)
		got = waitpid(l->tid, &status, __WALL | WNOHANG);
	else
		got = ptc_wait(l->tid, &status);
	if (was_stopped && !got)
		return true;
	while (got == l->tid && WIFSTOPPED(status)) {
		if (lead_on(l, status))
			return true;
		got = ptc_wait(l->tid, &status);
	}
	return false;
}

static struct err *release_thread(struct leaving *l, uint64_t at)
{
	struct err *err = NULL;

	// Already ours: a second time is refused, and harmless.
	if (ptrace(PTRACE_SEIZE, l->tid, NULL, NULL) && tracer_of(l->tid) != getpid())
		return ptc_is_ended(l->tid, l->tid) ?
			       NULL :
			       err_errno("cannot trace thread %d", l->tid);
	if (!bring_to_rest(l))
		return NULL;
	if (at)
		err = ptc_allow_chance(l->tid, at, true);
	ptrace(PTRACE_SETSIGMASK, l->tid, KERNEL_SIGSET_BYTES, &l->mask);
	ptrace(PTRACE_DETACH, l->tid, NULL, NULL);
	return err;
}

/** The vDSO's syscall instruction, or @p known where there is no vDSO. */
static uint64_t syscall_of(pid_t pid, uint64_t known)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_(ptc_tracee_close) struct ptc_tracee t = { .pid = pid, .mem_fd = -1 };
	_cleanup_err_ struct err *err = ptc_maps_read(pid, &maps);

	if (!err)
		err = ptc_tracee_open(&t);
	return (err ? 0 : ptc_find_syscall(&t, &maps)) ?: known;
}

/** Release the threads that are not in @p done. @return whether there was one. */
static bool release_new(pid_t pid, uint64_t at, ptc_tids *done, bool *is_stopped,
			struct err **err)
{
	_cleanup_(ptc_tids_deinit) ptc_tids now = {};
	bool found = false;

	ptc_tids_read(pid, &now);
	for (size_t i = 0; i < now.size; i++) {
		struct leaving l = { .tid = now.data[i] };
		pid_t *slot = contains(done, l.tid) ? NULL : vec_push(done);
		struct err *one;

		if (!slot)
			continue;
		*slot = l.tid;
		found = true;
		one = release_thread(&l, at);
		*is_stopped |= l.is_stopped;
		if (*err)
			err_destroy(one);
		else
			*err = one;
	}
	return found;
}

struct err *ptc_release(pid_t pid, uint64_t syscall_at, bool *is_stopped)
{
	uint64_t at = syscall_of(pid, syscall_at);
	struct err *err = NULL;
	_cleanup_(ptc_tids_deinit) ptc_tids done = {};
	int passes = 0;

	*is_stopped = false;
	// A thread that is not yet released may make another one.
	while (release_new(pid, at, &done, is_stopped, &err) && passes++ < PASSES_MAX)
		;
	for (size_t i = done.size; i-- > 0;)
		waitpid(done.data[i], NULL, __WALL | WNOHANG); // those that ended
	return err;
}

bool ptc_seize(pid_t pid)
{
	_cleanup_(ptc_tids_deinit) ptc_tids threads = {};
	bool is_all = true;

	ptc_tids_read(pid, &threads);
	for (size_t i = 0; i < threads.size; i++) {
		pid_t tid = threads.data[i];

		if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) && errno == EPERM &&
		    tracer_of(tid) != getpid() && !ptc_is_ended(tid, tid))
			is_all = false;
	}
	return is_all;
}

/** Children of one thread. */
static void list_children(pid_t pid, pid_t tid, ptc_tids *list)
{
	_cleanup_fclose_ FILE *f = NULL;
	char path[64];
	int child;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1) {
		pid_t *slot = vec_push(list);

		if (slot)
			*slot = child;
	}
}

void ptc_release_children(pid_t pid)
{
	_cleanup_(ptc_tids_deinit) ptc_tids threads = {}, children = {};

	ptc_tids_read(pid, &threads);
	for (size_t i = 0; i < threads.size; i++)
		list_children(pid, threads.data[i], &children);
	for (size_t i = 0; i < children.size; i++) {
		_cleanup_err_ struct err *err = NULL;
		bool is_stopped;

		ptc_release_children(children.data[i]);
		if (tracer_of(children.data[i]) == 0)
			err = ptc_release(children.data[i], 0, &is_stopped);
		if (err)
			log_info("%s", err->message);
	}
}
