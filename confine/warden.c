// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#define LOG_ROOM "confine"

#include "confine/start.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

// So much of what the group says is passed on.
#define MESSAGES_BYTES 4096

struct warden {
	int commands, ends, messages;
	size_t n_messages; ///< bytes passed on
};

static void on_child(int signo)
{
	(void)signo; // it has ended the waiting
}

/* The group ends: our process group, and its ends are waited for, so that their time is counted as
 * ours. The first of a process id namespace does not end by that, but later, and whoever may have
 * left the group with it. (To signal all looks at each process of the machine.) */
static void on_end(int signo)
{
	(void)signo;
	kill(0, SIGKILL);
	while (waitpid(0, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(0);
}

static void warden_tell(const struct warden *w, int32_t pid, int32_t status)
{
	const struct confine_end end = { pid, status };

	if (write(w->ends, &end, sizeof(end)) != sizeof(end))
		on_end(0);
}

/* Its id is free again only when its end has been told. */
static void warden_reap(const struct warden *w)
{
	siginfo_t info = {};
	int status;

	while (!waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid) {
		status = info.si_code == CLD_EXITED ? W_EXITCODE(info.si_status, 0) :
						      W_EXITCODE(0, info.si_status);
		warden_tell(w, info.si_pid, status);
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}

static void warden_obey(const struct warden *w)
{
	siginfo_t info;
	int32_t pid;

	if (read(w->commands, &pid, sizeof(pid)) != sizeof(pid))
		on_end(0); // the owner is gone
	if (pid <= 1 || waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT))
		warden_tell(w, pid, 0);
	else
		kill(pid, SIGKILL);
}

/* Our messages go to the user's terminal: text, and not much of it. */
static void warden_pass_on(struct warden *w)
{
	char raw[512], text[sizeof(raw) * TEXT_GROWTH];
	ssize_t n = read(w->messages, raw, sizeof(raw));
	size_t left = MESSAGES_BYTES - w->n_messages, size;

	if (n <= 0) {
		close(w->messages);
		w->messages = -1;
		return;
	}
	size = text_clean(text, raw, n, TEXT_PLAIN, NULL);
	if (size > left)
		size = left;
	w->n_messages += size;
	(void)!write(STDERR_FILENO, text, size);
}

static const struct confine_call warden_calls[] = {
	{ .nr = SYS_read },
	{ .nr = SYS_write },
	{ .nr = SYS_close },
	{ .nr = SYS_waitid },
	{ .nr = SYS_wait4 },
	{ .nr = SYS_ppoll },
	{ .nr = SYS_kill },
	{ .nr = SYS_getpid },
	{ .nr = SYS_exit_group },
	{ .nr = SYS_rt_sigreturn },
	{ .nr = SYS_restart_syscall },
	{ .nr = SYS_sigaltstack }, // a sanitizer's, before what does not return
};

__attribute__((noreturn)) static void warden_run(struct warden *w, pid_t worker)
{
	struct pollfd p[] = { { .fd = w->commands, .events = POLLIN },
			      { .fd = w->messages, .events = POLLIN } };
	sigset_t all_but_ours;

	sigfillset(&all_but_ours);
	sigdelset(&all_but_ours, SIGCHLD);
	sigdelset(&all_but_ours, SIGTERM);
	warden_tell(w, worker, 0);
	for (;;) {
		warden_reap(w);
		p[1].fd = w->messages;
		if (ppoll(p, 2, NULL, &all_but_ours) < 0)
			continue;
		if (p[1].revents)
			warden_pass_on(w);
		if (p[0].revents)
			warden_obey(w);
	}
}

/* Close all but 0 to 2 and those from @p from up to before @p to. */
static void close_others(unsigned from, unsigned to)
{
	if (from > STDERR_FILENO + 1)
		close_range(STDERR_FILENO + 1, from - 1, 0);
	close_range(to, ~0u, 0);
}

/* The descriptors 0 to 2 of the worker: it reads nothing, and says little. What it is told to
 * read is a stranger's, whoever told it may have been taken over. */
static void worker_begin(int messages, size_t n)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct err *err;

	dup2(null, STDIN_FILENO);
	dup2(messages, STDOUT_FILENO);
	dup2(messages, STDERR_FILENO);
	close_others(CONFINE_FD(0), CONFINE_FD(n));
	prctl(PR_SET_PDEATHSIG, SIGKILL); // should the warden end by itself
	confine_go_first();
	err = confine_as_command();
	if (!err)
		return;
	fprintf(stderr, "faultline: %s\n", err->message);
	_exit(125);
}

void confine_begin(size_t n)
{
	const struct sigaction child = { .sa_handler = on_child },
			       end = { .sa_handler = on_end };
	struct warden w = { CONFINE_COMMANDS, CONFINE_ENDS, CONFINE_FD(0), 0 };
	sigset_t all, before;
	int messages[2];
	pid_t pid;

	setsid(); // a group of processes of our own
	if (pipe2(messages, 0))
		_exit(125);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid < 0)
		_exit(125);
	if (!pid) {
		sigprocmask(SIG_SETMASK, &before, NULL);
		worker_begin(messages[1], n);
		return;
	}
	dup2(messages[0], w.messages);
	close_others(CONFINE_COMMANDS, w.messages + 1);
	sigaction(SIGCHLD, &child, NULL);
	sigaction(SIGTERM, &end, NULL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	// A sanitizer's has memory mapped by the first call that may wait.
	poll(NULL, 0, 0);
	err_destroy(
		confine_self(warden_calls, sizeof(warden_calls) / sizeof(*warden_calls)));
	warden_run(&w, pid);
}
