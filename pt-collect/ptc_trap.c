// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * rdtsc, rdtscp and cpuid trap into SIGSEGV; we execute them in the program's stead and
 * log what it got. cpuid hides the instructions that give every run another result: a
 * program that asks first then does not use them.
 */
#define LOG_ROOM "record"
#include <cpuid.h>
#include <string.h>
#include <sys/ptrace.h>
#include <x86intrin.h>

#include "pt-collect/ptc.h"

/** Bits to hide: register (0 = eax ... 3 = edx) of a leaf. */
static const struct {
	uint32_t leaf, subleaf, reg, bits;
} hidden[] = {
	{ 1, 0, 2, 1u << 30 },			    // RDRAND
	{ 7, 0, 1, 1u << 4 | 1u << 11 | 1u << 18 }, // HLE, RTM, RDSEED
	{ 7, 0, 2, 1u << 5 | 1u << 22 },	    // WAITPKG; RDPID reads the CPU number
	{ 7, 0, 3, 1u << 22 | 1u << 24 | 1u << 25 }, // AMX
	{ 7, 1, 0, 1u << 21 },			     // AMX-FP16
	{ 7, 1, 3, 1u << 8 },			     // AMX-COMPLEX
	{ 0x80000008, 0, 1, 1u << 4 },		     // RDPRU
};

static bool has_subleaf(uint32_t leaf)
{
	return leaf == 7;
}

static void execute_cpuid(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
	__cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (hidden[i].leaf == leaf &&
		    (!has_subleaf(leaf) || hidden[i].subleaf == subleaf))
			r[hidden[i].reg] &= ~hidden[i].bits;
}

static void do_cpuid(struct user_regs_struct *u, struct cap_event *ev)
{
	ev->kind = CAP_EV_CPUID;
	ev->leaf = u->rax;
	ev->subleaf = u->rcx;
	execute_cpuid(ev->leaf, ev->subleaf, ev->cpuid);
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
	ptc_read_some(p, u.rip, code, sizeof(code));
	ev.regs = ptc_to_cap(&u);
	if (!memcmp(code, "\x0f\xa2", 2))
		do_cpuid(&u, &ev);
	else if (!memcmp(code, "\x0f\x31", 2))
		do_tsc(&u, &ev, false);
	else if (!memcmp(code, "\x0f\x01\xf9", 3))
		do_tsc(&u, &ev, true);
	else
		return false;
	if (ptrace(PTRACE_SETREGS, tid, NULL, &u))
		return false;
	t = ptc_thread_find(p, tid);
	if (t) {
		ptc_pending_settle(p, t, false);
		ptc_pending_log(p, t, &ev, NULL);
		ptc_pending_resume(t);
	}
	return true;
}
