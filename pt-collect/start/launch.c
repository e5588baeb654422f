// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Starting the program. Between fork and exec the child installs the seccomp filter that
 * closes rseq, io_uring and native AIO (the kernel would write memory behind our back);
 * the parent seizes it and leaves it stopped at the first instruction of the new image.
 */
#define LOG_ROOM "record"
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "pt-collect/tracee/wards.h"
#include "pt-collect/tracee/place.h"
#include "pt-collect/tracee/privilege.h"
#include "pt-collect/tracee/proc.h"
#include "pt-collect/start/keeper.h"
#include "pt-collect/start/start.h"

/** What the child writes when exec fails. */
struct exec_failure {
	int saved_errno;
	bool in_filter; ///< the filter, not the program, is what failed
};

/** @return 0 or an errno. Without privilege a filter needs NO_NEW_PRIVS, which would
 * change what setuid programs do; libseccomp sets it by itself unless told not to. */
static int install_filter(void)
{
	static const int closed[] = { SCMP_SYS(rseq), SCMP_SYS(io_uring_setup),
				      SCMP_SYS(io_uring_enter),
				      SCMP_SYS(io_uring_register), SCMP_SYS(io_setup) };
	scmp_filter_ctx f = seccomp_init(SCMP_ACT_ALLOW);
	int ret = f ? 0 : -ENOMEM;

	for (size_t i = 0; !ret && i < sizeof(closed) / sizeof(closed[0]); i++)
		ret = seccomp_rule_add(f, SCMP_ACT_ERRNO(ENOSYS), closed[i], 0);
	// Its threads share one CPU, whatever it asks for (inputs/threads.c).
	if (!ret)
		ret = seccomp_rule_add(f, SCMP_ACT_ERRNO(0), SCMP_SYS(sched_setaffinity),
				       0);
	if (!ret)
		ret = seccomp_attr_set(f, SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ALLOW);
	if (!ret)
		ret = seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, 0);
	if (!ret && seccomp_load(f)) {
		ret = seccomp_attr_set(f, SCMP_FLTATR_CTL_NNP, 1);
		if (!ret)
			ret = seccomp_load(f);
	}
	seccomp_release(f);
	return -ret;
}

/** The child: wait until seized, then become the program. */
__attribute__((noreturn)) static void be_program(char **argv, bool is_filtered, int go,
						 int report)
{
	struct exec_failure failure = {};
	ssize_t n;
	char byte = 'r';

	// A program in possession of our file's capabilities could not be traced.
	ptc_privilege_end();
	prctl(PR_SET_DUMPABLE, 1);
	ptc_be_usual();
	if (write(report, &byte, 1) != 1)
		_exit(PTC_EXIT_FAILED);
	while ((n = read(go, &byte, 1)) < 0 && errno == EINTR)
		;
	if (n != 1)
		_exit(PTC_EXIT_FAILED); // the recorder is gone
	failure.saved_errno = is_filtered ? install_filter() : 0;
	failure.in_filter = failure.saved_errno;
	if (!failure.in_filter) {
		execvp(argv[0], argv);
		failure.saved_errno = errno;
	}
	while (write(report, &failure, sizeof(failure)) < 0 && errno == EINTR)
		;
	_exit(127);
}

/* @return what to do about an execve() of @p program that failed so; "" where that is clear. */
static const char *hint_of(const char *program, int error)
{
	struct stat st;

	if (!stat(program, &st) && S_ISDIR(st.st_mode))
		return " (it is a directory)";
	switch (error) {
	case ENOENT:
		return " (look at its path, and at its interpreter)";
	case EACCES:
		return " (chmod +x makes a file a program)";
	case ENOEXEC:
		return " (a script names its interpreter in its first line: #!/bin/sh)";
	default:
		return "";
	}
}

static struct err *explain_failure(const struct exec_failure *f, const char *program,
				   int *exit_status)
{
	errno = f->saved_errno;
	if (f->in_filter)
		return err_errno("cannot install the system call filter");
	*exit_status = errno == ENOENT || errno == ENOTDIR ? PTC_EXIT_NOT_FOUND :
							     PTC_EXIT_CANNOT_EXECUTE;
	return err_new(ERR_OS, "cannot execute '%s': %s%s", program,
		       strerror(f->saved_errno), hint_of(program, f->saved_errno));
}

/** Let the seized child go until its exec succeeded. */
static struct err *wait_for_exec(pid_t pid, int report, const char *program,
				 int *exit_status)
{
	struct exec_failure failure;
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0)
			return err_errno("cannot wait for the program");
		if (!WIFSTOPPED(status))
			break;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return NULL;
		if (ptrace(PTRACE_CONT, pid, NULL,
			   status >> 16 ? 0L : (long)WSTOPSIG(status)))
			return err_errno("cannot continue the program");
	}
	if (read(report, &failure, sizeof(failure)) == sizeof(failure))
		return explain_failure(&failure, program, exit_status);
	return err_new(ERR_OS, "cannot start '%s': it ended before exec", program);
}

struct err *ptc_check_is_64(pid_t pid)
{
	const unsigned long user32_cs = 0x23;
	struct user_regs_struct regs;

	if (!ptrace(PTRACE_GETREGS, pid, NULL, &regs) && regs.cs == user32_cs)
		return err_new(ERR_UNSUPPORTED, "it is not a 64-bit program, and only "
						"those can be recorded");
	return NULL;
}

/** From the exec event to the first user instruction: a step ends right there, because
 * the kernel reports it on leaving the system call. */
static struct err *step_out_of_exec(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) ||
	    waitpid(pid, &status, __WALL) != pid)
		return err_errno("cannot step the program");
	if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
		return err_new(ERR_OS, "cannot start the program: it has ended");
	return NULL;
}

void ptc_tell_setuid(pid_t pid, const char *program)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (geteuid() && !stat(path, &st) && st.st_mode & (S_ISUID | S_ISGID) &&
	    st.st_uid != geteuid())
		log_warn("'%s' is setuid, and runs with your own rights: it is traced "
			 "(recorded by root it has its own)",
			 program);
}

/** ptrace() failed: because whoever traces us traces our children first? */
static struct err *explain_seize(pid_t pid, const char *program)
{
	struct err *err = err_errno("cannot trace '%s'", program);
	pid_t tracer = ptc_status_number(pid, pid, "TracerPid", 10);

	if (!tracer)
		return ptc_place_explain_ptrace(err);
	err_destroy(err);
	return err_new(
		ERR_PERMISSION,
		"cannot trace '%s': another process, %d, traces what we start (run "
		"faultline outside of strace, gdb and the like)",
		program, tracer);
}

static struct err *lead_to_start(pid_t pid, int go, int report, const char *program,
				 int *exit_status)
{
	struct err *err;
	char ready;

	if (read(report, &ready, 1) != 1)
		return err_new(ERR_OS, "cannot start '%s': it ended before exec",
			       program);
	// Should we be killed before it has begun, it does not begin.
	if (ptrace(PTRACE_SEIZE, pid, NULL, PTC_TRACE_OPTIONS | PTRACE_O_EXITKILL))
		return explain_seize(pid, program);
	if (write(go, "g", 1) != 1)
		return err_errno("cannot start '%s'", program);
	err = wait_for_exec(pid, report, program, exit_status);
	if (err)
		return err;
	err = ptc_check_is_64(pid);
	return err ? err_prefix(err, "cannot record '%s'", program) :
		     step_out_of_exec(pid);
}

void ptc_launch_undo(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	// Its end is a stop, too.
	while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status))
		ptrace(PTRACE_CONT, pid, NULL, NULL);
	ptc_wards_forget(pid);
}

struct err *ptc_launch(char **argv, bool is_filtered, pid_t *pid, int *exit_status)
{
	_cleanup_close_ int go_read = -1, go_write = -1, report_read = -1,
			    report_write = -1;
	int go[2], report[2];
	struct err *err;

	if (pipe2(go, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	go_read = go[0];
	go_write = go[1];
	if (pipe2(report, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	report_read = report[0];
	report_write = report[1];
	*pid = fork();
	if (*pid < 0)
		return err_errno("cannot fork");
	// Its own copy would keep the pipe open when we are killed.
	if (!*pid)
		closep(&go_write);
	if (!*pid)
		be_program(argv, is_filtered, go_read, report_write);
	ptc_wards_add(*pid, 0, true);
	closep(&report_write);
	report_write = -1;
	err = lead_to_start(*pid, go_write, report_read, argv[0], exit_status);
	if (err)
		ptc_launch_undo(*pid);
	else
		ptc_tell_setuid(*pid, argv[0]);
	return err;
}
