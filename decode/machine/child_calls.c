// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What a process of the machine may ask the kernel for once its guest runs. Memory is the guest's
 * to arrange, code lies in the translator's arenas alone.
 */

#include <asm/prctl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "confine/confine.h"
#include "decode/machine/child.h"

struct err *dec_child_confine(void)
{
	const int output = CHILD_OUTPUT;
	const struct confine_call calls[] = {
		{ .nr = SYS_mmap,
		  .n = 1,
		  .when = { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) } },
		{ .nr = SYS_mmap,
		  .n = 2,
		  .when = { SCMP_A2(SCMP_CMP_EQ, PROT_READ | PROT_WRITE | PROT_EXEC),
			    SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_ANONYMOUS | MAP_SHARED,
				    MAP_ANONYMOUS) } },
		{ .nr = SYS_mprotect,
		  .n = 1,
		  .when = { SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0) } },
		{ .nr = SYS_munmap },
		{ .nr = SYS_mremap },
		{ .nr = SYS_madvise },
		{ .nr = SYS_mincore },
		{ .nr = SYS_sysinfo },
		{ .nr = SYS_brk },
		{ .nr = SYS_memfd_create },
		{ .nr = SYS_ftruncate },
		{ .nr = SYS_pread64 },
		{ .nr = SYS_close },
		// Where the program's output goes is written, and nothing else.
		{ .nr = SYS_write, .n = 1, .when = { CONFINE_IS_FD(0, STDERR_FILENO) } },
		{ .nr = SYS_write, .n = 1, .when = { CONFINE_IS_FD(0, output) } },
		{ SYS_mmap, CONFINE_NEVER, 1, { CONFINE_IS_FD(4, output) } },
		{ SYS_pread64, CONFINE_NEVER, 1, { CONFINE_IS_FD(0, output) } },
		{ SYS_ftruncate, CONFINE_NEVER, 1, { CONFINE_IS_FD(0, output) } },
		{ .nr = SYS_futex },
		{ .nr = SYS_sched_yield },
		{ .nr = SYS_clock_gettime },
		{ .nr = SYS_getrandom },
		{ .nr = SYS_getpid },
		{ .nr = SYS_getrusage,
		  .n = 1,
		  .when = { SCMP_A0(SCMP_CMP_EQ, RUSAGE_SELF) } },
		{ .nr = SYS_gettid },
		{ .nr = SYS_rt_sigaction },
		{ .nr = SYS_rt_sigprocmask },
		{ .nr = SYS_rt_sigreturn },
		{ .nr = SYS_sigaltstack },
		{ .nr = SYS_tgkill,
		  .how = CONFINE_FAILS }, // abort() ends by another signal then
		{ .nr = SYS_arch_prctl,
		  .n = 1,
		  .when = { SCMP_A0(SCMP_CMP_EQ, ARCH_SET_FS) } },
		{ .nr = SYS_prctl,
		  .n = 1,
		  .when = { SCMP_A0(SCMP_CMP_EQ, PR_SET_PDEATHSIG) } },
		// A checkpoint or branch; what looks ahead (dec_certain_check()).
		{ .nr = SYS_clone,
		  .n = 1,
		  .when = { SCMP_A0(SCMP_CMP_EQ, CLONE_PARENT | SIGCHLD) } },
		{ .nr = SYS_clone, .n = 1, .when = { SCMP_A0(SCMP_CMP_EQ, SIGCHLD) } },
		{ .nr = SYS_wait4 },
		{ .nr = SYS_exit },
		{ .nr = SYS_exit_group },
	};

	return confine_self(calls, sizeof(calls) / sizeof(*calls));
}
