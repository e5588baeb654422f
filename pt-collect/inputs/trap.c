// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdtsc, rdtscp and cpuid trap into SIGSEGV; we execute them in the program's stead and
 * log what it got. Where they cannot trap they are probed instead (probes/chance.c).
 */
#define LOG_ROOM "record"
#include <cpuid.h>
#include <string.h>
#include <sys/ptrace.h>
#include <x86intrin.h>

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/inputs/threads.h"
#include "pt-collect/tracee/tracee.h"
#include "pt-collect/inputs/trap.h"

static void do_cpuid(bool is_portable, struct user_regs_struct *u, struct cap_event *ev)
{
	ev->kind = CAP_EV_CPUID;
	ev->leaf = u->rax;
	ev->subleaf = u->rcx;
	__cpuid_count(ev->leaf, ev->subleaf, ev->cpuid[0], ev->cpuid[1], ev->cpuid[2],
		      ev->cpuid[3]);
	ptc_cpuid_hide(is_portable, ev->leaf, ev->subleaf, ev->cpuid);
	u->rax = ev->cpuid[0];
	u->rbx = ev->cpuid[1];
	u->rcx = ev->cpuid[2];
	u->rdx = ev->cpuid[3];
	u->rip += 2;
}

static void do_tsc(struct user_regs_struct *u, struct cap_event *ev, bool is_rdtscp)
{
	unsigned aux = 0;

	ev->kind = CAP_EV_TSC;
	ev->is_rdtscp = is_rdtscp;
	ev->tsc = is_rdtscp ? __rdtscp(&aux) : __rdtsc();
	ev->tsc_aux = aux;
	u->rax = (uint32_t)ev->tsc;
	u->rdx = ev->tsc >> 32;
	if (is_rdtscp)
		u->rcx = aux;
	u->rip += is_rdtscp ? 3 : 2;
}

bool ptc_trap(struct ptc_process *p, pid_t tid, const siginfo_t *si)
{
	struct cap_event ev = { .tid = tid, .at_ns = ptc_now_ns() };
	struct user_regs_struct u;
	uint8_t code[3] = {};
	struct ptc_thread *t;

	// Both traps are general protection faults: no address, SI_KERNEL.
	if (si->si_signo != SIGSEGV || si->si_code != SI_KERNEL ||
	    ptrace(PTRACE_GETREGS, tid, NULL, &u))
		return false;
	ptc_read_some(&p->tracee, u.rip, code, sizeof(code));
	ev.regs = ptc_to_cap(&u);
	t = ptc_thread_find(p, tid);
	if (!memcmp(code, "\x0f\xa2", 2) && !(t && t->unseen.forbids_cpuid))
		do_cpuid(p->all->probing.is_portable, &u, &ev);
	else if (t && t->unseen.forbids_tsc)
		return false;
	else if (!memcmp(code, "\x0f\x31", 2))
		do_tsc(&u, &ev, false);
	else if (!memcmp(code, "\x0f\x01\xf9", 3))
		do_tsc(&u, &ev, true);
	else
		return false;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &u))
		return false;
	if (t) {
		ptc_pending_settle(p, t, false);
		ptc_pending_log(p, t, &ev, NULL);
		ptc_unseen_trapped(p, t);
		ptc_pending_resume(t);
	}
	return true;
}

void ptc_trap_cpuid(struct ptc_process *p, struct ptc_thread *t)
{
	struct cap_event ev = { .tid = t->tid, .at_ns = ptc_now_ns() };
	struct user_regs_struct u;
	uint8_t code[2] = {};

	if (ptrace(PTRACE_GETREGS, t->tid, NULL, &u))
		return;
	ptc_read_some(&p->tracee, u.rip, code, sizeof(code));
	if (memcmp(code, "\x0f\xa2", 2))
		return;
	ev.regs = ptc_to_cap(&u);
	do_cpuid(p->all->probing.is_portable, &u, &ev);
	if (ptrace(PTRACE_SETREGS, t->tid, NULL, &u))
		return;
	t->chance.rip = 0;
	ptc_pending_settle(p, t, false);
	ptc_pending_log(p, t, &ev, NULL);
	ptc_pending_resume(t);
}
