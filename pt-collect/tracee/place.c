// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where we record. A kernel too old, without types or locked down, a container, Yama: the
 * kernel refuses with an errno that says nothing of these. What was in its way is found out
 * when it has refused; distributions backport, so a kernel that does not refuse is new enough.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "pt-collect/tracee/place.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define LOCKDOWN "/sys/kernel/security/lockdown"
#define PTRACE_SCOPE "/proc/sys/kernel/yama/ptrace_scope"

/* The first namespaces' numbers are constants of the kernel (PROC_PID_INIT_INO, ...). */
#define FIRST_PID_NS 0xeffffffcu
#define FIRST_USER_NS 0xeffffffdu

/* The youngest thing that the BPF programs use is bpf_loop(). */
#define OLDEST_MAJOR 5
#define OLDEST_MINOR 17

static bool is_in_first(const char *ns, ino_t first)
{
	struct stat st;

	return stat(ns, &st) || st.st_ino == first;
}

static bool is_in_user_ns(void)
{
	return !is_in_first("/proc/self/ns/user", FIRST_USER_NS);
}

struct err *ptc_place_check(void)
{
	if (is_in_first("/proc/self/ns/pid", FIRST_PID_NS))
		return NULL;
	return err_new(
		ERR_UNSUPPORTED,
		"cannot record: this is a PID namespace of its own (a container), where "
		"processes have other numbers than the kernel tells us (docker and "
		"podman: run --pid=host)");
}

/* Seen on 7.3, where system calls' tracepoints may be preempted; not on 6.18. */
#define PREEMPTED_MAJOR 7

bool ptc_place_loses_calls(void)
{
	unsigned major, minor;
	struct utsname u;

	return !uname(&u) && sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
	       major >= PREEMPTED_MAJOR;
}

/** @return whether the first line of @p path holds @p text. */
static bool says(const char *path, const char *text)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[256];

	return f && fgets(line, sizeof(line), f) && strstr(line, text);
}

static bool is_too_old(struct utsname *u)
{
	unsigned major, minor;

	return !uname(u) && sscanf(u->release, "%u.%u", &major, &minor) == 2 &&
	       (major < OLDEST_MAJOR || (major == OLDEST_MAJOR && minor < OLDEST_MINOR));
}

static struct err *explain(int saved_errno)
{
	struct utsname u;

	if (access(KERNEL_TYPES, R_OK))
		return err_errno(
			"cannot record: this kernel's types cannot be read at "
			"'" KERNEL_TYPES "' (needs a kernel with "
			"CONFIG_DEBUG_INFO_BTF, as Debian's are, and /sys mounted)");
	if (is_too_old(&u))
		return err_new(
			ERR_UNSUPPORTED,
			"cannot record: this kernel is Linux %s, and its BPF lacks what "
			"recording needs (needs Linux %d.%d)",
			u.release, OLDEST_MAJOR, OLDEST_MINOR);
	if (says(LOCKDOWN, "[confidentiality]"))
		return err_new(
			ERR_PERMISSION,
			"cannot record: this kernel is locked down, and lets no BPF "
			"program read its memory (boot with lockdown=integrity, or "
			"none; see '" LOCKDOWN "')");
	if (saved_errno != EPERM && saved_errno != EACCES)
		return NULL;
	if (is_in_user_ns())
		return err_new(
			ERR_PERMISSION,
			"cannot record: CAP_BPF and CAP_PERFMON are those of a user "
			"namespace (a container without root), and the kernel wants the "
			"host's (record outside, or in a container that root started)");
	if (prctl(PR_GET_SECCOMP) == 2)
		return err_new(
			ERR_PERMISSION,
			"cannot record: a seccomp filter forbids bpf(2) (docker and "
			"podman: run --security-opt seccomp=unconfined, or with a "
			"profile that allows bpf and perf_event_open)");
	return NULL;
}

struct err *ptc_place_explain_bpf(struct err *err)
{
	struct err *why = explain(err->saved_errno);

	if (!why)
		return err;
	log_debug("%s", err->message);
	err_destroy(err);
	return why;
}

struct err *ptc_place_explain_ptrace(struct err *err)
{
	_cleanup_fclose_ FILE *f = fopen(PTRACE_SCOPE, "re");
	struct err *why;
	int scope = 0;

	if ((err->saved_errno != EPERM && err->saved_errno != EACCES) || !f ||
	    fscanf(f, "%d", &scope) != 1 || !scope)
		return err;
	why = err_new(ERR_PERMISSION, "%s (kernel.yama.ptrace_scope is %d: %s)",
		      err->message, scope,
		      scope >= 3 ? "nobody may trace until the next boot" :
		      scope == 2 ? "only root may, or who has CAP_SYS_PTRACE" :
				   "only root attaches to what runs already");
	err_destroy(err);
	return why;
}
