// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "record"
#include "pt-collect/inputs/unseen.h"

#include <asm/prctl.h>
#include <asm/unistd.h>
#include <errno.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/inputs/table.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/tracee/tracee.h"

#define SEGV_BIT (1ull << (SIGSEGV - 1))
#define RED_ZONE 128

static bool blocks_segv(pid_t tid)
{
	uint64_t mask = 0;

	return !ptrace(PTRACE_GETSIGMASK, tid, (void *)sizeof(mask), &mask) &&
	       mask & SEGV_BIT;
}

void ptc_unseen_begin(struct ptc_thread *t, const struct ptc_unseen *creator)
{
	struct ptc_unseen u = creator ? *creator : t->unseen;

	u.owes_trap = u.owes_result = u.has_made_code = false;
	// The kernel lets a new program execute cpuid, and not rdtsc.
	if (!creator)
		u.forbids_cpuid = false;
	u.is_segv_blocked = blocks_segv(t->tid);
	t->unseen = u;
}

void ptc_unseen_process(struct ptc_process *p, bool has_executed)
{
	pid_t pid = p->tracee.pid;
	bool is_ignored = ptc_status_number(pid, pid, "SigIgn", 16) & SEGV_BIT;
	bool is_handled = ptc_status_number(pid, pid, "SigCgt", 16) & SEGV_BIT;

	p->on_segv = (struct ptc_sigaction){
		.handler = (uint64_t)(is_ignored ? SIG_IGN : SIG_DFL)
	};
	p->knows_on_segv = has_executed || !is_handled;
}

/* ---- calls that it makes for us -------------------------------------------------------------- */

/** The ring will show calls of @p t that are not the program's. */
static void note_calls(struct ptc_thread *t)
{
	struct user_regs_struct u;

	if (!ptrace(PTRACE_GETREGS, t->tid, NULL, &u))
		t->unseen.stands = ptc_to_cap(&u);
}

static bool is_at(const struct ptc_process *p, uint64_t rip)
{
	return rip == p->tracee.syscall_at || rip == p->tracee.syscall_at + 2;
}

/** A switch in the midst of what we do with @p u's thread: it is one from where that stands for
 * the program. */
static void correct_switch(const struct ptc_process *p, const struct ptc_unseen *u,
			   struct rec_switch *s)
{
	if (u->stands.rip && is_at(p, s->regs.rip)) {
		memcpy(&s->regs, &u->stands, sizeof(s->regs));
		s->signature = (struct rec_signature){};
		s->flags &= ~REC_SWITCH_IN_CALL;
	} else if (s->regs.rip == u->result_rip && s->regs.gpr[CAP_RAX] == u->was) {
		s->regs.gpr[CAP_RAX] = u->result;
	}
}

bool ptc_unseen_is_ours(const struct ptc_process *p, struct ptc_thread *t,
			struct rec_head *head)
{
	const struct rec_syscall *e = (const struct rec_syscall *)head;

	if (head->kind == REC_SWITCH)
		correct_switch(p, &t->unseen, (struct rec_switch *)head);
	if (head->kind != REC_SYSCALL)
		return false;
	t->unseen.result_rip = 0;
	return e->regs.gpr[CAP_R9] == REC_OURS && is_at(p, e->regs.rip);
}

/* ---- calls that tell of us ---------------------------------------------------------------- */

static void give_result(struct ptc_thread *t, struct cap_event *ev, uint64_t result)
{
	t->unseen.result_rip = ev->regs.rip;
	t->unseen.was = ev->ret;
	ev->ret = t->unseen.result = result;
	t->unseen.owes_result = true;
}

/** Without us its filters would be one less. */
static uint64_t seccomp_mode(const struct ptc_process *p, pid_t tid)
{
	const char *field = "Seccomp_filters";
	uint64_t ours = ptc_status_number(getpid(), getpid(), field, 10);

	if (!p->all->is_attached)
		ours++;
	if (ptc_status_number(p->tracee.pid, tid, field, 10) > ours)
		return SECCOMP_MODE_FILTER;
	return prctl(PR_GET_SECCOMP);
}

static void on_prctl(struct ptc_process *p, struct ptc_thread *t, uint64_t arg,
		     const struct rec_syscall *e, struct cap_event *ev)
{
	int mode = t->unseen.forbids_tsc ? PR_TSC_SIGSEGV : PR_TSC_ENABLE;

	switch (e->regs.gpr[CAP_RDI]) {
	case PR_SET_TSC:
		t->unseen.forbids_tsc = arg == PR_TSC_SIGSEGV;
		t->unseen.owes_trap |= arg == PR_TSC_ENABLE;
		return;
	case PR_GET_TSC:
		err_destroy(ptc_write(&p->tracee, arg, &mode, sizeof(mode)));
		ptc_writes_clear(&t->now);
		ptc_outputs_add(&p->tracee, &t->now, arg, sizeof(mode));
		return;
	case PR_GET_SECCOMP:
		give_result(t, ev, seccomp_mode(p, t->tid));
		return;
	}
}

static void on_arch_prctl(struct ptc_thread *t, uint64_t arg, const struct rec_syscall *e,
			  struct cap_event *ev)
{
	if (e->regs.gpr[CAP_RDI] == ARCH_GET_CPUID)
		give_result(t, ev, !t->unseen.forbids_cpuid);
	if (e->regs.gpr[CAP_RDI] != ARCH_SET_CPUID)
		return;
	t->unseen.forbids_cpuid = !arg;
	t->unseen.owes_trap |= arg != 0;
}

bool ptc_unseen_call(struct ptc_process *p, struct ptc_thread *t,
		     const struct rec_syscall *e, struct cap_event *ev)
{
	uint64_t arg = e->regs.gpr[CAP_RSI];

	switch (e->nr) {
	case __NR_prctl:
		on_prctl(p, t, arg, e, ev);
		return true;
	case __NR_arch_prctl:
		on_arch_prctl(t, arg, e, ev);
		return true;
	case __NR_rt_sigaction:
		p->knows_on_segv =
			ptc_read_some(&p->tracee, arg, &p->on_segv, sizeof(p->on_segv)) ==
			sizeof(p->on_segv);
		return true;
	}
	return false;
}

void ptc_unseen_stopped(struct ptc_thread *t)
{
	struct user_regs_struct u;

	if (!t->unseen.owes_result || ptrace(PTRACE_GETREGS, t->tid, NULL, &u))
		return;
	t->unseen.owes_result = false;
	u.rax = t->unseen.result;
	ptrace(PTRACE_SETREGS, t->tid, NULL, &u);
}

void ptc_unseen_our_stop(struct ptc_process *p, struct ptc_thread *t)
{
	_cleanup_err_ struct err *err = NULL;

	if (!t->unseen.owes_trap)
		return;
	t->unseen.owes_trap = false;
	note_calls(t);
	err = ptc_allow_chance(t->tid, p->tracee.syscall_at, false);
	if (err)
		log_info("thread %d: %s", t->tid, err->message);
}

void ptc_unseen_allow_tsc(struct ptc_process *p, struct ptc_thread *t)
{
	_cleanup_err_ struct err *err = NULL;

	note_calls(t);
	err = ptc_set_chance(t->tid, p->tracee.syscall_at, true, false);
	if (err)
		log_info("thread %d: %s", t->tid, err->message);
}

/* ---- SIGSEGV -------------------------------------------------------------------------------- */

void ptc_unseen_mask(struct ptc_thread *t, const struct rec_syscall *e)
{
	if (e->nr == __NR_rt_sigprocmask || e->nr == -1)
		t->unseen.is_segv_blocked = e->flags & REC_SEGV_BLOCKED;
}

void ptc_unseen_handler(struct ptc_thread *t)
{
	t->unseen.is_segv_blocked = blocks_segv(t->tid);
}

/** Have @p t set the handler again. The kernel wants to be told in the program's own memory:
 * below its stack, which is as before then. */
static struct err *give_handler(struct ptc_process *p, struct ptc_thread *t)
{
	struct user_regs_struct u;
	struct ptc_sigaction before;
	struct err *err = ptc_get_regs(t->tid, &u);
	uint64_t at = (u.rsp - RED_ZONE - sizeof(before)) & ~15ull;
	const uint64_t args[6] = { SIGSEGV, at, 0, sizeof(p->on_segv.mask), 0, REC_OURS };
	long ret = 0;

	if (!err)
		err = ptc_read(&p->tracee, at, &before, sizeof(before));
	if (!err)
		err = ptc_write(&p->tracee, at, &p->on_segv, sizeof(p->on_segv));
	if (err)
		return err;
	note_calls(t);
	err = ptc_inject(t->tid, p->tracee.syscall_at, __NR_rt_sigaction, args, &ret);
	if (!err)
		err = ptc_write(&p->tracee, at, &before, sizeof(before));
	return err ?: ret ? err_new(ERR_OS, "%s", strerror(-ret)) : NULL;
}

void ptc_unseen_trapped(struct ptc_process *p, struct ptc_thread *t)
{
	_cleanup_err_ struct err *err = NULL;
	bool is_ignored = p->on_segv.handler == (uint64_t)SIG_IGN;
	uint64_t mask;

	if (!t->unseen.is_segv_blocked && !is_ignored)
		return;
	if (!p->knows_on_segv)
		err = err_new(ERR_UNSUPPORTED, "it was set before we came");
	else if (p->on_segv.handler)
		err = give_handler(p, t);
	if (t->unseen.is_segv_blocked &&
	    !ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(mask), &mask)) {
		mask |= SEGV_BIT;
		ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(mask), &mask);
	}
	if (err)
		ptc_log_gap(&p->log, t->tid,
			    "the program's handler of SIGSEGV is lost: %s", err->message);
}
