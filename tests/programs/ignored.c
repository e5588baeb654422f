// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Waits while signals come all the time: such as are ignored, by default or by choice, which end
 * no wait and make none longer; one with a handler among them; stops. Prints what each wait
 * returned, the same recorded or not, in its first thread and in another. With an argument: a write that waits for
 * its reader meanwhile.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 100
#define NAP_US 5000 ///< between two signals

static const struct timespec limit = { .tv_nsec = LIMIT_MS * 1000000l };

/** Send this thread @p signals, one after the other, until storm_end(). */
static pid_t storm(const int *signals, size_t n)
{
	pid_t parent = getpid(), tid = gettid(), child = fork();

	for (size_t i = 0; !child && getppid() == parent; i++) {
		syscall(SYS_tgkill, parent, tid, signals[i % n]);
		usleep(NAP_US);
	}
	if (!child)
		_exit(0);
	return child;
}

static void storm_end(pid_t child)
{
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
}

static void on_alarm(int signo)
{
	(void)signo;
}

#define WAITS(signals, name, call)                                                  \
	do {                                                                        \
		pid_t child = storm(signals, sizeof(signals) / sizeof(signals[0])); \
		long ret = (call);                                                  \
		int number = errno;                                                 \
                                                                                    \
		storm_end(child);                                                   \
		printf("%s: %ld %s\n", name, ret,                                   \
		       ret < 0 ? strerrorname_np(number) : "");                     \
	} while (0)

/** Time limits of 100 ms: each is waited for. */
static void wait_in_vain(const char *signals_name, int signo)
{
	struct timeval tv = { .tv_usec = LIMIT_MS * 1000 };
	struct sembuf down = { 0, -1, 0 };
	int poll = epoll_create1(0), sems = semget(IPC_PRIVATE, 1, 0600), fds[2];
	const int one[] = { signo };
	struct epoll_event e;
	sigset_t none;
	char byte;

	sigemptyset(&none);
	socketpair(AF_UNIX, SOCK_STREAM, 0, fds);
	setsockopt(fds[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
	printf("%s\n", signals_name);
	WAITS(one, "epoll_wait", epoll_wait(poll, &e, 1, LIMIT_MS));
	WAITS(one, "epoll_pwait", epoll_pwait(poll, &e, 1, LIMIT_MS, &none));
	WAITS(one, "epoll_pwait2", epoll_pwait2(poll, &e, 1, &limit, NULL));
	WAITS(one, "sigtimedwait", sigtimedwait(&none, NULL, &limit));
	WAITS(one, "semtimedop", semtimedop(sems, &down, 1, &limit));
	WAITS(one, "recv", recv(fds[0], &byte, 1, 0));
	WAITS(one, "read", read(fds[0], &byte, 1));
	semctl(sems, 0, IPC_RMID);
	close(fds[0]);
	close(fds[1]);
	close(poll);
}

/** What ends a wait without a limit. */
static void wait_for_signal(void)
{
	static const int handled[] = { SIGURG, SIGURG, SIGCHLD, SIGALRM };
	static const int stops[] = { SIGURG, SIGSTOP, SIGCONT };
	int poll = epoll_create1(0), sems = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf down = { 0, -1, 0 };
	struct epoll_event e;
	sigset_t none;

	sigemptyset(&none);
	WAITS(handled, "epoll_wait, handler", epoll_wait(poll, &e, 1, -1));
	WAITS(handled, "semop, handler", semop(sems, &down, 1));
	WAITS(handled, "sigwaitinfo, handler", sigwaitinfo(&none, NULL));
	WAITS(stops, "epoll_wait, stopped", epoll_wait(poll, &e, 1, -1));
	semctl(sems, 0, IPC_RMID);
	close(poll);
}

static void *run(void *name)
{
	printf("%s\n", (const char *)name);
	wait_in_vain("by default", SIGURG);
	wait_in_vain("by choice", SIGUSR1);
	wait_in_vain("nothing to continue", SIGCONT);
	wait_for_signal();
	return NULL;
}

/** Write more than a pipe has room for, to a reader that takes its time. */
static int write_much(void)
{
	static const int urgent[] = { SIGURG };
	static char bytes[1 << 20];
	int fds[2];

	if (pipe(fds))
		return 1;
	if (!fork()) {
		close(fds[1]);
		usleep(LIMIT_MS * 1000);
		while (read(fds[0], bytes, sizeof(bytes) / 16) > 0)
			;
		_exit(0);
	}
	WAITS(urgent, "write", write(fds[1], bytes, sizeof(bytes)));
	return 0;
}

int main(int argc, char **argv)
{
	struct sigaction on = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	(void)argv;
	if (argc > 1)
		return write_much();
	signal(SIGUSR1, SIG_IGN);
	sigaction(SIGALRM, &on, NULL);
	run("first thread");
	if (pthread_create(&thread, NULL, run, "another thread"))
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
