// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/machine/call_args.h"

#include <fcntl.h>
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

/* .. of a call that takes more or less of them as another says. */
static int args_asked_for(int64_t nr, const uint64_t arg[6])
{
	uint64_t flags = arg[nr == SYS_openat ? 2 : 1];

	switch (nr) {
	case SYS_open:
		return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? 3 : 2;
	case SYS_openat:
		return flags & (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) ? 4 : 3;
	case SYS_fcntl:
		switch ((uint32_t)arg[1]) {
		case F_GETFD:
		case F_GETFL:
		case F_GETOWN:
		case F_GETSIG:
		case F_GETLEASE:
		case F_GETPIPE_SZ:
		case F_GET_SEALS:
			return 2;
		}
		return 3;
	}
	return 0;
}

/* By how many it takes. */
static const struct {
	int16_t nr;
	uint8_t args;
} always[] = {
	{ SYS_close, 1 },
	{ SYS_brk, 1 },
	{ SYS_pipe, 1 },
	{ SYS_mlockall, 1 },
	{ SYS_dup, 1 },
	{ SYS_alarm, 1 },
	{ SYS_exit, 1 },
	{ SYS_exit_group, 1 },
	{ SYS_waitid, 1 },
	{ SYS_shmdt, 1 },
	{ SYS_semctl, 1 },
	{ SYS_mq_unlink, 1 },
	{ SYS_fsync, 1 },
	{ SYS_fdatasync, 1 },
	{ SYS_syncfs, 1 },
	{ SYS_chdir, 1 },
	{ SYS_fchdir, 1 },
	{ SYS_chroot, 1 },
	{ SYS_rmdir, 1 },
	{ SYS_unlink, 1 },
	{ SYS_umask, 1 },
	{ SYS_time, 1 },
	{ SYS_times, 1 },
	{ SYS_sysinfo, 1 },
	{ SYS_uname, 1 },
	{ SYS_setuid, 1 },
	{ SYS_setgid, 1 },
	{ SYS_setfsuid, 1 },
	{ SYS_setfsgid, 1 },
	{ SYS_getpgid, 1 },
	{ SYS_getsid, 1 },
	{ SYS_sched_getscheduler, 1 },
	{ SYS_sched_get_priority_max, 1 },
	{ SYS_sched_get_priority_min, 1 },
	{ SYS_prctl, 1 },
	{ SYS_epoll_create, 1 },
	{ SYS_epoll_create1, 1 },
	{ SYS_eventfd, 1 },
	{ SYS_inotify_init1, 1 },
	{ SYS_timer_getoverrun, 1 },
	{ SYS_timer_delete, 1 },
	{ SYS_stat, 2 },
	{ SYS_fstat, 2 },
	{ SYS_lstat, 2 },
	{ SYS_munmap, 2 },
	{ SYS_ioctl, 2 },
	{ SYS_access, 2 },
	{ SYS_pipe2, 2 },
	{ SYS_mlock, 2 },
	{ SYS_munlock, 2 },
	{ SYS_dup2, 2 },
	{ SYS_nanosleep, 2 },
	{ SYS_getitimer, 2 },
	{ SYS_listen, 2 },
	{ SYS_shutdown, 2 },
	{ SYS_kill, 2 },
	{ SYS_tkill, 2 },
	{ SYS_shmctl, 2 },
	{ SYS_msgctl, 2 },
	{ SYS_mq_open, 2 },
	{ SYS_mq_notify, 2 },
	{ SYS_flock, 2 },
	{ SYS_truncate, 2 },
	{ SYS_ftruncate, 2 },
	{ SYS_getcwd, 2 },
	{ SYS_rename, 2 },
	{ SYS_mkdir, 2 },
	{ SYS_creat, 2 },
	{ SYS_link, 2 },
	{ SYS_symlink, 2 },
	{ SYS_mknod, 2 },
	{ SYS_chmod, 2 },
	{ SYS_fchmod, 2 },
	{ SYS_statfs, 2 },
	{ SYS_fstatfs, 2 },
	{ SYS_utime, 2 },
	{ SYS_utimes, 2 },
	{ SYS_memfd_create, 2 },
	{ SYS_removexattr, 2 },
	{ SYS_lremovexattr, 2 },
	{ SYS_fremovexattr, 2 },
	{ SYS_gettimeofday, 2 },
	{ SYS_clock_gettime, 2 },
	{ SYS_clock_settime, 2 },
	{ SYS_clock_getres, 2 },
	{ SYS_getrlimit, 2 },
	{ SYS_setrlimit, 2 },
	{ SYS_getrusage, 2 },
	{ SYS_setreuid, 2 },
	{ SYS_setregid, 2 },
	{ SYS_getgroups, 2 },
	{ SYS_setgroups, 2 },
	{ SYS_setpgid, 2 },
	{ SYS_getpriority, 2 },
	{ SYS_sched_setparam, 2 },
	{ SYS_sched_getparam, 2 },
	{ SYS_sched_rr_get_interval, 2 },
	{ SYS_rt_sigpending, 2 },
	{ SYS_rt_sigsuspend, 2 },
	{ SYS_sigaltstack, 2 },
	{ SYS_arch_prctl, 2 },
	{ SYS_futex, 2 },
	{ SYS_eventfd2, 2 },
	{ SYS_inotify_rm_watch, 2 },
	{ SYS_timer_gettime, 2 },
	{ SYS_timerfd_create, 2 },
	{ SYS_timerfd_gettime, 2 },
	{ SYS_read, 3 },
	{ SYS_write, 3 },
	{ SYS_poll, 3 },
	{ SYS_lseek, 3 },
	{ SYS_mprotect, 3 },
	{ SYS_readv, 3 },
	{ SYS_writev, 3 },
	{ SYS_msync, 3 },
	{ SYS_mincore, 3 },
	{ SYS_madvise, 3 },
	{ SYS_dup3, 3 },
	{ SYS_setitimer, 3 },
	{ SYS_socket, 3 },
	{ SYS_connect, 3 },
	{ SYS_bind, 3 },
	{ SYS_accept, 3 },
	{ SYS_sendmsg, 3 },
	{ SYS_recvmsg, 3 },
	{ SYS_getsockname, 3 },
	{ SYS_getpeername, 3 },
	{ SYS_execve, 3 },
	{ SYS_tgkill, 3 },
	{ SYS_shmget, 3 },
	{ SYS_shmat, 3 },
	{ SYS_semget, 3 },
	{ SYS_semop, 3 },
	{ SYS_msgget, 3 },
	{ SYS_readahead, 3 },
	{ SYS_getdents, 3 },
	{ SYS_getdents64, 3 },
	{ SYS_mkdirat, 3 },
	{ SYS_unlinkat, 3 },
	{ SYS_symlinkat, 3 },
	{ SYS_readlink, 3 },
	{ SYS_mknodat, 3 },
	{ SYS_fchmodat, 3 },
	{ SYS_chown, 3 },
	{ SYS_fchown, 3 },
	{ SYS_lchown, 3 },
	{ SYS_faccessat, 3 },
	{ SYS_close_range, 3 },
	{ SYS_listxattr, 3 },
	{ SYS_llistxattr, 3 },
	{ SYS_flistxattr, 3 },
	{ SYS_getrandom, 3 },
	{ SYS_setresuid, 3 },
	{ SYS_setresgid, 3 },
	{ SYS_setpriority, 3 },
	{ SYS_sched_setscheduler, 3 },
	{ SYS_sched_setaffinity, 3 },
	{ SYS_sched_getaffinity, 3 },
	{ SYS_rt_sigqueueinfo, 3 },
	{ SYS_epoll_ctl, 3 },
	{ SYS_inotify_add_watch, 3 },
	{ SYS_timer_create, 3 },
	{ SYS_rt_sigaction, 4 },
	{ SYS_pread64, 4 },
	{ SYS_pwrite64, 4 },
	{ SYS_preadv, 4 },
	{ SYS_pwritev, 4 },
	{ SYS_mremap, 4 },
	{ SYS_clock_nanosleep, 4 },
	{ SYS_sendfile, 4 },
	{ SYS_tee, 4 },
	{ SYS_vmsplice, 4 },
	{ SYS_socketpair, 4 },
	{ SYS_accept4, 4 },
	{ SYS_sendto, 4 },
	{ SYS_recvfrom, 4 },
	{ SYS_sendmmsg, 4 },
	{ SYS_wait4, 4 },
	{ SYS_semtimedop, 4 },
	{ SYS_msgsnd, 4 },
	{ SYS_fallocate, 4 },
	{ SYS_fadvise64, 4 },
	{ SYS_renameat, 4 },
	{ SYS_readlinkat, 4 },
	{ SYS_newfstatat, 4 },
	{ SYS_faccessat2, 4 },
	{ SYS_utimensat, 4 },
	{ SYS_getxattr, 4 },
	{ SYS_lgetxattr, 4 },
	{ SYS_fgetxattr, 4 },
	{ SYS_prlimit64, 4 },
	{ SYS_rt_sigtimedwait, 4 },
	{ SYS_signalfd4, 4 },
	{ SYS_epoll_wait, 4 },
	{ SYS_timer_settime, 4 },
	{ SYS_timerfd_settime, 4 },
	{ SYS_select, 5 },
	{ SYS_ppoll, 5 },
	{ SYS_recvmmsg, 5 },
	{ SYS_setsockopt, 5 },
	{ SYS_getsockopt, 5 },
	{ SYS_execveat, 5 },
	{ SYS_msgrcv, 5 },
	{ SYS_mq_timedsend, 5 },
	{ SYS_mq_timedreceive, 5 },
	{ SYS_renameat2, 5 },
	{ SYS_linkat, 5 },
	{ SYS_fchownat, 5 },
	{ SYS_statx, 5 },
	{ SYS_setxattr, 5 },
	{ SYS_lsetxattr, 5 },
	{ SYS_fsetxattr, 5 },
	{ SYS_epoll_pwait, 5 },
	{ SYS_mmap, 6 },
	{ SYS_preadv2, 6 },
	{ SYS_pwritev2, 6 },
	{ SYS_pselect6, 6 },
	{ SYS_splice, 6 },
	{ SYS_copy_file_range, 6 },
	{ SYS_process_vm_readv, 6 },
	{ SYS_process_vm_writev, 6 },
};

int dec_call_args_looked_at(int64_t nr, const uint64_t arg[6])
{
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		if (always[i].nr == nr)
			return always[i].args;
	return args_asked_for(nr, arg);
}
