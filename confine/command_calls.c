// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What the process of a command may not ask the kernel for.
 */

#include "confine/start.h"

#include <asm/ioctls.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#define FAILS(call)                                    \
	{                                              \
		.nr = SYS_##call, .how = CONFINE_FAILS \
	}
#define FAILS_WHEN(call, ...)                                                           \
	{                                                                               \
		.nr = SYS_##call, .how = CONFINE_FAILS, .n = 1, .when = { __VA_ARGS__ } \
	}
#define FLAG(i, flag) SCMP_CMP(i, SCMP_CMP_MASKED_EQ, flag, flag)
#define ANOTHER(i) SCMP_CMP(i, SCMP_CMP_NE, 0) ///< not 0, which is the caller
#define IS(i, value) SCMP_CMP(i, SCMP_CMP_MASKED_EQ, 0xffffffff, value)

struct err *confine_as_command(void)
{
	// A sanitizer reports to files, and looks for leaks as a debugger would.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	return NULL;
#endif
	const uint64_t self = getpid();
	const struct confine_call calls[] = {
		// Files: nothing is made, changed or removed. openat2() has its flags in
		// memory; nobody needs it.
		FAILS_WHEN(open, FLAG(1, O_WRONLY)),
		FAILS_WHEN(open, FLAG(1, O_RDWR)),
		FAILS_WHEN(open, FLAG(1, O_CREAT)),
		FAILS_WHEN(open, FLAG(1, O_TRUNC)),
		FAILS_WHEN(openat, FLAG(2, O_WRONLY)),
		FAILS_WHEN(openat, FLAG(2, O_RDWR)),
		FAILS_WHEN(openat, FLAG(2, O_CREAT)),
		FAILS_WHEN(openat, FLAG(2, O_TRUNC)),
		FAILS(openat2),
		FAILS(open_by_handle_at),
		FAILS(creat),
		FAILS(rename),
		FAILS(renameat),
		FAILS(renameat2),
		FAILS(unlink),
		FAILS(unlinkat),
		FAILS(mkdir),
		FAILS(mkdirat),
		FAILS(rmdir),
		FAILS(link),
		FAILS(linkat),
		FAILS(symlink),
		FAILS(symlinkat),
		FAILS(mknod),
		FAILS(mknodat),
		FAILS(truncate),
		FAILS(chmod),
		FAILS(fchmod),
		FAILS(fchmodat),
		FAILS(chown),
		FAILS(fchown),
		FAILS(lchown),
		FAILS(fchownat),
		FAILS(utime),
		FAILS(utimes),
		FAILS(utimensat),
		FAILS(futimesat),
		FAILS(setxattr),
		FAILS(lsetxattr),
		FAILS(fsetxattr),
		FAILS(removexattr),
		FAILS(lremovexattr),
		FAILS(fremovexattr),
		FAILS(mount),
		FAILS(umount2),
		FAILS(pivot_root),
		FAILS(quotactl),
		FAILS(swapon),
		FAILS(swapoff),
		FAILS(fsopen),
		FAILS(open_tree),
		FAILS(move_mount),
		FAILS(fspick),
		FAILS(fsconfig),
		FAILS(fsmount),
		FAILS(mount_setattr),
		FAILS(quotactl_fd),
		FAILS(fanotify_init),
		// The requests of terminals alone: others change files and devices that are
		// open to be read.
		FAILS_WHEN(ioctl, SCMP_CMP(1, SCMP_CMP_LT, 0x5400)),
		FAILS_WHEN(ioctl, SCMP_CMP(1, SCMP_CMP_GT, 0x54ff)),
		// Others: not signalled, traced, changed, nor typed for (a terminal takes
		// what is put into it for typed).
		FAILS(unshare),
		FAILS_WHEN(clone, FLAG(0, CLONE_NEWUSER)),
		{ .nr = SYS_clone3, .how = CONFINE_NOT_THERE }, // its flags are in memory
		FAILS_WHEN(kill, SCMP_CMP(0, SCMP_CMP_NE, self)),
		FAILS_WHEN(tgkill, SCMP_CMP(0, SCMP_CMP_NE, self)),
		FAILS(tkill),
		FAILS(rt_sigqueueinfo),
		FAILS(rt_tgsigqueueinfo),
		FAILS(pidfd_send_signal),
		FAILS(pidfd_getfd),
		FAILS_WHEN(fcntl, IS(1, F_SETOWN)), // who gets a signal, and which
		FAILS_WHEN(fcntl, IS(1, F_SETOWN_EX)),
		FAILS_WHEN(fcntl, IS(1, F_SETSIG)),
		FAILS_WHEN(prlimit64, ANOTHER(0)),
		FAILS_WHEN(sched_setaffinity, ANOTHER(0)),
		FAILS_WHEN(sched_setscheduler, ANOTHER(0)),
		FAILS_WHEN(sched_setparam, ANOTHER(0)),
		FAILS_WHEN(sched_setattr, ANOTHER(0)),
		FAILS(setpriority),
		FAILS(ioprio_set),
		FAILS_WHEN(migrate_pages, ANOTHER(0)),
		FAILS_WHEN(move_pages, ANOTHER(0)),
		FAILS(ptrace),
		FAILS(process_vm_readv),
		FAILS(process_vm_writev),
		FAILS(process_madvise),
		FAILS(setns),
		FAILS(shmget),
		FAILS(shmat),
		FAILS(msgget),
		FAILS(semget),
		FAILS(mq_open),
		FAILS(add_key),
		FAILS(request_key),
		FAILS(keyctl),
		FAILS_WHEN(ioctl, IS(1, TIOCSTI)),
		FAILS_WHEN(ioctl, IS(1, TIOCLINUX)),
		FAILS_WHEN(ioctl, IS(1, TIOCSETD)),
		// The kernel: what root could ask of it, and ways past this table.
		FAILS(io_uring_setup),
		FAILS(io_uring_enter),
		FAILS(io_uring_register),
		FAILS(userfaultfd),
		FAILS(bpf),
		FAILS(perf_event_open),
		FAILS(init_module),
		FAILS(finit_module),
		FAILS(delete_module),
		FAILS(kexec_load),
		FAILS(kexec_file_load),
		FAILS(reboot),
		FAILS(iopl),
		FAILS(ioperm),
		FAILS(settimeofday),
		FAILS(clock_settime),
		FAILS(adjtimex),
		FAILS(clock_adjtime),
		FAILS(sethostname),
		FAILS(setdomainname),
		FAILS(acct),
		FAILS(syslog),
		FAILS(socket),
	};

	return confine_self_but(calls, sizeof(calls) / sizeof(*calls));
}
