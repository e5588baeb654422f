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
#include <sys/stat.h>
#include <sys/wait.h>

#include "confine/ask.h"
#include "confine/start.h"

#define FILES_MOST 64
#define EXIT_COULD_NOT 2 ///< doc/exit-status.md

/** A directory, whatever its name. */
struct place {
	dev_t dev;
	ino_t ino;
};

struct owner {
	char **argv;
	const struct confine_outputs *outputs;
	struct new_file files[FILES_MOST];
	bool is_open[FILES_MOST];
	VEC(struct place) inside;   ///< what it may write into, and below
	VEC(struct place) captures; ///< or so may be: below, what is_joined()
	VEC(char *) made;	    ///< directories that were not there
};

static pid_t command; ///< for the handler, too

static void pass_signal_on(int signo)
{
	kill(command, signo);
}

/* What a terminal sends, it sends to both of us; a process may mean us alone. */
static void pass_sent_on(int signo, siginfo_t *info, void *context)
{
	(void)context;
	if (info->si_code != SI_KERNEL)
		kill(command, signo);
}

/* @return whether @p arg is the long option @p name, perhaps cut short. */
static bool is_long(const char *arg, const char *name)
{
	size_t length = strcspn(arg, "=");

	return length >= 3 && !strncmp(arg, "--", 2) &&
	       !strncmp(arg + 2, name, length - 2);
}

/* @return what @p arg, if it is option @p name (a long one, if it has two letters or more), gives, or
 * @p next gives; NULL: it is not. */
static const char *given(const char *arg, const char *next, const char *name)
{
	const char *at;

	if (name[1]) {
		if (!is_long(arg, name))
			return NULL;
		at = strchr(arg, '=');
		return at ? at + 1 : next;
	}
	at = arg[0] == '-' && arg[1] != '-' ? strchr(arg, *name) : NULL;
	if (!at)
		return NULL;
	return at[1] ? at + 1 : next;
}

/* @return whether one of the options @p names gives @p path. */
static bool is_named(const struct owner *o, const char *const *names, const char *path)
{
	for (size_t i = 1; o->argv[i]; i++)
		for (size_t k = 0; names && names[k]; k++) {
			const char *value = given(o->argv[i], o->argv[i + 1], names[k]);

			if (value && !strcmp(value, path))
				return true;
		}
	return false;
}

static bool is_file_named(const struct owner *o, const char *path)
{
	bool is_argument = false, is_in_place = false;

	for (size_t i = 1; o->argv[i] && o->outputs->in_place; i++) {
		is_argument |= !strcmp(o->argv[i], path);
		is_in_place |= is_long(o->argv[i], o->outputs->in_place);
	}
	return (is_argument && is_in_place) || is_named(o, o->outputs->files, path);
}

static struct err *not_named(const char *path)
{
	return err_new(ERR_PERMISSION,
		       "cannot write '%s': the command line does not name it", path);
}

static struct err *owner_open(struct owner *o, const struct confine_request *q,
			      struct confine_reply *r, int *fd)
{
	struct err *err;
	uint32_t i = 0;

	while (i < FILES_MOST && o->is_open[i])
		i++;
	if (i == FILES_MOST || !is_file_named(o, q->path))
		return not_named(q->path);
	err = new_file_open(&o->files[i], q->path, q->mode & 0666);
	if (err) {
		new_file_deinit(&o->files[i]);
		return err;
	}
	o->is_open[i] = true;
	r->has_flag = o->files[i].is_as_is;
	r->handle = i + 1;
	*fd = fcntl(fileno(o->files[i].stream), F_DUPFD_CLOEXEC, 0);
	return *fd < 0 ? err_errno("cannot write '%s'", q->path) : NULL;
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

/* ---- directories -------------------------------------------------------------------------- */

static bool places_have(const struct place *places, size_t n, const struct stat *st)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].dev == st->st_dev && places[i].ino == st->st_ino)
			return true;
	return false;
}

static struct err *inside_add(struct owner *o, const struct stat *st)
{
	if (!S_ISDIR(st->st_mode) || places_have(o->inside.data, o->inside.size, st))
		return NULL;
	return vec_add(&o->inside, (struct place){ st->st_dev, st->st_ino });
}

static struct err *captures_add(struct owner *o, const struct stat *st)
{
	return S_ISDIR(st->st_mode) ?
		       vec_add(&o->captures, (struct place){ st->st_dev, st->st_ino }) :
		       NULL;
}

/* @return whether directory @p path is of a process in a capture, and @p capture that. */
static bool is_of_process(const char *path, struct stat *capture)
{
	struct stat above, children;
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s/..", path);
	if (stat(name, &above))
		return false;
	snprintf(name, sizeof(name), "%s/../../children", path);
	if (stat(name, &children) || children.st_dev != above.st_dev ||
	    children.st_ino != above.st_ino)
		return false;
	snprintf(name, sizeof(name), "%s/../..", path);
	return !stat(name, capture);
}

static struct err *inside_find(struct owner *o)
{
	struct err *err = NULL;
	struct stat st;

	for (size_t i = 1; o->argv[i] && !err; i++) {
		if (stat(o->argv[i], &st))
			continue;
		err = o->outputs->has_inside ? inside_add(o, &st) : NULL;
		if (!err)
			err = captures_add(o, &st);
		if (!err && is_of_process(o->argv[i], &st))
			err = captures_add(o, &st);
	}
	return err;
}

/* What any command may do inside: write what it has found out about the capture, for the next one. */
static bool is_joined(const struct confine_request *q)
{
	static const char kept[] = "joined.flt", made[] = "joined.flt.";

	if (!strcmp(q->name, kept))
		return q->act == FILE_REMOVE;
	return !strncmp(q->name, made, strlen(made)) &&
	       (q->act == FILE_NEW || q->act == FILE_REMOVE ||
		(q->act == FILE_RENAME && !strcmp(q->path, kept)));
}

/* @return whether directory @p fd is one of the @p n @p places, or below one. */
static bool is_inside(const struct place *places, size_t n, int fd)
{
	_cleanup_close_ int at = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct stat st, above;
	int up;

	if (at < 0 || fstat(at, &st))
		return false;
	while (S_ISDIR(st.st_mode) && !places_have(places, n, &st)) {
		up = openat(at, "..", O_PATH | O_DIRECTORY | O_CLOEXEC);
		close(at);
		at = up;
		if (at < 0 || fstat(at, &above) ||
		    (above.st_dev == st.st_dev && above.st_ino == st.st_ino))
			return false;
		st = above;
	}
	return S_ISDIR(st.st_mode);
}

/* @return whether directory @p path may be made, beside a new file or for itself. */
static bool is_dir_named(const struct owner *o, const char *path)
{
	const char *beside = o->outputs->beside;
	size_t n = strlen(path), m = beside ? strlen(beside) : 0;
	char file[PATH_MAX];

	if (is_named(o, o->outputs->dirs, path))
		return true;
	if (!m || n <= m || strcmp(path + n - m, beside))
		return false;
	snprintf(file, sizeof(file), "%.*s", (int)(n - m), path);
	return is_named(o, o->outputs->files, file);
}

static struct err *owner_make_dir(struct owner *o, const char *path,
				  struct confine_reply *r, int *fd)
{
	struct err *err = is_dir_named(o, path) ? file_make_dir(path, fd, &r->has_flag) :
						  not_named(path);
	struct stat st;
	char **made;

	if (err || fstat(*fd, &st))
		return err;
	err = inside_add(o, &st);
	if (err || !r->has_flag)
		return err;
	made = vec_push(&o->made);
	if (!made)
		return &err_nomem;
	*made = strdup(path);
	return *made ? NULL : &err_nomem;
}

static bool is_one_name(const char *name)
{
	return *name && !strchr(name, '/') && strcmp(name, ".") && strcmp(name, "..");
}

static struct err *owner_act(const struct owner *o, const struct confine_request *q,
			     const int *dir, size_t n, struct confine_reply *r, int *fd)
{
	bool may =
		n == 1 && is_one_name(q->name) &&
		(q->act != FILE_RENAME || is_one_name(q->path)) &&
		(is_inside(o->inside.data, o->inside.size, *dir) ||
		 (is_joined(q) && is_inside(o->captures.data, o->captures.size, *dir)));
	int ret;

	errno = EPERM;
	ret = may ? file_act(*dir, q->act, q->name, q->path) : -1;
	if (ret < 0) {
		r->saved_errno = errno;
		return err_errno("cannot write '%s'", q->name);
	}
	if (q->act == FILE_NEW)
		*fd = ret;
	return NULL;
}

/* ---- processes ---------------------------------------------------------------------------- */

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
	char *args[CONFINE_ARGS_MOST + 1] = {};
	int fds[CONFINE_FDS];
	pid_t warden; // owner_reap() will find it
	size_t n = 0, at = 0;

	if (q->n_fds > CONFINE_FDS ||
	    n_some != (size_t)__builtin_popcount(q->has_fd & ((1u << q->n_fds) - 1)))
		return err_new(ERR_OS, "not as many descriptors as told");
	for (uint32_t i = 0; i < q->n_fds; i++)
		fds[i] = q->has_fd >> i & 1 ? *some++ : -1;
	for (; n < CONFINE_ARGS_MOST && q->path[at]; at += strlen(args[n++]) + 1)
		args[n] = (char *)q->path + at;
	owner_reap();
	return confine_launch(args, fds, q->n_fds, ret, &warden);
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

/* Do what is asked with the @p n descriptors @p got. @p given: those that a good answer has. */
static struct err *owner_answer(struct owner *o, const struct confine_request *q,
				const int *got, size_t n, struct confine_reply *r,
				int given[2])
{
	switch (q->ask) {
	case ASK_OPEN:
		return owner_open(o, q, r, given);
	case ASK_MAKE_DIR:
		return owner_make_dir(o, q->path, r, given);
	case ASK_ACT:
		return owner_act(o, q, got, n, r, given);
	case ASK_START:
		return owner_start(q, got, n, given);
	case ASK_DEBUGINFO:
		return owner_debuginfo(q, given);
	default:
		return owner_end(o, q);
	}
}

/* @return whether more may come. */
static bool owner_serve(struct owner *o, int sock)
{
	int got[CONFINE_FDS], given[2] = { -1, -1 };
	struct confine_reply r = {};
	struct confine_request q;
	size_t n_got, n_given = 0;
	struct err *err;
	bool is_sent;

	if (!confine_receive(sock, &q, sizeof(q), got, &n_got)) {
		confine_close(got, n_got);
		return false;
	}
	// The last two bytes end the last text, and the list of texts.
	q.path[sizeof(q.path) - 2] = q.path[sizeof(q.path) - 1] = 0;
	q.name[sizeof(q.name) - 1] = 0;
	r.number = q.number;
	err = owner_answer(o, &q, got, n_got, &r, given);
	if (err) {
		r.code = err->code;
		snprintf(r.text, sizeof(r.text), "%s", err->message);
	}
	while (!err && n_given < 2 && given[n_given] >= 0)
		n_given++;
	is_sent = confine_send(sock, &r, sizeof(r), given, n_given);
	closep(&given[0]);
	closep(&given[1]);
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

/* @return the exit status. */
static int end_as(const struct owner *o, int status)
{
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (WTERMSIG(status) != SIGKILL)
		return end_by(WTERMSIG(status));
	// We did not send it.
	fprintf(stderr,
		"faultline: cannot finish '%s': it was killed, perhaps for want of "
		"memory\n",
		o->argv[0]);
	return EXIT_COULD_NOT;
}

/* What it has not finished is not there. */
static void owner_deinit(struct owner *o)
{
	for (uint32_t i = 0; i < FILES_MOST; i++)
		if (o->is_open[i])
			new_file_deinit(&o->files[i]);
	for (size_t i = 0; i < o->made.size; i++) {
		rmdir(o->made.data[i]); // if nothing is in it
		free(o->made.data[i]);
	}
	vec_deinit(&o->made);
	vec_deinit(&o->inside);
	vec_deinit(&o->captures);
}

struct err *confine_check(char **argv, const struct confine_outputs *outputs)
{
	const char *const *names = outputs->files;
	struct err *err = NULL;

	for (size_t i = 1; argv[i] && strcmp(argv[i], "--") && !err; i++)
		for (size_t k = 0; names && names[k] && !err; k++) {
			const char *value = given(argv[i], argv[i + 1], names[k]);

			// In "-vo" the o may be what v is given.
			if (value && (names[k][1] || argv[i][1] == *names[k]))
				err = new_file_check(value);
		}
	return err;
}

int confine_own(pid_t pid, char **argv, const struct confine_outputs *outputs, int sock)
{
	static const int passed_on[] = { SIGTERM, SIGHUP, SIGUSR1, SIGUSR2 };
	const struct sigaction sent = { .sa_sigaction = pass_sent_on,
					.sa_flags = SA_SIGINFO | SA_RESTART };
	struct owner o = { .argv = argv, .outputs = outputs };
	int status = 0;

	command = pid;
	sigaction(SIGINT, &sent, NULL);
	sigaction(SIGQUIT, &sent, NULL);
	for (size_t i = 0; i < sizeof(passed_on) / sizeof(*passed_on); i++)
		signal(passed_on[i], pass_signal_on);
	err_destroy(inside_find(&o)); // what is not found is not written into
	while (owner_serve(&o, sock))
		;
	while (waitpid(command, &status, 0) < 0 && errno == EINTR)
		;
	while (wait(NULL) > 0 || errno == EINTR)
		; // wardens, whose time counts as ours
	owner_deinit(&o);
	return end_as(&o, status);
}
