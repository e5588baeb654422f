// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bringing all threads of a running process to a stop outside everything. The list of
 * threads is read again until it has no new one: only a thread that still runs can make
 * another.
 *
 * PTRACE_INTERRUPT makes a blocking system call return early, as a signal would; what the
 * call does then is in attach.c.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/tracee/place.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/undo.h"

#define WAIT_NS 5000000000ull ///< a thread that does not stop in this time never will
#define NAP_NS 50000
#define ASK_AGAIN_NS 5000000ull ///< a stop may have been taken by who waited for another
#define STOPS_MAX 50		///< others may keep us busy for ever

/** Ours already: it is past the stop at its end, or new and not announced yet. */
static bool is_ours_already(pid_t pid, pid_t tid)
{
	return ptc_status_number(pid, tid, "TracerPid", 10) == (uint64_t)getpid();
}

/** Trace thread @p t, new to us. @return false when it has ended, or is not settled. */
static bool seize(struct ptc_process *p, struct ptc_thread *t, bool *is_unsettled,
		  struct err **err)
{
	if (t->is_attached)
		return true;
	if (ptrace(PTRACE_SEIZE, t->tid, NULL, NULL)) {
		struct err *why = err_errno("thread %d refuses to be traced", t->tid);
		bool has_ended = ptc_is_ended(p->tracee.pid, t->tid);

		if (!has_ended && !is_ours_already(p->tracee.pid, t->tid)) {
			*err = ptc_place_explain_ptrace(why);
			return false;
		}
		err_destroy(why);
		*is_unsettled |= !has_ended;
		return false;
	}
	t->is_attached = true;
	return true;
}

/** Ask every thread that is not known yet to stop. @return whether there were some, or
 * some will be known soon (@p is_unsettled). */
static bool ask_threads(struct ptc_process *p, bool *is_unsettled, struct err **err)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};
	size_t n = 0;

	*is_unsettled = false;
	ptc_tids_read(p->tracee.pid, &tids);
	for (size_t i = 0; i < tids.size && !*err; i++) {
		struct ptc_thread *t = ptc_thread_find(p, tids.data[i]);

		if (!t) {
			*err = &err_nomem;
		} else if (!t->is_asked && seize(p, t, is_unsettled, err)) {
			t->is_asked = !ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
			n += t->is_asked;
		}
	}
	return n || *is_unsettled;
}

static void ask_again(const struct ptc_process *p)
{
	for (size_t i = 0; i < p->threads.size; i++)
		if (p->threads.data[i]->is_asked && !p->threads.data[i]->is_at_rest)
			ptrace(PTRACE_INTERRUPT, p->threads.data[i]->tid, NULL, NULL);
}

static bool all_rest(const struct ptc_process *p)
{
	return !vec_find(&p->threads, t, (*t)->is_asked && !(*t)->is_at_rest);
}

static void on_end(struct ptc_process *p, struct ptc_thread *t, int status)
{
	t->is_attached = t->is_asked = t->is_at_rest = false;
	if (t->tid == p->tracee.pid) {
		p->has_ended = true;
		p->wait_status = status;
	}
}

/** The calls that a thread is about to make for us are not its own: no seccomp filter of it
 * may forbid them, or kill it for them. */
static void on_rest(struct ptc_process *p, struct ptc_thread *t, int status)
{
	bool is_filtered = ptc_status_number(p->tracee.pid, t->tid, "Seccomp", 10);

	t->is_at_rest = true;
	t->is_in_group_stop = WSTOPSIG(status) != SIGTRAP;
	t->is_filtered = is_filtered && ptrace(PTRACE_SETOPTIONS, t->tid, NULL,
					       PTRACE_O_SUSPEND_SECCOMP);
}

/** A signal that only recording makes, and that a recorder which died left: a request for
 * time, or a trapped instruction, which is executed again. */
static bool is_ours(pid_t tid)
{
	siginfo_t si;

	return ptc_undo_pid() && !ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) &&
	       si.si_code == SI_KERNEL &&
	       (si.si_signo == SIGSTOP || si.si_signo == SIGSEGV);
}

/** Those that are asked come first: the kernel would always report the same others, when
 * they stop often. @return as waitpid(). */
static pid_t wait_any(const struct ptc_process *p, int *status)
{
	for (size_t i = 0; i < p->threads.size; i++) {
		const struct ptc_thread *t = p->threads.data[i];
		pid_t tid = t->is_asked && !t->is_at_rest ?
				    waitpid(t->tid, status, __WALL | WNOHANG) :
				    0;

		if (tid > 0)
			return tid;
	}
	return waitpid(-1, status, __WALL | WNOHANG);
}

/** @return whether there was something. */
static bool take_stop(struct ptc_process *p, bool is_recorded)
{
	struct ptc_thread *t;
	int status;
	pid_t tid = wait_any(p, &status);

	if (tid <= 0)
		return false;
	t = ptc_process_of(p->all, tid) == p ? ptc_thread_find(p, tid) : NULL;
	if (t && t->is_asked && WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP) {
		on_rest(p, t, status);
	} else if (t && !WIFSTOPPED(status)) {
		on_end(p, t, status);
	} else if (is_recorded) {
		p->all->take(p->all->session, tid, status);
		// Leading it into a handler may have used up our request.
		if (t && t->is_asked && !t->is_at_rest)
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	} else {
		// A signal of its own on the way: it gets it first.
		ptrace(PTRACE_CONT, tid, NULL,
		       (long)(status >> 16 || is_ours(tid) ? 0 : WSTOPSIG(status)));
	}
	return true;
}

/** Take stops until @p p rests, or there is none, or many. @return whether there was none. */
static bool take_stops(struct ptc_process *p, bool is_recorded, bool is_unsettled)
{
	for (int n = 0; n < STOPS_MAX; n++) {
		if (p->has_ended || (all_rest(p) && !is_unsettled))
			return false;
		if (!take_stop(p, is_recorded))
			return true;
	}
	return false;
}

struct err *ptc_freeze(struct ptc_process *p, bool is_recorded)
{
	uint64_t now_ns = ptc_now_ns(), until_ns = now_ns + WAIT_NS, asked_ns = now_ns;
	struct timespec nap = { .tv_nsec = NAP_NS };
	struct err *err = NULL;
	bool is_unsettled;

	while (!err && !p->has_ended) {
		if (!ask_threads(p, &is_unsettled, &err) && all_rest(p))
			break;
		if (take_stops(p, is_recorded, is_unsettled))
			nanosleep(&nap, NULL);
		now_ns = ptc_now_ns();
		if (now_ns - asked_ns > ASK_AGAIN_NS) {
			asked_ns = now_ns;
			ask_again(p);
		}
		if (now_ns > until_ns)
			err = err_new(ERR_OS, "a thread of it does not stop (it waits "
					      "for a device, or for a vfork child)");
	}
	if (!err && p->has_ended)
		err = err_new(ERR_NOT_FOUND, "it has just ended");
	return err;
}

/** Signals that may be ours are on their way to @p t? */
static bool has_ours(const struct ptc_process *p, const struct ptc_thread *t)
{
	uint64_t pending = ptc_status_number(p->tracee.pid, t->tid, "SigPnd", 16);

	return pending & (1ull << (SIGSTOP - 1) | 1ull << (SIGSEGV - 1));
}

/** What the next stop of @p t has it take: nothing, if that is a signal of ours. */
static long to_deliver(const struct ptc_thread *t, int status)
{
	return status >> 16 || is_ours(t->tid) ? 0 : WSTOPSIG(status);
}

void ptc_drop_signals(struct ptc_process *p, struct ptc_thread *t)
{
	long signo = 0;
	int status;

	// Each is taken from the queue without an instruction executed between; others that
	// are before it in the queue are delivered.
	while (has_ours(p, t) || signo) {
		if (ptrace(PTRACE_CONT, t->tid, NULL, signo) ||
		    ptc_wait(t->tid, &status) != t->tid || !WIFSTOPPED(status))
			return;
		signo = to_deliver(t, status);
		if (signo && !has_ours(p, t)) {
			ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
			continue;
		}
	}
}

void ptc_thaw(struct ptc_process *p, bool is_leaving, unsigned long options)
{
	for (size_t i = 0; i < p->threads.size; i++) {
		struct ptc_thread *t = p->threads.data[i];

		if (!t->is_at_rest)
			continue;
		t->is_asked = t->is_at_rest = false;
		if (is_leaving) {
			ptrace(PTRACE_DETACH, t->tid, NULL, (long)t->held_signal);
			t->is_attached = false;
		} else {
			ptrace(PTRACE_SETOPTIONS, t->tid, NULL, options);
			ptrace(t->is_in_group_stop ? PTRACE_LISTEN : PTRACE_CONT, t->tid,
			       NULL, (long)t->held_signal);
		}
		t->held_signal = 0;
	}
}
