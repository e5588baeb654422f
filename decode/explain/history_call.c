// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/explain/history.h"

#include <seccomp.h>
#include <stdio.h>
#include <sys/syscall.h>

/* ---- what a call may have done ---------------------------------------------------------- */

/* Calls that only read the memory they are given. */
static const int16_t reading_calls[] = {
	SYS_write,
	SYS_writev,
	SYS_pwrite64,
	SYS_pwritev,
	SYS_open,
	SYS_openat,
	SYS_creat,
	SYS_close,
	SYS_access,
	SYS_faccessat,
	SYS_execve,
	SYS_execveat,
	SYS_mmap,
	SYS_munmap,
	SYS_mprotect,
	SYS_mremap,
	SYS_brk,
	SYS_madvise,
	SYS_msync,
	SYS_lseek,
	SYS_dup,
	SYS_dup2,
	SYS_dup3,
	SYS_fcntl,
	SYS_unlink,
	SYS_unlinkat,
	SYS_rename,
	SYS_renameat,
	SYS_mkdir,
	SYS_mkdirat,
	SYS_rmdir,
	SYS_chdir,
	SYS_chmod,
	SYS_fchmodat,
	SYS_chown,
	SYS_fchownat,
	SYS_symlink,
	SYS_link,
	SYS_truncate,
	SYS_connect,
	SYS_bind,
	SYS_sendto,
	SYS_sendmsg,
	SYS_setsockopt,
	SYS_futex,
	SYS_kill,
	SYS_tgkill,
	SYS_setitimer,
	SYS_nanosleep,
	SYS_arch_prctl,
	SYS_exit,
	SYS_exit_group,
	SYS_utimensat,
	SYS_epoll_ctl,
	SYS_ppoll,
	SYS_rt_sigsuspend,
	SYS_sigaltstack,
	SYS_getpid,
	SYS_getppid,
	SYS_sched_yield,
	SYS_set_robust_list,
	SYS_set_tid_address,
	SYS_rt_sigreturn,
};

static bool history_only_reads(int64_t nr)
{
	for (size_t i = 0; i < sizeof(reading_calls) / sizeof(*reading_calls); i++) {
		if (reading_calls[i] == nr)
			return true;
	}
	return false;
}

/* Bytes that may lie behind pointer argument @p i: what follows it is often their count,
 * and no call writes more than it says it returned. */
static uint64_t history_reach(const struct history_event *e, int i)
{
	uint64_t next = i < 5 ? e->args[i + 1] : 0, ret = e->ret;
	bool is_unlisted = e->flags & (CAP_SYS_UNLISTED | CAP_SYS_PARTIAL);

	if (e->nr == SYS_ioctl && i == 2 && e->args[1] >> 16)
		return e->args[1] >> 16 & 0x3fff;
	if (next && next <= 1u << 20)
		return !is_unlisted && ret && ret < next ? ret : next;
	return is_unlisted ? 4096 : 16;
}

bool dec_history_call_is_loose(const struct history_event *e)
{
	if (e->kind != CAP_EV_SYSCALL)
		return false;
	return (e->flags & (CAP_SYS_UNLISTED | CAP_SYS_PARTIAL)) ||
	       (e->ret >= 0 && !e->writes.size && !history_only_reads(e->nr));
}

bool dec_history_call_may_write(const struct history_event *e, uint64_t addr)
{
	for (int i = 0; i < dec_call_args(e->nr); i++)
		if (e->args[i] >= 4096 && addr - e->args[i] < history_reach(e, i))
			return true;
	return false;
}

/* ---- for people ----------------------------------------------------------------------------- */

char *dec_history_call_name(int64_t nr)
{
	char *known = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, nr), *made;

	if (known)
		return known;
	return asprintf(&made, "syscall_%ld", nr) < 0 ? NULL : made;
}
