// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * For the recorder, before all libraries: the kernel refuses BPF programs for tracepoints with types. What the
 * recorder starts is as ever.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/syscall.h>

__attribute__((constructor)) static void leave_no_trace(void)
{
	unsetenv("LD_PRELOAD");
}

long syscall(long nr, ...)
{
	long (*next)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_list args;
	long a[6];

	va_start(args, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (nr == SYS_bpf && a[0] == BPF_PROG_LOAD &&
	    ((const union bpf_attr *)a[1])->prog_type == BPF_PROG_TYPE_TRACING) {
		errno = EACCES;
		return -1;
	}
	return next(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}
