// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Who owns a command's process: makes the files that the user named, starts the machine's
 * processes, asks for debug information. What it is told may be a stranger's.
 */

#define LOG_ROOM "confine"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "confine/ask.h"
#include "confine/start.h"

#define FILES_MOST 64

struct owner {
	char **argv;
	const char *const *outputs;
	struct new_file files[FILES_MOST];
	bool is_open[FILES_MOST];
};

static pid_t command; ///< for the handler, too

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

static struct err *owner_open(struct owner *o, const struct confine_request *q,
			      uint32_t *handle)
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

static struct err *owner_end(struct owner *o, const struct confine_request *q)
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

static struct err *owner_start(const struct confine_request *q, const int *some,
			       size_t n_some, int ret[2])
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
static struct err *owner_debuginfo(const struct confine_request *q, int *ret)
{
	const char *const argv[] = { "debuginfod-find", "debuginfo", q->path, NULL };
	posix_spawn_file_actions_t actions;
	_cleanup_close_ int in = -1;
	char path[PATH_MAX];
	int pipes[2];
	ssize_t n = -1;
	pid_t pid;

	if (!*q->path || strspn(q->path, "0123456789abcdef") != strlen(q->path) ||
	    strlen(q->path) > 2 * CONFINE_BUILD_ID_BYTES)
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
	struct confine_reply r = {};
	struct confine_request q;
	bool is_sent;

	if (!confine_receive(sock, &q, sizeof(q), got, &n_got)) {
		confine_close(got, n_got);
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
	is_sent = confine_send(sock, &r, sizeof(r), given, n_given);
	if (q.ask != ASK_OPEN)
		confine_close(given, n_given);
	confine_close(got, n_got);
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

int confine_own(pid_t pid, char **argv, const char *const *outputs, int sock)
{
	static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	struct owner o = { .argv = argv, .outputs = outputs };
	int status = 0;

	command = pid;
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
