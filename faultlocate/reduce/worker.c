// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * One run: a child under ptrace, which costs two stops where all goes well, so that a deadly
 * signal is met while there are still frames to look at.
 */

#include "faultlocate/reduce/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

static void tick(int signo)
{
	(void)signo;
}

/* From now on waits end @p seconds from now, and then each while again. */
static void set_timer(double seconds)
{
	struct itimerval t = { .it_value = { seconds,
					     (seconds - (long)seconds) * 1e6 + 1 },
			       .it_interval = { 0, 20000 } };

	if (!seconds)
		memset(&t, 0, sizeof(t));
	setitimer(ITIMER_REAL, &t, NULL);
}

char **fl_worker_texts(const char *first, struct fl_text t)
{
	size_t n = 2 + (first ? 1 : 0), at = 0;
	char **ret, *copy;

	for (size_t i = 0; i < t.size; i++)
		n += !t.data[i];
	ret = calloc(n, sizeof(*ret));
	copy = malloc(t.size + 1);
	if (!ret || !copy) {
		free(ret);
		free(copy);
		return NULL;
	}
	memcpy(copy, t.data, t.size);
	copy[t.size] = 0;
	n = 0;
	if (first)
		ret[n++] = (char *)first;
	for (; at < t.size; at += strlen(copy + at) + 1)
		ret[n++] = copy + at;
	return ret;
}

static int64_t now_ns(void)
{
	return (int64_t)(clock_now_s() * 1e9);
}

_Noreturn static void be_program(const struct fl_run_options *o, struct fl_text input)
{
	const char *path = o->input == FL_RUN_FILE ? o->path : FL_MOUNTS_INPUT;
	struct rlimit none = {};
	int in = open(o->input == FL_RUN_STDIN ? FL_MOUNTS_INPUT : "/dev/null", O_RDONLY);
	int out = open("/dev/null", O_WRONLY);
	char **argv =
		fl_worker_texts(o->argv0, o->input == FL_RUN_ARGS ? input : o->args);
	char **env = fl_worker_texts(NULL, o->input == FL_RUN_ENV ? input : o->env);

	signal(SIGALRM, SIG_DFL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	setsid();
	setrlimit(RLIMIT_CORE, &none);
	personality(ADDR_NO_RANDOMIZE);
	if (in < 0 || out < 0 || !argv || !env || dup2(in, 0) < 0 || dup2(out, 1) < 0 ||
	    dup2(out, 2) < 0)
		_exit(127);
	close_range(3, ~0u, 0);
	if (o->oracle) {
		execl(o->oracle, o->oracle, path, NULL);
	} else {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execve(o->exe, argv, env);
	}
	_exit(127);
}

static bool is_deadly(int signo)
{
	switch (signo) {
	case SIGSEGV:
	case SIGBUS:
	case SIGFPE:
	case SIGILL:
	case SIGABRT:
	case SIGSYS:
	case SIGTRAP:
		return true;
	default:
		return false;
	}
}

/* @p tid stopped with @p status: let it go on. */
static void resume(const struct fl_run_options *o, pid_t pid, pid_t tid, int status,
		   bool *is_begun, struct fl_run_end *ret)
{
	int signo = WSTOPSIG(status);

	if (!*is_begun && tid == pid && signo == SIGTRAP) {
		*is_begun = true;
		signo = 0;
		ptrace(PTRACE_SETOPTIONS, pid, NULL,
		       PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE);
	} else if (status >> 16 || (tid != pid && signo == SIGSTOP)) {
		signo = 0;
	} else if (is_deadly(signo)) {
		fl_frames_take(pid, tid, o, ret);
	}
	ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signo);
}

/* End all that this worker's runs have left. */
static void clean_up(pid_t pid)
{
	if (getpid() == 1)
		kill(-1, SIGKILL);
	else
		kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(-1, NULL, __WALL) > 0 || errno == EINTR) {
	}
}

static void watch(const struct fl_run_options *o, pid_t pid, struct fl_run_end *ret)
{
	int64_t end = now_ns() + (int64_t)(o->timeout_s * 1e9);
	bool is_begun = o->oracle;
	int status;

	for (;;) {
		pid_t tid = waitpid(-1, &status, __WALL);

		if (now_ns() > end) {
			ret->fate = FL_RUN_TIMEOUT;
			return;
		}
		if (tid < 0)
			continue;
		if (WIFSTOPPED(status)) {
			resume(o, pid, tid, status, &is_begun, ret);
			continue;
		}
		if (tid != pid)
			continue;
		ret->fate = WIFSIGNALED(status) ? FL_RUN_SIGNAL : FL_RUN_EXIT;
		ret->value = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
		if (!is_begun || (o->oracle && ret->value == 127)) {
			ret->fate = FL_RUN_NOT;
			ret->value = ENOEXEC;
		}
		return;
	}
}

static void run_once(const struct fl_run_options *o, struct fl_text input,
		     struct fl_run_end *ret)
{
	pid_t pid;

	*ret = (struct fl_run_end){ .fate = FL_RUN_NOT };
	if (!fl_mounts_dress(o, input)) {
		ret->value = errno;
		return;
	}
	pid = fork();
	if (!pid)
		be_program(o, input);
	if (pid < 0) {
		ret->value = errno;
		return;
	}
	set_timer(o->timeout_s);
	watch(o, pid, ret);
	set_timer(0);
	clean_up(pid);
	if (ret->fate != FL_RUN_SIGNAL)
		ret->has_frames = false;
}

_Noreturn void fl_worker_be(const struct fl_run_options *o, int sock,
			    const uint8_t *input)
{
	struct sigaction sa = { .sa_handler = tick };
	struct worker_hello hello = {};
	struct worker_job job;
	struct fl_run_end end;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigaction(SIGALRM, &sa, NULL);
	fl_mounts_make(o, NULL, getpid() == 1, &hello);
	send(sock, &hello, sizeof(hello), MSG_NOSIGNAL);
	while (!hello.error && recv(sock, &job, sizeof(job), 0) == sizeof(job)) {
		run_once(o, (struct fl_text){ input, job.size }, &end);
		if (send(sock, &end, sizeof(end), MSG_NOSIGNAL) != sizeof(end))
			break;
	}
	_exit(0);
}
