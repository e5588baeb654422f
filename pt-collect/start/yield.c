// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A process has one tracer. A followed one that another wants to trace (a debugger, strace, a
 * sandbox), or that wants to be traced, is left to it: its history ends there, and says so. The
 * call that was refused because of us is made again, by the thread that made it, and is logged
 * with what it gives then: for that thread nothing was refused.
 */
#define LOG_ROOM "record"
#include <sys/ptrace.h>

#include "pt-collect/inputs/files.h"
#include "pt-collect/kernel/bpf.h"
#include "pt-collect/start/follow.h"
#include "pt-collect/tracee/tracee.h"

/** Stopped @p t stands before the call again. */
static void make_again(const struct ptc_thread *t, struct user_regs_struct *u)
{
	u->rip -= 2;
	u->rax = u->orig_rax;
	u->orig_rax = -1;
	ptrace(PTRACE_SETREGS, t->tid, NULL, u);
}

static void tell(struct ptc_process *w)
{
	if (w->awaits_exec)
		ptc_log_fail(&w->log, err_new(ERR_UNSUPPORTED,
					      "another process traces it (ptrace)"));
	else
		ptc_log_gap(&w->log, w->tracee.pid,
			    "another process traces it from here on (ptrace): what it "
			    "does then is not recorded");
}

/** @p p, which is @p t, wants to be traced. */
static void leave_itself(struct ptc_family *f, struct ptc_process *p,
			 struct ptc_thread *t, struct user_regs_struct *u)
{
	uint32_t index = p->index;

	tell(p);
	ptc_joint_left(p);
	ptc_bpf_set_recorded(f->all->bpf, p->tracee.pid, false);
	err_destroy(ptc_set_chance(t->tid, u->rip - 2, !t->unseen.forbids_tsc,
				   !t->unseen.forbids_cpuid));
	make_again(t, u);
	ptrace(PTRACE_DETACH, t->tid, NULL, NULL);
	ptc_follow_ended(f, p);
	ptc_child_orphans(f, index);
}

static void leave_other(struct ptc_family *f, struct ptc_process *w)
{
	uint32_t index = w->index;

	f->all->is_yielding = true;
	tell(w);
	ptc_joint_left(w);
	ptc_leave(f, w);
	ptc_follow_ended(f, w);
	ptc_child_orphans(f, index);
	f->all->is_yielding = false;
}

bool ptc_yield(struct ptc_family *f, struct ptc_process *p, struct ptc_thread *t)
{
	struct ptc_process *w = t->wants ? ptc_process_of(f->all, t->wants) : NULL;
	struct user_regs_struct u;

	if (!t->wants)
		return false;
	t->wants = 0;
	if (ptc_get_regs(t->tid, &u))
		return false;
	if (w == p) {
		leave_itself(f, p, t, &u);
		return true;
	}
	// It is not announced yet; or threads of others stop while we leave one: these ask
	// again, until it is done.
	if (w && !f->all->is_yielding)
		leave_other(f, w);
	make_again(t, &u);
	return false;
}
