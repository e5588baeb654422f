// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Children of the program. Each is followed (follow.c), or gets its rdtsc and cpuid
 * back and is let go. The kernel reports the parent's event and the child's first stop in
 * either order; the child goes on only when both are in.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "pt-collect/inputs/assemble.h"
#include "pt-collect/inputs/chaos.h"
#include "pt-collect/inputs/files.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/pt/record.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/tracee.h"

#define AWAIT_NS 5000000000ull ///< frozen, or the machine is: it is not waited for
#define AWAIT_NAP_NS 100000

static struct ptc_child *find_child(struct ptc_family *f, pid_t pid)
{
	struct ptc_child *c = vec_find(&f->children, known, known->pid == pid);

	if (!c && (c = vec_push(&f->children)))
		c->pid = pid;
	return c;
}

/** A thread of process @p pid, not a process of its own? */
static bool is_thread(pid_t pid, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, tid);
	return !access(path, F_OK);
}

static void start_thread(struct ptc_family *f, struct ptc_process *p,
			 const struct ptc_child *c)
{
	pid_t tid = c->pid;
	struct ptc_thread *t = ptc_thread_find(p, tid);

	if (t) {
		t->is_attached = true;
		ptc_unseen_begin(t, &c->unseen);
		// Its creator may not have come to trap again.
		t->unseen.owes_trap = p->tsc.was_probed && !p->tsc.is_probed;
		ptc_unseen_our_stop(p, t);
	}
	ptc_pt_thread_born(&p->pt, tid);
	ptc_chaos_add(f->chaos, tid);
	ptc_chaos_go_on(f->chaos, tid);
}

void ptc_child_free(pid_t child, const struct ptc_unseen *unseen)
{
	struct user_regs_struct u;
	// It just made the call that created it: a syscall instruction is there.
	_cleanup_err_ struct err *err = ptc_get_regs(child, &u);

	if (!err)
		err = ptc_set_chance(child, u.rip - 2, !unseen->forbids_tsc,
				     !unseen->forbids_cpuid);
	if (err)
		log_info("child %d: %s", child, err->message);
	ptrace(PTRACE_DETACH, child, NULL, NULL);
}

uint64_t ptc_child_flags(pid_t child)
{
	struct user_regs_struct u;
	uint64_t flags;

	if (ptrace(PTRACE_GETREGS, child, NULL, &u))
		return 0;
	switch (u.orig_rax) {
	case __NR_vfork:
		return CLONE_VFORK | CLONE_VM;
	case __NR_clone:
		return u.rdi;
	case __NR_clone3: {
		// The first member of struct clone_args.
		errno = 0;
		flags = ptrace(PTRACE_PEEKDATA, child, (void *)u.rdi, NULL);
		return errno ? 0 : flags;
	}
	}
	return 0;
}

/** At the end of stopped @p child the kernel zeroes a word of its memory, which is that of @p p. */
static void watch_tid(struct ptc_process *p, pid_t child)
{
	struct user_regs_struct u;
	uint64_t at = 0;

	if (ptrace(PTRACE_GETREGS, child, NULL, &u))
		return;
	if (u.orig_rax == __NR_clone)
		at = u.r10;
	else if (ptc_read_some(&p->tracee, u.rdi + offsetof(struct clone_args, child_tid),
			       &at, sizeof(at)) != sizeof(at))
		return;
	ptc_shared_watch(p, at & ~7ull, 8);
}

/** Both sides are in: follow it, or let it go. */
static void release(struct ptc_family *f, struct ptc_child *entry)
{
	struct ptc_child c = *entry;
	struct ptc_process *p = ptc_process_of(f->all, c.parent);
	uint64_t flags;

	*entry = f->children.data[--f->children.size];
	if (p && is_thread(c.parent, c.pid)) {
		start_thread(f, p, &c);
		return;
	}
	if (p)
		ptc_threads_release(p, c.pid);
	flags = ptc_child_flags(c.pid);
	if (p && flags & CLONE_VM && !(flags & CLONE_VFORK))
		ptc_log_gap(&p->log, c.parent,
			    "process %d runs in the program's memory: what it writes "
			    "there is not recorded",
			    c.pid);
	if (p && p->is_joined && flags & CLONE_VM && flags & CLONE_CHILD_CLEARTID)
		watch_tid(p, c.pid);
	if (f->all->follows)
		ptc_follow(f, &c, flags & CLONE_VM);
	else
		ptc_child_free(c.pid, &c.unseen);
}

void ptc_child_stopped(struct ptc_family *f, pid_t pid)
{
	struct ptc_child *c = find_child(f, pid);

	if (!c)
		return;
	c->has_stopped = true;
	if (c->parent)
		release(f, c);
}

/** Say in the log of @p p that it shares memory with a child. */
static void tell_shared(struct ptc_process *p, pid_t tid)
{
	_cleanup_(ptc_maps_deinit) struct ptc_maps maps = {};
	_cleanup_err_ struct err *err = ptc_maps_read(p->tracee.pid, &maps);
	bool has_told = false;

	for (size_t i = 0; !err && i < maps.list.size; i++) {
		const struct ptc_map *m = maps.list.data[i];
		const char *how;

		if (!ptc_is_shared_memory(m) && !ptc_through_is_shared(p, m))
			continue;
		how = ptc_shared_watch(p, m->start, m->end - m->start);
		if (!has_told)
			ptc_log_gap(&p->log, tid,
				    "a child shares memory at 0x%llx (%s): what it "
				    "writes there is %s",
				    (unsigned long long)m->start, m->name, how);
		has_told = true;
	}
}

/** @p p is making a child by its thread @p tid, which may be killed meanwhile. */
static void join(struct ptc_process *p, pid_t tid)
{
	struct err *err = ptc_joint_fork(p, tid, false);

	if (err && ptc_is_killed(tid))
		err_destroy(err);
	else if (err)
		ptc_log_fail(&p->log, err);
}

void ptc_child_created(struct ptc_family *f, struct ptc_process *p, pid_t parent,
		       unsigned event, pid_t child)
{
	const struct ptc_thread *t = ptc_thread_find(p, parent);
	_cleanup_err_ struct err *err = NULL;
	struct ptc_child *c;

	if (event == PTRACE_EVENT_VFORK)
		ptc_vfork_created(p, parent);
	else if (!is_thread(p->tracee.pid, child) && f->all->follows)
		join(p, parent);
	else if (!is_thread(p->tracee.pid, child))
		tell_shared(p, parent);
	else if ((err = ptc_threads_begin(p, parent)))
		ptc_log_fail(&p->log, take_ptr(&err));
	else
		ptc_chaos_add(f->chaos, child);
	c = find_child(f, child);
	if (!c)
		return;
	c->parent = p->tracee.pid;
	c->parent_index = p->index;
	c->event = event;
	c->n_frames = t ? t->n_frames : 0;
	if (t)
		c->unseen = t->unseen;
	if (c->has_stopped)
		release(f, c);
	// Before its parent knows of it, which may want to trace it.
	else if (!f->all->follows && !is_thread(p->tracee.pid, child))
		ptc_child_await(f, p);
}

void ptc_child_ended(struct ptc_family *f, pid_t child)
{
	for (size_t i = 0; i < f->children.size; i++)
		if (f->children.data[i].pid == child)
			f->children.data[i--] = f->children.data[--f->children.size];
}

void ptc_child_await(struct ptc_family *f, const struct ptc_process *p)
{
	struct timespec nap = { .tv_nsec = AWAIT_NAP_NS };
	uint64_t until_ns = ptc_now_ns() + AWAIT_NS;
	size_t i = 0;

	while (i < f->children.size) {
		const struct ptc_child *c = &f->children.data[i];
		pid_t pid = c->pid, got;
		int status;

		if (c->parent != p->tracee.pid || c->has_stopped) {
			i++;
			continue;
		}
		got = waitpid(pid, &status, __WALL | WNOHANG);
		if (got > 0) {
			f->all->take(f->all->session, pid, status);
		} else if (got < 0) {
			ptc_child_ended(f, pid);
		} else if (ptc_now_ns() > until_ns) {
			log_warn("child %d does not begin to run", pid);
			return;
		} else {
			nanosleep(&nap, NULL);
		}
	}
}

void ptc_child_await_ends(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, __WALL)) > 0) {
		bool is_signal = WIFSTOPPED(status) && !(status >> 16);
		siginfo_t si;

		// The kernel side asked for time.
		if (is_signal && !ptrace(PTRACE_GETSIGINFO, pid, NULL, &si) &&
		    si.si_signo == SIGSTOP && si.si_code == SI_KERNEL)
			is_signal = false;
		if (WIFSTOPPED(status))
			ptrace(PTRACE_DETACH, pid, NULL,
			       (long)(is_signal ? WSTOPSIG(status) : 0));
	}
}

void ptc_child_orphans(struct ptc_family *f, uint32_t index)
{
	for (size_t i = 0; i < f->children.size; i++) {
		struct ptc_child *c = &f->children.data[i];
		const struct ptc_process *p;

		// Killed before it ran: its end came before its parent's event.
		if (!c->has_stopped && kill(c->pid, 0) && errno == ESRCH) {
			f->children.data[i--] = f->children.data[--f->children.size];
			continue;
		}
		if (!c->has_stopped || c->parent)
			continue;
		p = ptc_process_of(f->all, ptc_stat_number(c->pid, PTC_STAT_PARENT));
		if (p && !p->has_ended)
			continue; // its event is on its way
		c->parent_index = index;
		c->event = PTRACE_EVENT_FORK;
		release(f, c);
		i--;
	}
}
