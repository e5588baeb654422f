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
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <x86intrin.h>

#include "pt-collect/ptc.h"
#include "pt-collect/ptc_threads.h"
#include "pt-collect/ptc_tracee.h"
#include "pt-collect/ptc_trap.h"

/* The smallest set with which glibc executes nothing that is VEX or EVEX encoded. */
#define TUNABLES                                                     \
	"glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-AVX_Fast_Unaligned_Load," \
	"-XSAVEC,-XSAVE"

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
	// What XSAVE stores depends on which registers the CPU takes to be in their initial
	// state, and no architecture says when it does. Told that XSAVE stores nothing, the
	// dynamic linker keeps the arguments of a call that it binds with FXSAVE instead.
	{ 0xd, 0, 1, ~0u },
	{ 0x80000008, 0, 1, 1u << 4 }, // RDPRU
};

static bool has_subleaf(uint32_t leaf)
{
	return leaf == 7 || leaf == 0xd;
}

/**
 * --portable: what remains of the leaves that tell of instructions, so that the program
 * uses none beyond x86-64-v2 (SSE4.2, POPCNT). No XSAVE means no AVX and all that came
 * after it, and ld.so then saves registers with fxsave. Every CPU since 2009 has the rest;
 * rep movs may be fast or not.
 */
static const struct {
	uint32_t leaf;
	uint32_t keep[4]; ///< of subleaf 0; the others answer nothing
} portable[] = {
	// SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT, hypervisor
	{ 1,
	  { -1u, -1u, 1u | 1u << 9 | 1u << 13 | 3u << 19 | 1u << 23 | 1u << 31, -1u } },
	{ 7, { 0, 1u << 9, 0, 1u << 4 } }, // ERMS, FSRM
	{ 0xd, {} },			   // XSAVE
	{ 0x19, {} },			   // key locker
	{ 0x1d, {} },			   // AMX
	{ 0x1e, {} },
	{ 0x24, {} },			       // AVX10
	{ 0x80000001, { -1u, -1u, 1u, -1u } }, // LAHF; not LZCNT, XOP, FMA4, TBM
};

static void make_portable(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
	for (size_t i = 0; i < sizeof(portable) / sizeof(portable[0]); i++)
		for (int k = 0; portable[i].leaf == leaf && k < 4; k++)
			r[k] &= has_subleaf(leaf) && subleaf ? 0 : portable[i].keep[k];
}

static void execute_cpuid(bool is_portable, uint32_t leaf, uint32_t subleaf,
			  uint32_t r[4])
{
	__cpuid_count(leaf, subleaf, r[0], r[1], r[2], r[3]);
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (hidden[i].leaf == leaf &&
		    (!has_subleaf(leaf) || hidden[i].subleaf == subleaf))
			r[hidden[i].reg] &= ~hidden[i].bits;
	if (is_portable)
		make_portable(leaf, subleaf, r);
}

static void do_cpuid(bool is_portable, struct user_regs_struct *u, struct cap_event *ev)
{
	ev->kind = CAP_EV_CPUID;
	ev->leaf = u->rax;
	ev->subleaf = u->rcx;
	execute_cpuid(is_portable, ev->leaf, ev->subleaf, ev->cpuid);
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
		do_cpuid(p->session->is_portable, &u, &ev);
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

void ptc_trap_tell(struct ptc_process *p)
{
	if (!ptc_can_trap_cpuid())
		ptc_log_gap(
			p, p->pid,
			"cpuid is not recorded, because this CPU cannot make it trap: "
			"replay needs a CPU that answers the same");
}

bool ptc_trap_tune(void)
{
	const char *old = getenv("GLIBC_TUNABLES");
	_cleanup_free_ char *all = NULL;

	if (asprintf(&all, "%s%s%s", old ?: "", old && *old ? ":" : "", TUNABLES) < 0) {
		all = NULL;
		return false;
	}
	return !setenv("GLIBC_TUNABLES", all, 1);
}
