// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * For the recorder, before all libraries: the processor cannot make cpuid trap, as most of
 * AMD's and those of other virtual machines cannot. What the recorder starts is as ever.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
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
