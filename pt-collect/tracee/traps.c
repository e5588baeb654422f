// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What can be made to trap on this processor, or under this hypervisor: by trying.
 */
#define LOG_ROOM "record"
#include <asm/unistd.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#include "pt-collect/tracee/traps.h"

#ifndef ARCH_SET_CPUID
#define ARCH_SET_CPUID 0x1012
#endif

/** What a signal did, and whether it was blocked, before a try. */
struct signal_before {
	int signo;
	struct sigaction action;
	sigset_t mask;
};

/** @return whether @p signo comes to @p handler from now on. */
static bool try_begin(struct signal_before *b, int signo,
		      void (*handler)(int, siginfo_t *, void *))
{
	const struct sigaction action = { .sa_sigaction = handler,
					  .sa_flags = SA_SIGINFO };
	sigset_t one;

	b->signo = signo;
	sigemptyset(&one);
	sigaddset(&one, signo);
	return !sigaction(signo, &action, &b->action) &&
	       !pthread_sigmask(SIG_UNBLOCK, &one, &b->mask);
}

static void try_end(const struct signal_before *b)
{
	pthread_sigmask(SIG_SETMASK, &b->mask, NULL);
	sigaction(b->signo, &b->action, NULL);
}

static sigjmp_buf behind_trap;

static void leave_trap(int signo, siginfo_t *si, void *context)
{
	(void)signo;
	(void)si;
	(void)context;
	siglongjmp(behind_trap, 1);
}

static bool try_tsc(void)
{
	volatile bool traps = false;
	struct signal_before before;

	if (!try_begin(&before, SIGSEGV, leave_trap))
		return false;
	if (sigsetjmp(behind_trap, true))
		traps = true;
	else if (!prctl(PR_SET_TSC, PR_TSC_SIGSEGV))
		__rdtsc();
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	try_end(&before);
	return traps;
}

static volatile uint64_t stepped_to;

/** Where it was stopped first; goes on without steps. */
static void note_step(int signo, siginfo_t *si, void *context)
{
	ucontext_t *u = context;

	(void)signo;
	(void)si;
	stepped_to = u->uc_mcontext.gregs[REG_RIP];
	u->uc_mcontext.gregs[REG_EFL] &= ~0x100ll; // TF
}

static bool try_step(void)
{
	uint32_t a = 0, b, c = 0, d;
	struct signal_before before;
	uint64_t behind;

	if (!try_begin(&before, SIGTRAP, note_step))
		return false;
	// The instruction behind the one that sets TF is the first to be followed by a trap.
	// Nothing is pushed over the red zone.
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t"
			 "lea 0f(%%rip), %4\n\t"
			 "pushf\n\t"
			 "orl $0x100, (%%rsp)\n\t"
			 "popf\n\t"
			 "cpuid\n"
			 "0:\n\t"
			 "nop\n\t"
			 "nop\n\t"
			 "lea 128(%%rsp), %%rsp"
			 : "+a"(a), "=&b"(b), "+c"(c), "=&d"(d), "=&r"(behind)
			 :
			 : "memory", "cc");
	try_end(&before);
	return stepped_to == behind;
}

/** What a try said, asked once. */
enum answer { ANSWER_UNKNOWN, ANSWER_NO, ANSWER_YES };

static bool ask_once(enum answer *known, bool (*ask)(void))
{
	if (*known == ANSWER_UNKNOWN)
		*known = ask() ? ANSWER_YES : ANSWER_NO;
	return *known == ANSWER_YES;
}

static bool try_cpuid(void)
{
	// Without CPUID faulting the CPU has ENODEV for both: allowed, and not.
	return !syscall(__NR_arch_prctl, ARCH_SET_CPUID, 1);
}

bool ptc_can_trap_cpuid(void)
{
	static enum answer known;

	return ask_once(&known, try_cpuid);
}

bool ptc_can_trap_tsc(void)
{
	static enum answer known;

	return ask_once(&known, try_tsc);
}

bool ptc_can_step_cpuid(void)
{
	static enum answer known;

	return ask_once(&known, try_step);
}
