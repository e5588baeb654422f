// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

// 66 slots of a machine, what each looks ahead with, and some that are about to end.
#define PROCESSES_MOST 512
// System calls have lower numbers, as of Linux 5.16.
#define CALLS_KNOWN 450

void confine_go_first(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	// It can only help.
	(void)!write(fd, "1000", 4);
	if (fd >= 0)
		close(fd);
}

static struct err *self_drop_rights(void)
{
	cap_t none = cap_init();
	int bad = !none || cap_set_proc(none);

	if (none)
		cap_free(none);
	if (bad || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_errno("cannot give up rights");
	return NULL;
}

/* A directory in which nobody can make a file, and where no path leads out. */
static void self_leave_files(void)
{
	// Without the right to, there is the filter, which knows no path.
	if (chroot("/proc/self/fdinfo") || chdir("/"))
		return;
}

/* A user namespace has a count of processes of its own since Linux 5.14. */
static bool self_has_count(void)
{
	struct utsname u;
	int major, minor;

	return getuid() && getsid(0) == 1 && !uname(&u) &&
	       sscanf(u.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 14));
}

static void self_limit(void)
{
	const struct rlimit none = {}, processes = { PROCESSES_MOST, PROCESSES_MOST };

	if (self_has_count())
		setrlimit(RLIMIT_NPROC, &processes);
	setrlimit(RLIMIT_CORE, &none);
	setrlimit(RLIMIT_MEMLOCK, &none);
	setrlimit(RLIMIT_MSGQUEUE, &none);
}

/* Load a filter of the rows that say one of @p hows (bits); it does @p otherwise with all other
 * calls. */
static int self_filter(const struct confine_call *calls, size_t n, unsigned hows,
		       uint32_t otherwise)
{
	static const uint32_t action[] = { [CONFINE_MAY] = SCMP_ACT_ALLOW,
					   [CONFINE_NEVER] = SCMP_ACT_KILL_PROCESS,
					   [CONFINE_FAILS] = SCMP_ACT_ERRNO(EPERM),
					   [CONFINE_NOT_THERE] = SCMP_ACT_ERRNO(ENOSYS) };
	scmp_filter_ctx f;
	size_t i = 0;
	int bad;

	while (i < n && !(hows >> calls[i].how & 1))
		i++;
	if (i == n && otherwise == SCMP_ACT_ALLOW)
		return 0; // it would say of each call that it may be made
	f = seccomp_init(otherwise);
	bad = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) : -ENOMEM;
	for (; !bad && i < n; i++)
		if (hows >> calls[i].how & 1)
			bad = seccomp_rule_add_array(f, action[calls[i].how], calls[i].nr,
						     calls[i].n, calls[i].when);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	return bad;
}

/* A table of what may not be done knows the calls of its time: what came later, and does the same
 * in another way, is not there. Nobody needs it, as older kernels have not got it. */
static int self_filter_later(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, CALLS_KNOWN, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) ? -errno : 0;
}

static struct err *self_filtered(int bad)
{
	errno = -bad;
	return bad ? err_errno("cannot confine a process") : NULL;
}

struct err *confine_self(const struct confine_call *calls, size_t n)
{
	struct err *err;
	int bad;

	self_leave_files();
	self_limit();
	err = self_drop_rights();
	if (err)
		return err;
	// What one filter says of no call is left to the other one.
	bad = self_filter(calls, n, 1u << CONFINE_NEVER, SCMP_ACT_ALLOW);
	if (!bad)
		bad = self_filter(calls, n, 1u << CONFINE_MAY | 1u << CONFINE_FAILS,
				  SCMP_ACT_KILL_PROCESS);
	return self_filtered(bad);
}

struct err *confine_self_but(const struct confine_call *calls, size_t n)
{
	int bad;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_errno("cannot give up rights");
	bad = self_filter_later();
	if (!bad)
		bad = self_filter(calls, n,
				  1u << CONFINE_NEVER | 1u << CONFINE_FAILS |
					  1u << CONFINE_NOT_THERE,
				  SCMP_ACT_ALLOW);
	return self_filtered(bad);
}
