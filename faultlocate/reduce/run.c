// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The owner's side: workers are started, each with a socket and a piece of memory for inputs. A
 * worker is the first process of its process ids, so that nothing that it started outlives a run.
 */

#include "faultlocate/reduce/worker.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

struct worker {
	pid_t pid;
	int sock;
	uint8_t *input;
};

struct fl_runner {
	struct fl_run_options o;
	char *path; ///< the input's, absolute
	size_t input_bytes;
	struct worker worker[FL_REDUCE_AT_ONCE];
	unsigned n;
	char notes[256];
};

/* ---- starting ------------------------------------------------------------------------------- */

static void write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		fd = fd + 0; // who may not be mapped is told by the mounts that fail
	if (fd >= 0)
		close(fd);
}

/* Leave the owner's namespaces. @return false with errno. */
static bool part(bool with_pids)
{
	int flags = CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
		    (with_pids ? CLONE_NEWPID : 0);
	char map[64];
	uid_t uid = geteuid();
	gid_t gid = getegid();

	if (!unshare(flags))
		return true;
	if (unshare(flags | CLONE_NEWUSER))
		return false;
	write_text("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	write_text("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	write_text("/proc/self/gid_map", map);
	return true;
}

_Noreturn static void be_parent(const struct fl_runner *r, int sock, const uint8_t *input)
{
	struct worker_hello bad = {};
	pid_t pid;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	// These are sent to all of the group, as by a terminal or timeout(1).
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	// PDEATHSIG would miss an owner that is gone already.
	if (part(true)) {
		pid = fork();
		if (!pid)
			fl_worker_be(&r->o, sock, input);
		close(sock);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		_exit(0);
	}
	bad.error = errno;
	snprintf(bad.what, sizeof(bad.what), "namespaces of its own");
	send(sock, &bad, sizeof(bad), MSG_NOSIGNAL);
	_exit(0);
}

static struct err *refused(const struct worker_hello *h)
{
	return err_new(
		ERR_PERMISSION,
		"cannot keep the program from your files: %s: %s (as root, or where "
		"user namespaces are allowed: sysctl kernel.unprivileged_userns_clone, "
		"user.max_user_namespaces)",
		h->what, strerror(h->error));
}

static struct err *start(struct fl_runner *r, struct worker *w)
{
	struct worker_hello hello = {};
	int pair[2];

	w->sock = -1;
	w->input = mmap(NULL, r->input_bytes, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w->input == MAP_FAILED) {
		w->input = NULL;
		return err_errno("cannot map %zu bytes for inputs", r->input_bytes);
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return err_errno("cannot start a worker");
	fflush(NULL);
	w->pid = fork();
	if (!w->pid) {
		close(pair[0]);
		be_parent(r, pair[1], w->input);
	}
	close(pair[1]);
	w->sock = pair[0];
	if (w->pid < 0)
		return err_errno("cannot start a worker");
	if (recv(w->sock, &hello, sizeof(hello), 0) != sizeof(hello))
		return err_new(ERR_OS, "cannot start a worker: it ended");
	if (hello.error)
		return refused(&hello);
	if (hello.is_unwritable)
		snprintf(
			r->notes, sizeof(r->notes),
			"the program cannot write in its working directory: no overlay can be "
			"laid over it");
	return NULL;
}

struct err *fl_runner_create(const struct fl_run_options *o, struct fl_runner **ret)
{
	_cleanup_(fl_runner_destroyp) struct fl_runner *r = calloc(1, sizeof(*r));
	struct err *err = NULL;

	if (!r)
		return &err_nomem;
	r->o = *o;
	r->input_bytes = (o->input_most + 4096) & ~4095ul;
	if (access(o->exe, X_OK))
		return err_errno("cannot run '%s'", o->exe);
	if (access(o->cwd, X_OK))
		return err_errno("cannot run it in '%s'", o->cwd);
	if (o->path) {
		if (*o->path == '/')
			r->path = strdup(o->path);
		else if (asprintf(&r->path, "%s/%s", o->cwd, o->path) < 0)
			r->path = NULL;
		if (!r->path)
			return &err_nomem;
		r->o.path = r->path;
	}
	for (; r->n < o->n_workers && !err; r->n++)
		err = start(r, &r->worker[r->n]);
	if (err)
		return err;
	*ret = take_ptr(&r);
	return NULL;
}

void fl_runner_destroy(struct fl_runner *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < r->n; i++) {
		struct worker *w = &r->worker[i];

		if (w->sock >= 0)
			close(w->sock);
		if (w->pid > 0) {
			kill(w->pid, SIGKILL);
			waitpid(w->pid, NULL, 0);
		}
		if (w->input)
			munmap(w->input, r->input_bytes);
	}
	free(r->path);
	free(r);
}

void fl_runner_destroyp(struct fl_runner **r)
{
	fl_runner_destroy(*r);
}

const char *fl_runner_notes(const struct fl_runner *r)
{
	return r->notes;
}

/* ---- running ---------------------------------------------------------------------------------- */

static struct err *give(struct fl_runner *r, struct worker *w, struct fl_text input)
{
	struct worker_job job = { input.size };

	assert(input.size <= r->input_bytes);
	memcpy(w->input, input.data, input.size);
	if (send(w->sock, &job, sizeof(job), MSG_NOSIGNAL) != sizeof(job))
		return err_new(ERR_OS, "cannot run the program: the worker is gone");
	return NULL;
}

static struct err *get(struct worker *w, struct fl_run_end *ret)
{
	ssize_t n;

	do {
		n = recv(w->sock, ret, sizeof(*ret), 0);
	} while (n < 0 && errno == EINTR);
	if (n != sizeof(*ret))
		return err_new(ERR_OS, "cannot run the program: the worker is gone");
	ret->frames[FL_RUN_TEXT - 1] = 0;
	return NULL;
}

struct err *fl_runner_run(struct fl_runner *r, const struct fl_text *inputs, size_t n,
			  struct fl_run_end *ret)
{
	struct err *err = NULL;

	for (size_t done = 0; done < n && !err;) {
		size_t now = n - done < r->n ? n - done : r->n, given = 0;

		for (; given < now && !err; given++)
			err = give(r, &r->worker[given], inputs[done + given]);
		for (size_t i = 0; i < given && !err; i++)
			err = get(&r->worker[i], &ret[done + i]);
		for (size_t i = 0; i < given && !err; i++)
			if (ret[done + i].fate == FL_RUN_NOT)
				err = err_new(ERR_OS, "cannot run '%s': %s",
					      r->o.oracle ?: r->o.exe,
					      strerror(ret[done + i].value));
		done += now;
	}
	return err;
}

bool fl_run_is_same(const struct fl_run_end *a, const struct fl_run_end *b)
{
	return a->fate == FL_RUN_SIGNAL && b->fate == FL_RUN_SIGNAL &&
	       a->value == b->value && a->has_frames == b->has_frames &&
	       (!a->has_frames || a->frames_hash == b->frames_hash);
}

/* ---- recording ------------------------------------------------------------------------------- */

_Noreturn static void be_recorder(const struct fl_runner *r, struct fl_text input,
				  const char *capture, const char *dir, int said)
{
	bool is_env = r->o.input == FL_RUN_ENV, is_args = r->o.input == FL_RUN_ARGS;
	char **args = fl_worker_texts(NULL, is_args ? input : r->o.args);
	char **env = fl_worker_texts(NULL, is_env ? input : r->o.env);
	int in, out = open("/dev/null", O_WRONLY);
	struct worker_hello hello = {};
	size_t n = 0;
	char **argv;

	while (args && args[n])
		n++;
	argv = calloc(n + 8, sizeof(*argv));
	if (!args || !env || !argv || unshare(CLONE_NEWNS) ||
	    !fl_mounts_make(&r->o, dir, false, &hello) || !fl_mounts_dress(&r->o, input))
		_exit(126);
	in = open(r->o.input == FL_RUN_STDIN ? FL_MOUNTS_INPUT : "/dev/null", O_RDONLY);
	memcpy(argv,
	       (char *[]){ "faultline", "record", "-o", (char *)capture, "--",
			   (char *)r->o.exe },
	       6 * sizeof(*argv));
	memcpy(argv + 6, args, n * sizeof(*argv));
	if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(said, 2) < 0)
		_exit(126);
	execve("/proc/self/exe", argv, env);
	_exit(126);
}

struct err *fl_runner_record(struct fl_runner *r, struct fl_text input,
			     const char *capture, int said)
{
	_cleanup_free_ char *dir = strdup(capture);
	char *slash = dir ? strrchr(dir, '/') : NULL;
	int status;
	pid_t pid;

	if (!dir)
		return &err_nomem;
	assert(slash);
	*slash = 0;
	fflush(NULL);
	pid = fork();
	if (!pid)
		be_recorder(r, input, capture, dir, said);
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return err_errno("cannot record the result");
	if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
		return err_new(
			ERR_PERMISSION,
			"cannot record the result: it needs root, for mounts of its "
			"own and BPF");
	return NULL;
}
