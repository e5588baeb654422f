// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whether `record -p` can attach to a process, by what /proc says of it. Each refusal says
 * what to do instead.
 */
#define LOG_ROOM "record"
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "pt-collect/start/attach.h"
#include "pt-collect/tracee/proc.h"

static struct err *check_image(pid_t pid)
{
	_cleanup_close_ int fd = -1;
	unsigned char head[20] = {};
	_cleanup_free_ char *there = ptc_proc_link(pid, "ns/pid");
	_cleanup_free_ char *here = ptc_proc_link(getpid(), "ns/pid");
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return err_new(ERR_UNSUPPORTED, "it is a thread of the kernel");
	if (fd < 0)
		return err_errno(
			"cannot read its program (it belongs to another user, or "
			"forbids it; see CAP_SYS_PTRACE)");
	if (pread(fd, head, sizeof(head), 0) != sizeof(head) ||
	    head[EI_CLASS] != ELFCLASS64 || head[18] != EM_X86_64)
		return err_new(ERR_UNSUPPORTED,
			       "it is not a 64-bit program, and only those can be "
			       "recorded");
	if (!there || !here || strcmp(there, here) != 0)
		return err_new(ERR_UNSUPPORTED,
			       "it lives in another PID namespace (a container), where "
			       "threads have other numbers");
	return NULL;
}

/** Who traces it, by name. */
static struct err *check_tracer(pid_t pid)
{
	pid_t tracer = ptc_status_number(pid, pid, "TracerPid", 10);
	char name[256] = "?";

	if (!tracer)
		return NULL;
	ptc_status_line(tracer, tracer, "Name", name);
	return err_new(ERR_PERMISSION, "process %d (%s) traces it already", tracer, name);
}

static struct err *check_state(pid_t pid)
{
	switch (ptc_status_letter(pid, pid, "State")) {
	case 'Z':
	case 'X':
		return err_new(ERR_UNSUPPORTED,
			       "it has ended (only its parent still has to ask for its "
			       "status), or its first thread has");
	case 'T':
		return err_new(ERR_UNSUPPORTED,
			       "it is stopped (kill -CONT %d lets it go on)", pid);
	}
	return NULL;
}

struct err *ptc_target_check(pid_t *pid)
{
	pid_t number = *pid, tgid;
	char path[64];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d", number);
	if (number <= 0 || access(path, F_OK))
		return err_new(ERR_NOT_FOUND,
			       "cannot attach to process %d: there is no such process",
			       number);
	tgid = ptc_status_number(number, number, "Tgid", 10);
	if (tgid && tgid != number) {
		log_warn("%d is a thread of process %d: recording that", number, tgid);
		*pid = tgid;
	}
	if (*pid == getpid() || *pid == getppid())
		err = err_new(ERR_USAGE, "that is faultline itself");
	else
		err = check_state(*pid);
	if (!err)
		err = check_image(*pid);
	if (!err)
		err = check_tracer(*pid);
	return err ? err_prefix(err, "cannot attach to process %d", number) : NULL;
}
