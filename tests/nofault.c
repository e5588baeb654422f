// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * For the recorder, before all libraries: the processor cannot make cpuid trap, as most of
 * AMD's and those of other virtual machines cannot, nor rdtsc, as some of the latter. NOSTEP: nor can a
 * probe step over cpuid. What the recorder starts is as ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARCH_SET_CPUID 0x1012

__attribute__((constructor)) static void leave_no_trace(void)
{
	unsetenv("LD_PRELOAD");
}

long syscall(long nr, ...)
{
	long a[6], ret;
	va_list args;

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (nr == SYS_arch_prctl && a[0] == ARCH_SET_CPUID) {
		errno = ENODEV;
		return -1;
	}

	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4],
		      r9 __asm__("r9") = a[5];

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	if (ret > -4096 && ret < 0) {
		errno = -ret;
		return -1;
	}
	return ret;
}

/* The recorder's own, which tries whether rdtsc traps. */
int prctl(int option, ...)
{
	unsigned long a[4];
	va_list args;

	va_start(args, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(args, unsigned long);
	va_end(args);
	if (option == PR_SET_TSC) {
		errno = EINVAL;
		return -1;
	}
	return syscall(SYS_prctl, option, a[0], a[1], a[2], a[3]);
}

/* .. and whether a step over cpuid is one. */
int sigaction(int signo, const struct sigaction *act, struct sigaction *before)
{
	int (*next)(int, const struct sigaction *, struct sigaction *) =
		dlsym(RTLD_NEXT, "sigaction");

	if (signo == SIGTRAP && getenv("NOSTEP")) {
		errno = EINVAL;
		return -1;
	}
	return next(signo, act, before);
}
