// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/confine.h"

#include <errno.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>

// 66 slots of a machine, what each looks ahead with, and some that are about to end.
#define PROCESSES_MOST 512

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
					   [CONFINE_FAILS] = SCMP_ACT_ERRNO(EPERM) };
	scmp_filter_ctx f = seccomp_init(otherwise);
	int bad = f ? seccomp_attr_set(f, SCMP_FLTATR_CTL_OPTIMIZE, 2) : -ENOMEM;

	for (size_t i = 0; !bad && i < n; i++)
		if (hows >> calls[i].how & 1)
			bad = seccomp_rule_add_array(f, action[calls[i].how], calls[i].nr,
						     calls[i].n, calls[i].when);
	if (!bad)
		bad = seccomp_load(f);
	seccomp_release(f);
	return bad;
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
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return err_errno("cannot give up rights");
	return self_filtered(self_filter(
		calls, n, 1u << CONFINE_NEVER | 1u << CONFINE_FAILS, SCMP_ACT_ALLOW));
}
