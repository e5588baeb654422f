// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The process of a command: libdw, zstd and libipt parse a stranger's bytes in it. Its owner,
 * which has read nothing of these, makes the files that the user named.
 */

#define LOG_ROOM "confine"

#include "confine/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define FILES_MOST 64
#define TEXT_BYTES 1024
#define BUILD_ID_BYTES 64

/* ---- what goes between the two --------------------------------------------------------- */

enum ask { ASK_OPEN, ASK_COMMIT, ASK_DROP, ASK_START, ASK_DEBUGINFO };

struct request {
	enum ask ask;
	uint32_t handle; ///< COMMIT, DROP
	mode_t mode;	 ///< OPEN
	uint32_t n_fds;	 ///< START
	uint32_t has_fd; ///< bit by bit; those come along
	char path
		[PATH_MAX]; ///< OPEN. START: the arguments, each with its NUL; at last an empty one
};

struct reply {
	uint32_t handle;
	enum err_code code; ///< 0: it went well
	char text[TEXT_BYTES];
};

union passed {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(CONFINE_FDS * sizeof(int))];
};

/* Send @p bytes at @p data, and @p n descriptors. */
static bool send_with(int sock, const void *data, size_t bytes, const int *fds, size_t n)
{
	union passed passed = {};
	struct iovec v = { (void *)data, bytes };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	if (n) {
		m.msg_control = passed.bytes;
		m.msg_controllen = CMSG_SPACE(n * sizeof(*fds));
		passed.head = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
						.cmsg_type = SCM_RIGHTS,
						.cmsg_len = CMSG_LEN(n * sizeof(*fds)) };
		memcpy(CMSG_DATA(&passed.head), fds, n * sizeof(*fds));
	}
	return sendmsg(sock, &m, MSG_NOSIGNAL) == (ssize_t)bytes;
}

/* Receive just @p bytes, and the descriptors that come along: @p ret_n of them. */
static bool receive_with(int sock, void *data, size_t bytes, int fds[CONFINE_FDS],
			 size_t *ret_n)
{
	union passed passed = {};
	struct iovec v = { data, bytes };
	struct msghdr m = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = passed.bytes,
			    .msg_controllen = sizeof(passed.bytes) };
	ssize_t n;

	while ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
		;
	*ret_n = 0;
	if (n > 0 && CMSG_FIRSTHDR(&m) && passed.head.cmsg_type == SCM_RIGHTS) {
		*ret_n = (passed.head.cmsg_len - CMSG_LEN(0)) / sizeof(*fds);
		memcpy(fds, CMSG_DATA(&passed.head), *ret_n * sizeof(*fds));
	}
	return n == (ssize_t)bytes;
}

static void close_all(const int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
}

/* ---- the command's side ------------------------------------------------------------------ */

static int to_owner = -1;

/* Ask with @p n descriptors, and get the @p n_wanted that come with a good answer. */
static struct err *ask_owner(const struct request *q, const int *fds, size_t n,
			     struct reply *r, int *ret, size_t n_wanted)
{
	int got[CONFINE_FDS];
	size_t n_got = 0;

	if (!send_with(to_owner, q, sizeof(*q), fds, n) ||
	    !receive_with(to_owner, r, sizeof(*r), got, &n_got))
		return err_new(ERR_OS, "the process that started this one is gone");
	if (r->code || n_got != n_wanted) {
		close_all(got, n_got);
		return err_new(r->code ?: ERR_OS, "%s", r->text);
	}
	if (n_got)
		memcpy(ret, got, n_got * sizeof(*got));
	return NULL;
}

static struct err *command_open(const char *path, mode_t mode, int *fd, uint32_t *handle)
{
	struct request q = { .ask = ASK_OPEN, .mode = mode };
	struct reply r;
	struct err *err;

	if (strlen(path) >= sizeof(q.path)) {
		errno = ENAMETOOLONG;
		return err_errno("cannot write '%s'", path);
	}
	strcpy(q.path, path);
	err = ask_owner(&q, NULL, 0, &r, fd, 1);
	*handle = err ? 0 : r.handle;
	return err;
}

static struct err *command_end(uint32_t handle, bool commits)
{
	struct request q = { .ask = commits ? ASK_COMMIT : ASK_DROP, .handle = handle };
	struct reply r;

	return ask_owner(&q, NULL, 0, &r, NULL, 0);
}

int confine_debuginfo(const uint8_t *id, size_t bytes)
{
	const char *servers = secure_getenv("DEBUGINFOD_URLS");
	struct request q = { .ask = ASK_DEBUGINFO };
	struct reply r;
	int fd = -1;

	if (to_owner < 0 || !servers || !*servers || bytes > BUILD_ID_BYTES)
		return -1;
	for (size_t i = 0; i < bytes; i++)
		sprintf(q.path + 2 * i, "%02x", id[i]);
	err_destroy(ask_owner(&q, NULL, 0, &r, &fd, 1));
	return fd;
}

/* A confined_launch_fn. */
static struct err *command_launch(char *const argv[], const int *fds, size_t n,
				  int ret[2], pid_t *warden)
{
	struct request q = { .ask = ASK_START, .n_fds = n };
	int some[CONFINE_FDS];
	size_t at = 0, n_some = 0;
	struct reply r;

	*warden = 0;
	for (; *argv; argv++) {
		size_t bytes = strlen(*argv) + 1;

		if (bytes >= sizeof(q.path) - at) {
			errno = ENAMETOOLONG;
			return err_errno("cannot start a confined process");
		}
		memcpy(q.path + at, *argv, bytes);
		at += bytes;
	}
	for (size_t i = 0; i < n; i++)
		if (fds[i] >= 0) {
			q.has_fd |= 1u << i;
			some[n_some++] = fds[i];
		}
	return ask_owner(&q, some, n_some, &r, ret, 2);
}

static int command_run(int (*run)(int argc, char **argv), int argc, char **argv)
{
	static const struct new_file_maker maker = { command_open, command_end };
	struct err *err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	new_file_set_maker(&maker);
	confine_launcher = command_launch;
	err = confine_as_command();
	if (err) {
		fprintf(stderr, "%s: %s\n", argv[0], err->message);
		return 2;
	}
	return run(argc, argv);
}

/* ---- its owner --------------------------------------------------------------------------- */

struct owner {
	char **argv;
	const char *const *outputs;
	struct new_file files[FILES_MOST];
	bool is_open[FILES_MOST];
};

static pid_t command; ///< for the handler

static void pass_signal_on(int signo)
{
	kill(command, signo);
}

/* @return whether @p arg is option @p name (of two letters or more: as a long one, perhaps cut
 * short) and gives, or @p next gives, @p path. */
static bool gives(const char *arg, const char *next, const char *name, const char *path)
{
	const char *value;
	size_t length;

	if (name[1]) {
		length = strcspn(arg, "=");
		if (length < 3 || strncmp(arg, "--", 2) ||
		    strncmp(arg + 2, name, length - 2))
			return false;
		value = arg[length] ? arg + length + 1 : next;
	} else {
		value = arg[0] == '-' && arg[1] != '-' ? strchr(arg, *name) : NULL;
		if (!value)
			return false;
		value = value[1] ? value + 1 : next;
	}
	return value && !strcmp(value, path);
}

/* @return whether the command line says that @p path is to be written. */
static bool is_output(const struct owner *o, const char *path)
{
	for (size_t i = 1; o->argv[i]; i++)
		for (size_t k = 0; o->outputs[k]; k++)
			if (*o->outputs[k] ? gives(o->argv[i], o->argv[i + 1],
						   o->outputs[k], path) :
					     !strcmp(o->argv[i], path))
				return true;
	return false;
}

static struct err *owner_open(struct owner *o, const struct request *q, uint32_t *handle)
{
	struct err *err;
	uint32_t i = 0;

	while (i < FILES_MOST && o->is_open[i])
		i++;
	if (i == FILES_MOST || !is_output(o, q->path))
		return err_new(ERR_PERMISSION,
			       "cannot write '%s': the command line does not name it",
			       q->path);
	err = new_file_open(&o->files[i], q->path, q->mode & 0666);
	if (err)
		new_file_deinit(&o->files[i]);
	o->is_open[i] = !err;
	*handle = i + 1;
	return err;
}

static struct err *owner_end(struct owner *o, const struct request *q)
{
	uint32_t i = q->handle - 1;
	struct err *err = NULL;

	if (i >= FILES_MOST || !o->is_open[i])
		return err_new(ERR_OS, "no such file is being written");
	if (q->ask == ASK_COMMIT)
		err = new_file_commit(&o->files[i]);
	new_file_deinit(&o->files[i]);
	o->is_open[i] = false;
	return err;
}

/* Wardens that are gone; their time counts as ours. */
static void owner_reap(void)
{
	siginfo_t info = {};

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
	       info.si_pid != command) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static struct err *owner_start(const struct request *q, const int *some, size_t n_some,
			       int ret[2])
{
	char *argv[CONFINE_ARGS_MOST + 2] = {};
	int fds[CONFINE_FDS];
	pid_t warden; // owner_reap() will find it
	size_t n = 0, at = 0;

	if (q->n_fds > CONFINE_FDS ||
	    n_some != (size_t)__builtin_popcount(q->has_fd & ((1u << q->n_fds) - 1)))
		return err_new(ERR_OS, "not as many descriptors as told");
	for (uint32_t i = 0; i < q->n_fds; i++)
		fds[i] = q->has_fd >> i & 1 ? *some++ : -1;
	for (; n <= CONFINE_ARGS_MOST && q->path[at]; at += strlen(argv[n++]) + 1)
		argv[n] = (char *)q->path + at;
	owner_reap();
	return confine_launch(argv, fds, q->n_fds, ret, &warden);
}

/* Ask the user's servers for the debug information of build-id @p q->path, as libdw would. They
 * have the network, and keep copies. @p ret: a descriptor; -1: they have none. */
static struct err *owner_debuginfo(const struct request *q, int *ret)
{
	const char *const argv[] = { "debuginfod-find", "debuginfo", q->path, NULL };
	posix_spawn_file_actions_t actions;
	_cleanup_close_ int in = -1;
	char path[PATH_MAX];
	int pipes[2];
	ssize_t n = -1;
	pid_t pid;

	if (!*q->path || strspn(q->path, "0123456789abcdef") != strlen(q->path) ||
	    strlen(q->path) > 2 * BUILD_ID_BYTES)
		return err_new(ERR_FORMAT, "no build-id");
	if (pipe2(pipes, O_CLOEXEC))
		return err_errno("cannot make a pipe");
	in = pipes[0];
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pipes[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY,
					 0);
	errno = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(pipes[1]);
	if (errno)
		return err_errno("cannot run debuginfod-find");
	n = read(in, path, sizeof(path) - 1);
	waitpid(pid, NULL, 0);
	path[n > 0 ? n : 0] = 0;
	path[strcspn(path, "\n")] = 0;
	*ret = *path == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return *ret < 0 ? err_new(ERR_NOT_FOUND, "no debug information") : NULL;
}

/* @return whether more may come. */
static bool owner_serve(struct owner *o, int sock)
{
	int got[CONFINE_FDS], given[2] = { -1, -1 };
	size_t n_got, n_given = 0;
	struct err *err = NULL;
	struct reply r = {};
	struct request q;
	bool is_sent;

	if (!receive_with(sock, &q, sizeof(q), got, &n_got)) {
		close_all(got, n_got);
		return false;
	}
	// The last two bytes end the last text, and the list of texts.
	q.path[sizeof(q.path) - 2] = q.path[sizeof(q.path) - 1] = 0;
	switch (q.ask) {
	case ASK_OPEN:
		err = owner_open(o, &q, &r.handle);
		if (!err)
			given[n_given++] = fileno(o->files[r.handle - 1].stream);
		break;
	case ASK_START:
		err = owner_start(&q, got, n_got, given);
		n_given = err ? 0 : 2;
		break;
	case ASK_DEBUGINFO:
		err = owner_debuginfo(&q, given);
		n_given = !err;
		break;
	default:
		err = owner_end(o, &q);
	}
	if (err) {
		r.code = err->code;
		snprintf(r.text, sizeof(r.text), "%s", err->message);
	}
	is_sent = send_with(sock, &r, sizeof(r), given, n_given);
	if (q.ask != ASK_OPEN)
		close_all(given, n_given);
	close_all(got, n_got);
	err_destroy(err);
	return is_sent;
}

/* It ended by a signal: so do we, and leave no core of ours beside its. */
static int end_by(int signo)
{
	setrlimit(RLIMIT_CORE, &(struct rlimit){});
	signal(signo, SIG_DFL);
	raise(signo);
	return 128 + signo;
}

static int owner_run(char **argv, const char *const *outputs, int sock)
{
	static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct owner o = { .argv = argv, .outputs = outputs };
	int status = 0;

	// A terminal sends these to both of us.
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		signal(passed_on[i], pass_signal_on);
	while (owner_serve(&o, sock))
		;
	while (waitpid(command, &status, 0) < 0 && errno == EINTR)
		;
	while (wait(NULL) > 0 || errno == EINTR)
		; // wardens, whose time counts as ours
	for (uint32_t i = 0; i < FILES_MOST; i++)
		if (o.is_open[i])
			new_file_deinit(&o.files[i]);
	return WIFSIGNALED(status) ? end_by(WTERMSIG(status)) : WEXITSTATUS(status);
}

int confine_command(int (*run)(int argc, char **argv), int argc, char **argv,
		    const char *const *outputs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) ||
	    (fflush(NULL), command = fork()) < 0) {
		fprintf(stderr, "faultline: cannot start '%s': %s\n", argv[0],
			strerror(errno));
		return 2;
	}
	if (!command) {
		close(pair[0]);
		to_owner = pair[1];
		exit(command_run(run, argc, argv));
	}
	close(pair[1]);
	return owner_run(argv, outputs, pair[0]);
}
