// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Programs with threads. From the first clone on, all threads share one CPU, and the
 * kernel side says whenever another one gets it (record_sched_switch): what one thread
 * does is then strictly before or after what another does, and the log has that order
 * (doc/threads.md; pending.c for what ptrace stops tell).
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/place.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/tracee/wards.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/undo.h"

/* ---- one CPU ------------------------------------------------------------------------- */

/** Call sched_setaffinity() for every thread that there is. */
static struct err *set_affinity(struct ptc_process *p, const cpu_set_t *cpus)
{
	_cleanup_(ptc_tids_deinit) ptc_tids tids = {};

	if (!ptc_tids_read(p->tracee.pid, &tids))
		return err_errno("cannot list the program's threads");
	for (size_t i = 0; i < tids.size; i++)
		if (sched_setaffinity(tids.data[i], sizeof(*cpus), cpus) &&
		    errno != ESRCH)
			return err_errno("cannot bind thread %d to one CPU",
					 tids.data[i]);
	return NULL;
}

/** One of @p allowed, and not the one that we run on when there is a choice. */
static int choose_cpu(const cpu_set_t *allowed)
{
	int here = sched_getcpu(), found = -1;

	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, allowed) && (found < 0 || found == here))
			found = i;
	return found;
}

static struct err *bind_to_cpu(struct ptc_process *p, int cpu)
{
	cpu_set_t one;

	if (sched_getaffinity(p->tracee.pid, sizeof(p->affinity), &p->affinity))
		return err_errno("cannot read the program's CPU affinity");
	if (cpu < 0)
		cpu = choose_cpu(&p->affinity);
	if (cpu < 0)
		return err_new(ERR_UNSUPPORTED, "the program may run on no CPU");
	p->cpu = cpu;
	p->info.cpu.bound_to = cpu;
	p->info.cpu.bound_from = p->log.writer ? cap_writer_events(p->log.writer) : 0;
	ptc_wards_cpus(p->tracee.pid, &p->affinity);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	return set_affinity(p, &one);
}

void ptc_threads_chose_cpus(struct ptc_process *p, pid_t caller, pid_t tid)
{
	cpu_set_t chosen, one;

	// In a program that we started the call does nothing (start/launch.c).
	if (!p->all->is_attached)
		return;
	tid = tid ?: caller;
	if (ptc_process_of(p->all, tid) != p ||
	    sched_getaffinity(tid, sizeof(chosen), &chosen))
		return;
	if (!p->index)
		ptc_undo_cpus(tid, &chosen);
	if (!p->has_threads)
		return;
	CPU_ZERO(&one);
	CPU_SET(p->cpu, &one);
	if (sched_setaffinity(tid, sizeof(one), &one) || !CPU_ISSET(p->cpu, &chosen))
		ptc_log_gap(
			&p->log, caller,
			"thread %d was moved to another CPU (sched_setaffinity): for a "
			"moment it may have run at the same time as others",
			tid);
}

/* ---- beginning and end --------------------------------------------------------------- */

/** @p running ran last, and stands at @p regs. @p cpu: -1, any. */
static struct err *begin(struct ptc_process *p, pid_t running, struct cap_regs regs,
			 uint32_t flags, int cpu)
{
	struct rec_switch last = {
		.head = { .kind = REC_SWITCH, .tgid = p->tracee.pid, .tid = running },
		.signature = { CAP_SIGNATURE_SEED, CAP_SIGNATURE_SEED, 0, 0 },
		.flags = flags,
	};
	struct err *err;

	memcpy(&last.regs, &regs, sizeof(last.regs));
	err = bind_to_cpu(p, cpu);
	if (!err)
		err = ptc_bpf_watch_threads(p->all->bpf, &last);
	p->has_threads = true;
	p->running = running;
	if (!err && ptc_place_loses_calls())
		ptc_log_gap(
			&p->log, running,
			"on this kernel system calls of threads may go unseen (Linux 7: "
			"doc/kernels.md)");
	if (err)
		ptc_threads_end(p); // some may be bound already
	return err;
}

struct err *ptc_threads_begin(struct ptc_process *p, pid_t running)
{
	struct user_regs_struct u;
	struct cap_regs regs;
	struct err *err;

	// Then it may be that another thread ended the program, and this one is gone.
	if (p->has_threads)
		return NULL;
	err = ptc_get_regs(running, &u);
	if (err)
		return err;
	regs = ptc_to_cap(&u);
	regs.gpr[CAP_RAX] = u.orig_rax;
	return begin(p, running, regs, REC_SWITCH_IN_CALL, -1);
}

struct err *ptc_threads_attach(struct ptc_process *p, pid_t first)
{
	struct user_regs_struct u;
	struct err *err = ptc_get_regs(first, &u);

	// Inside a call that was cut short? Then the event of that is held, and tells.
	return err ?: begin(p, first, ptc_to_cap(&u), 0, -1);
}

/** Its threads have a CPU, which is not that of the processes that it joins. */
static struct err *move(struct ptc_process *p, pid_t tid, int cpu)
{
	cpu_set_t one;

	if (p->cpu == cpu)
		return NULL;
	p->cpu = p->info.cpu.bound_to = cpu;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (p->threads.size > 1)
		ptc_log_gap(&p->log, tid,
			    "its threads are moved to the CPU of other processes: for a "
			    "moment some may have run at the same time");
	return set_affinity(p, &one);
}

struct err *ptc_threads_join(struct ptc_process *p, pid_t running,
			     const struct cap_regs *regs, uint32_t flags)
{
	int *cpu = &p->all->joint_cpu;
	struct err *err;

	if (p->is_joined)
		return NULL;
	err = !p->has_threads ? begin(p, running, *regs, flags, *cpu) :
	      *cpu >= 0	      ? move(p, running, *cpu) :
				NULL;
	if (err)
		return err;
	*cpu = p->cpu;
	p->is_joined = true;
	ptc_bpf_join(p->all->bpf, p->tracee.pid);
	return NULL;
}

void ptc_threads_end(struct ptc_process *p)
{
	_cleanup_err_ struct err *err = NULL;

	if (!p->has_threads)
		return;
	p->has_threads = p->is_joined = false;
	p->joints.size = 0;
	ptc_bpf_unwatch_threads(p->all->bpf, p->tracee.pid);
	err = set_affinity(p, &p->affinity);
	if (err)
		log_debug("%s", err->message);
}

void ptc_threads_release(const struct ptc_process *p, pid_t child)
{
	if (p->has_threads && sched_setaffinity(child, sizeof(p->affinity), &p->affinity))
		log_info("child %d stays on one CPU: %s", child, strerror(errno));
}

void ptc_threads_left_log(struct ptc_process *p)
{
	pid_t tid = p->has_threads ? p->running : p->tracee.pid;
	struct ptc_thread *t = ptc_thread_find(p, tid);
	struct cap_event ev = { .kind = CAP_EV_SWITCH, .tid = tid, .next_tid = tid };
	_cleanup_err_ struct err *err = NULL;
	struct user_regs_struct u;

	if (!t || !t->is_at_rest || t->has_held || t->has_exited || p->has_ended)
		return;
	err = ptc_get_regs(tid, &u);
	if (err)
		return;
	ptc_pending_flush(p, t);
	ev.at_ns = ptc_now_ns();
	ev.regs = ptc_to_cap(&u);
	ev.signature = ptc_signature_read(p->tracee.pid, &ev.regs);
	ptc_log_event(&p->log, &ev);
}

/* ---- the end of one --------------------------------------------------------------------- */

void ptc_threads_end_log(struct ptc_process *p, struct ptc_thread *t,
			 const struct cap_regs *regs, int status)
{
	struct cap_event ev = {
		.kind = CAP_EV_EXIT, .tid = t->tid, .at_ns = ptc_now_ns(), .exit_code = -1
	};

	if (t->has_exited)
		return;
	if (t->is_killed)
		regs = &t->killed_at;
	ev.regs = *regs;
	ptc_pending_settle(p, t, true);
	t->has_exited = true;
	if (WIFEXITED(status)) {
		ev.exit_code = WEXITSTATUS(status);
	} else if (WTERMSIG(status) == SIGKILL) {
		// Never delivered, so not logged yet.
		struct cap_event kill = { .kind = CAP_EV_SIGNAL,
					  .tid = t->tid,
					  .at_ns = ev.at_ns,
					  .signo = SIGKILL,
					  .is_fatal = true,
					  .regs = *regs };

		ptc_pending_log(p, t, &kill, NULL);
	}
	ptc_pending_log(p, t, &ev, NULL);
}

void ptc_threads_gone(struct ptc_process *p, struct ptc_thread *t,
		      const struct cap_regs *regs, int status)
{
	ptc_threads_end_log(p, t, regs, status);
	ptc_pending_flush(p, t);
}

static void forget(struct ptc_process *p, size_t i)
{
	ptc_thread_destroy(p->threads.data[i]);
	p->threads.data[i] = p->threads.data[--p->threads.size];
}

/** The ring does not tell any more where thread @p i ended. */
static void end_unseen(struct ptc_process *p, size_t i, int status)
{
	struct ptc_thread *t = p->threads.data[i];

	ptc_threads_gone(p, t, &(struct cap_regs){}, t->is_reaped ? t->status : status);
	forget(p, i);
}

void ptc_threads_left(struct ptc_process *p, const struct ptc_thread *t)
{
	for (size_t i = 0; t->is_reaped && i < p->threads.size; i++)
		if (p->threads.data[i] == t) {
			forget(p, i);
			return;
		}
}

static void reaped(struct ptc_process *p, size_t i, int status)
{
	struct ptc_thread *t = p->threads.data[i];

	ptc_bpf_forget_thread(p->all->bpf, t->tid);
	ptc_pt_thread_gone(&p->pt, t->tid);
	if (t->tid == p->tracee.pid) {
		while (p->threads.size)
			end_unseen(p, p->threads.size - 1, status);
		return;
	}
	if (!p->has_threads || p->running != t->tid) {
		end_unseen(p, i, status);
		return;
	}
	// The switch away from it is still to come, and knows where it ended.
	t->is_reaped = true;
	t->is_attached = false;
	t->status = status;
}

void ptc_threads_reaped(struct ptc_processes *all, pid_t tid, int status)
{
	for (size_t i = 0; i < all->list.size; i++) {
		struct ptc_process *p = all->list.data[i];

		for (size_t k = 0; k < p->threads.size; k++)
			if (p->threads.data[k]->tid == tid &&
			    !p->threads.data[k]->is_reaped) {
				reaped(p, k, status);
				return;
			}
	}
}
