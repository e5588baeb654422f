// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK_BYTES (64u << 10)
#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC)

struct confine {
	pid_t warden; ///< 0: gone
	int status;
	int commands, ends;
	VEC(struct confine_end) told; ///< read, and not yet asked for
};

/** What the new process does before it is another program. */
struct start {
	char **argv;
	const int *fds;
	size_t n;
};

/* In a user namespace of its own the process has all rights there, and would lose them by
 * exec(). One is wanted behind that: see confine_self(). */
static void start_keep_chroot(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const uint32_t one = 1u << CAP_SYS_CHROOT;
	const struct __user_cap_data_struct data[2] = { { one, one, one }, {} };

	if (getuid() && !syscall(SYS_capset, &head, data))
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_CHROOT, 0, 0);
}

static int start_exec(void *raw)
{
	const struct start *s = raw;

	// Capabilities of the file (setcap) are for recording, not for the guest.
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	start_keep_chroot();
	for (size_t i = 0; i < s->n; i++)
		if (s->fds[i] >= 0)
			fcntl(s->fds[i], F_SETFD, 0);
	execv("/proc/self/exe", s->argv);
	_exit(125);
}

/* With namespaces of its own, as far as the kernel lets us: root's own rights make them; anybody
 * else's come with a user namespace, if that is allowed. Descriptor flags are the child's own:
 * CLONE_FILES is not among these. */
static pid_t start_process(struct start *s)
{
	static const int tries[] = { NAMESPACES, NAMESPACES | CLONE_NEWUSER, 0 };
	uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid = -1;

	if (stack == MAP_FAILED)
		return -1;
	for (size_t i = 0; pid < 0 && i < sizeof(tries) / sizeof(*tries); i++)
		pid = clone(start_exec, stack + STACK_BYTES,
			    CLONE_VM | CLONE_VFORK | SIGCHLD | tries[i], s);
	munmap(stack, STACK_BYTES);
	return pid;
}

static struct err *start_pipes(struct confine *c, int theirs[2])
{
	int commands[2], ends[2];

	if (pipe2(commands, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	c->commands = commands[1];
	theirs[0] = commands[0];
	if (pipe2(ends, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	c->ends = ends[0];
	theirs[1] = ends[1];
	return NULL;
}

/* Read one end. @return false: none is there, or none will come. */
static bool read_end(struct confine *c, bool wait, struct confine_end *ret)
{
	struct pollfd p = { .fd = c->ends, .events = POLLIN };
	ssize_t n;

	while ((n = poll(&p, 1, wait ? -1 : 0)) < 0 && errno == EINTR)
		;
	if (n <= 0 || !(p.revents & POLLIN))
		return false;
	// Written in one piece, which is less than PIPE_BUF.
	return read(c->ends, ret, sizeof(*ret)) == sizeof(*ret);
}

struct err *confine_start(const char *name, char *const args[], const int *fds, size_t n,
			  struct confine **ret, int32_t *ret_pid)
{
	_cleanup_(confine_destroyp) struct confine *c = calloc(1, sizeof(*c));
	_cleanup_close_ int commands = -1, ends = -1;
	char commands_text[16], ends_text[16];
	char *argv[CONFINE_ARGS + 16] = { (char *)name, commands_text, ends_text };
	int theirs[2] = { -1, -1 }, keep[16];
	struct confine_end first;
	struct err *err;
	size_t k = CONFINE_ARGS;

	if (!c)
		return &err_nomem;
	c->commands = c->ends = -1;
	err = start_pipes(c, theirs);
	commands = theirs[0];
	ends = theirs[1];
	if (err)
		return err;
	for (; *args && k < CONFINE_ARGS + 15; k++)
		argv[k] = *args++;
	memcpy(keep, fds, n * sizeof(*fds));
	keep[n] = commands;
	keep[n + 1] = ends;
	snprintf(commands_text, sizeof(commands_text), "%d", commands);
	snprintf(ends_text, sizeof(ends_text), "%d", ends);
	c->warden = start_process(&(struct start){ argv, keep, n + 2 });
	if (c->warden < 0) {
		c->warden = 0;
		return err_errno("cannot start a confined process");
	}
	closep(&ends);
	ends = -1;
	if (!read_end(c, true, &first))
		return err_new(ERR_OS, "a confined process did not start");
	*ret_pid = first.pid;
	*ret = take_ptr(&c);
	return NULL;
}

/* ---- ends ---------------------------------------------------------------------------------- */

bool confine_next_end(struct confine *c, struct confine_end *ret)
{
	if (c->told.size) {
		*ret = c->told.data[0];
		memmove(c->told.data, c->told.data + 1,
			--c->told.size * sizeof(c->told.data[0]));
		return true;
	}
	return read_end(c, false, ret);
}

void confine_kill(struct confine *c, int32_t pid)
{
	struct confine_end end = {};

	if (write(c->commands, &pid, sizeof(pid)) != sizeof(pid))
		return; // the warden is gone, and so are all
	while (read_end(c, true, &end) && end.pid != pid)
		err_destroy(vec_add(&c->told, end));
}

bool confine_is_gone(struct confine *c, int *ret_status)
{
	if (c->warden && waitpid(c->warden, &c->status, WNOHANG) == c->warden)
		c->warden = 0;
	*ret_status = c->status;
	return !c->warden;
}

void confine_destroy(struct confine *c)
{
	if (!c)
		return;
	closep(&c->commands);
	closep(&c->ends); // so that telling us of one does not keep the warden
	if (c->warden) {
		kill(c->warden, SIGTERM);
		while (waitpid(c->warden, NULL, 0) < 0 && errno == EINTR)
			;
	}
	vec_deinit(&c->told);
	free(c);
}

void confine_destroyp(struct confine **c)
{
	confine_destroy(*c);
}
