// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * docker CAPS PROGRAM [ARG...] - run PROGRAM with the capabilities and below a filter as
 * docker's defaults are: the capabilities of `docker run` and those of CAPS (cap_bpf,...; -:
 * no more), and EPERM for the system calls that its profile leaves out. Of newer profiles: bpf
 * and perf_event_open are allowed to who has CAP_BPF and CAP_PERFMON; with TOOL_DOCKER_OLD=1,
 * as before docker 23, only to CAP_SYS_ADMIN.
 */
#include <errno.h>
#include <seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define DEFAULT                                                                   \
	"cap_chown,cap_dac_override,cap_fowner,cap_fsetid,cap_kill,cap_setgid,"   \
	"cap_setuid,cap_setpcap,cap_net_bind_service,cap_net_raw,cap_sys_chroot," \
	"cap_mknod,cap_audit_write,cap_setfcap"

static const char *const left_out[] = {
	"acct",		  "add_key",
	"clock_adjtime",  "clock_settime",
	"delete_module",  "fanotify_init",
	"finit_module",	  "fsconfig",
	"fsmount",	  "fsopen",
	"fspick",	  "get_mempolicy",
	"init_module",	  "io_uring_setup",
	"io_uring_enter", "io_uring_register",
	"ioperm",	  "iopl",
	"kcmp",		  "kexec_file_load",
	"kexec_load",	  "keyctl",
	"lookup_dcookie", "mbind",
	"mount",	  "mount_setattr",
	"move_mount",	  "move_pages",
	"nfsservctl",	  "open_by_handle_at",
	"open_tree",	  "pivot_root",
	"quotactl",	  "reboot",
	"request_key",	  "set_mempolicy",
	"sethostname",	  "setns",
	"settimeofday",	  "swapoff",
	"swapon",	  "syslog",
	"umount2",	  "unshare",
	"userfaultfd",	  "vhangup",
	"pidfd_getfd",
};

static int forbid(scmp_filter_ctx f, const char *name)
{
	int nr = seccomp_syscall_resolve_name(name);

	return nr < 0 ? 0 : seccomp_rule_add(f, SCMP_ACT_ERRNO(EPERM), nr, 0);
}

static int install_filter(cap_t caps)
{
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int is_old = getenv("TOOL_DOCKER_OLD") != NULL, ret = f ? 0 : -ENOMEM;
	cap_flag_value_t bpf = CAP_CLEAR, perfmon = CAP_CLEAR;

	cap_get_flag(caps, CAP_BPF, CAP_PERMITTED, &bpf);
	cap_get_flag(caps, CAP_PERFMON, CAP_PERMITTED, &perfmon);
	for (size_t i = 0; !ret && i < COUNT(left_out); i++)
		ret = forbid(f, left_out[i]);
	if (!ret && (is_old || !bpf))
		ret = forbid(f, "bpf");
	if (!ret && (is_old || !perfmon))
		ret = forbid(f, "perf_event_open");
	if (!ret)
		ret = seccomp_load(f);
	seccomp_release(f);
	return ret;
}

/** Only @p caps may be had from here on, by whatever is executed, too. */
static int drop(cap_t caps)
{
	for (cap_value_t v = 0; cap_get_bound(v) >= 0; v++) {
		cap_flag_value_t on = CAP_CLEAR;

		if ((cap_get_flag(caps, v, CAP_PERMITTED, &on) || on == CAP_CLEAR) &&
		    cap_drop_bound(v))
			return -1;
	}
	return cap_set_proc(caps);
}

int main(int argc, char **argv)
{
	char text[1024];
	cap_t caps;

	if (argc < 3)
		return 2;
	snprintf(text, sizeof(text), "%s%s%s=ep", DEFAULT, *argv[1] == '-' ? "" : ",",
		 *argv[1] == '-' ? "" : argv[1]);
	caps = cap_from_text(text);
	// The profile comes with no_new_privs unset: it is root that sets it.
	if (!caps || install_filter(caps) || drop(caps)) {
		perror("tool_docker");
		return 2;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
