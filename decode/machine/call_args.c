// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/call_args.h"

#include <stddef.h>
#include <sys/syscall.h>

int dec_call_args(int64_t nr)
{
	static const struct {
		int16_t nr;
		uint8_t args;
	} known[] = {
		{ SYS_read, 3 },	  { SYS_write, 3 },
		{ SYS_open, 3 },	  { SYS_close, 1 },
		{ SYS_stat, 2 },	  { SYS_fstat, 2 },
		{ SYS_lstat, 2 },	  { SYS_poll, 3 },
		{ SYS_lseek, 3 },	  { SYS_mprotect, 3 },
		{ SYS_munmap, 2 },	  { SYS_brk, 1 },
		{ SYS_ioctl, 3 },	  { SYS_access, 2 },
		{ SYS_pipe, 1 },	  { SYS_pipe2, 2 },
		{ SYS_sched_yield, 0 },	  { SYS_madvise, 3 },
		{ SYS_dup, 1 },		  { SYS_dup2, 2 },
		{ SYS_nanosleep, 2 },	  { SYS_getpid, 0 },
		{ SYS_getppid, 0 },	  { SYS_gettid, 0 },
		{ SYS_getuid, 0 },	  { SYS_geteuid, 0 },
		{ SYS_getgid, 0 },	  { SYS_getegid, 0 },
		{ SYS_fcntl, 3 },	  { SYS_openat, 4 },
		{ SYS_newfstatat, 4 },	  { SYS_pread64, 4 },
		{ SYS_pwrite64, 4 },	  { SYS_readv, 3 },
		{ SYS_writev, 3 },	  { SYS_getrandom, 3 },
		{ SYS_uname, 1 },	  { SYS_exit_group, 1 },
		{ SYS_exit, 1 },	  { SYS_vfork, 0 },
		{ SYS_fork, 0 },	  { SYS_wait4, 4 },
		{ SYS_kill, 2 },	  { SYS_rt_sigreturn, 0 },
		{ SYS_rt_sigaction, 4 },  { SYS_rt_sigprocmask, 4 },
		{ SYS_clock_gettime, 2 }, { SYS_gettimeofday, 2 },
		{ SYS_time, 1 },	  { SYS_shmat, 3 },
		{ SYS_shmget, 3 },	  { SYS_tgkill, 3 },
		{ SYS_tkill, 2 },	  { SYS_unlink, 1 },
		{ SYS_rename, 2 },	  { SYS_mkdir, 2 },
		{ SYS_rmdir, 1 },	  { SYS_getcwd, 2 },
		{ SYS_readlink, 3 },	  { SYS_ftruncate, 2 },
		{ SYS_fsync, 1 },	  { SYS_clock_nanosleep, 4 },
		{ SYS_getdents64, 3 },	  { SYS_sigaltstack, 2 },
		{ SYS_alarm, 1 },	  { SYS_umask, 1 },
		{ SYS_chdir, 1 },	  { SYS_prlimit64, 4 },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (known[i].nr == nr)
			return known[i].args;
	}
	return 6;
}
