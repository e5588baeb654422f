// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define STACK_BYTES (64u << 10)
#define NAMESPACES (CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWNS | CLONE_NEWIPC)
#define ABOVE_FDS 64 ///< no descriptor of a confined process is one of these

const char *confine_program = "/proc/self/exe";

struct confine {
	pid_t warden; ///< 0: somebody else waits for it
	int commands, ends;
	VEC(struct confine_end) told; ///< read, and not yet asked for
};

/* ---- a group -------------------------------------------------------------------------------- */

/** What the new process does before it is another program. */
struct start {
	char *const *argv;
	const int *fds; ///< in turn for CONFINE_COMMANDS, CONFINE_ENDS, CONFINE_FD(0) ...
	size_t n;
	bool is_old_layout; ///< CONFINE_OLD_LAYOUT
};

// ThreadSanitizer takes clone() for a fork, and what it undoes behind that the child would undo in our memory, too:
// mutexes were not seen any more.
#ifdef __SANITIZE_THREAD__
#define LENT 0
#else
#define LENT (CLONE_VM | CLONE_VFORK)
#endif

/* The clone's frames, which nobody leaves, are no memory to be remembered as a stack's: its
 * place is something else's soon. */
#define ON_LENT_STACK __attribute__((no_sanitize("address")))

/* In a user namespace of its own the process has all rights there, and would lose them by
 * exec(). One is wanted behind that: see confine_self(). */
ON_LENT_STACK static void start_keep_chroot(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	const uint32_t one = 1u << CAP_SYS_CHROOT;
	const struct __user_cap_data_struct data[2] = { { one, one, one }, {} };

	if (getuid() && !syscall(SYS_capset, &head, data))
		prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_SYS_CHROOT, 0, 0);
}

ON_LENT_STACK static int start_exec(void *raw)
{
	const struct start *s = raw;
	int fd[CONFINE_FDS + 2];

	// Capabilities of the file (setcap) are for recording, not for the guest.
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	start_keep_chroot();
	for (size_t i = 0; i < s->n; i++)
		fd[i] = s->fds[i] < 0 ? -1 : fcntl(s->fds[i], F_DUPFD_CLOEXEC, ABOVE_FDS);
	for (size_t i = 0; i < s->n; i++)
		if (fd[i] < 0 ? s->fds[i] >= 0 : dup2(fd[i], CONFINE_COMMANDS + i) < 0)
			_exit(125);
		else if (fd[i] < 0)
			close(CONFINE_COMMANDS + i);
	if (s->is_old_layout)
		personality(ADDR_COMPAT_LAYOUT);
	execv(confine_program, s->argv);
	_exit(125);
}

/* With namespaces of its own, as far as the kernel lets us: root's own rights make them; anybody
 * else's come with a user namespace, if that is allowed. The child's descriptors are its own:
 * CLONE_FILES is not among the flags. */
static pid_t start_process(struct start *s)
{
	static const int tries[] = { NAMESPACES, NAMESPACES | CLONE_NEWUSER, 0 };
	uint8_t *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	pid_t pid = -1;

	if (stack == MAP_FAILED)
		return -1;
	for (size_t i = 0; pid < 0 && i < sizeof(tries) / sizeof(*tries); i++)
		pid = clone(start_exec, stack + STACK_BYTES, LENT | SIGCHLD | tries[i],
			    s);
	munmap(stack, STACK_BYTES);
	return pid;
}

struct err *confine_launch(char *const args[], const int *fds, size_t n, int ret[2],
			   pid_t *warden)
{
	char *argv[CONFINE_ARGS_MOST + 2] = { (char *)CONFINE_NAME };
	int commands[2] = { -1, -1 }, ends[2] = { -1, -1 }, all[CONFINE_FDS + 2];
	struct start s = { .argv = argv, .fds = all, .n = n + 2 };
	pid_t pid = -1;

	for (size_t i = 0; args[i] && i < CONFINE_ARGS_MOST; i++)
		if (i && !args[i + 1] && !strcmp(args[i], CONFINE_OLD_LAYOUT))
			s.is_old_layout = true;
		else
			argv[i + 1] = args[i];
	if (!pipe2(commands, O_CLOEXEC) && !pipe2(ends, O_CLOEXEC)) {
		all[0] = commands[0];
		all[1] = ends[1];
		if (n)
			memcpy(all + 2, fds, n * sizeof(*fds));
		pid = start_process(&s);
	}
	ret[0] = commands[1];
	ret[1] = ends[0];
	closep(&commands[0]);
	closep(&ends[1]);
	*warden = pid < 0 ? 0 : pid;
	return pid < 0 ? err_errno("cannot start a confined process") : NULL;
}

/* ---- its owner -------------------------------------------------------------------------------- */

confine_launch_fn *confine_launcher = confine_launch;

/* Read one end. @return false: none is there, or (*@p is_gone) none will come. */
static bool read_end(struct confine *c, bool wait, struct confine_end *ret, bool *is_gone)
{
	struct pollfd p = { .fd = c->ends, .events = POLLIN };
	int n;

	while ((n = poll(&p, 1, wait ? -1 : 0)) < 0 && errno == EINTR)
		;
	// Written in one piece, which is less than PIPE_BUF.
	if (n > 0 && p.revents & POLLIN)
		return read(c->ends, ret, sizeof(*ret)) == sizeof(*ret);
	*is_gone = n > 0;
	return false;
}

struct err *confine_start(char *const args[], const int *fds, size_t n,
			  struct confine **ret, int32_t *ret_pid)
{
	_cleanup_(confine_destroyp) struct confine *c = calloc(1, sizeof(*c));
	int pipes[2] = { -1, -1 };
	struct confine_end first;
	struct err *err;
	bool is_gone;

	if (!c)
		return &err_nomem;
	c->commands = c->ends = -1;
	err = confine_launcher(args, fds, n, pipes, &c->warden);
	c->commands = pipes[0];
	c->ends = pipes[1];
	if (!err && !read_end(c, true, &first, &is_gone))
		err = err_new(ERR_OS, "a confined process did not start");
	if (err)
		return err;
	*ret_pid = first.pid;
	*ret = take_ptr(&c);
	return NULL;
}

bool confine_next_end(struct confine *c, struct confine_end *ret, bool *is_gone)
{
	*is_gone = false;
	if (c->told.size) {
		*ret = c->told.data[0];
		memmove(c->told.data, c->told.data + 1,
			--c->told.size * sizeof(c->told.data[0]));
		return true;
	}
	return read_end(c, false, ret, is_gone);
}

void confine_kill(struct confine *c, int32_t pid)
{
	struct confine_end end = {};
	bool is_gone;

	if (write(c->commands, &pid, sizeof(pid)) != sizeof(pid))
		return; // the warden is gone, and so are all
	while (read_end(c, true, &end, &is_gone) && end.pid != pid)
		err_destroy(vec_add(&c->told, end));
}

void confine_destroy(struct confine *c)
{
	struct confine_end end;
	bool is_gone;

	if (!c)
		return;
	closep(&c->commands); // it ends the group, and itself, whereupon `ends' is over
	while (c->ends >= 0 && read_end(c, true, &end, &is_gone))
		;
	closep(&c->ends);
	while (c->warden && waitpid(c->warden, NULL, 0) < 0 && errno == EINTR)
		; // so that its time counts as ours
	vec_deinit(&c->told);
	free(c);
}

void confine_destroyp(struct confine **c)
{
	confine_destroy(*c);
}
