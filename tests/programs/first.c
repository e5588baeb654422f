// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The first process of a name space of its own gets no signal from there that it has no handler
 * for, sleeps on meanwhile, and dies of a fault. From outside it can be stopped. 77: this host makes
 * none.
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t n_handled;

static void on_signal(int signo)
{
	(void)signo;
	n_handled++;
}

/* What its own child sends while it waits; -1 is no end of the wait. */
static void wait_for(int signo)
{
	struct epoll_event e;
	int epoll = epoll_create1(0);
	int n = 0;
	pid_t child = fork();

	if (!child) {
		usleep(20000);
		_exit(kill(getppid(), signo));
	}
	n = epoll_wait(epoll, &e, 1, 100);
	printf("waited for %d: %d\n", signo, n);
	waitpid(child, NULL, 0);
	close(epoll);
}

static void first(const int *ready, const int *go)
{
	static const int signals[] = { SIGQUIT, SIGTERM, SIGUSR1, SIGTSTP,
				       SIGSTOP, SIGKILL, SIGSEGV };
	struct timespec nap = { .tv_nsec = 20000000 };

	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
		kill(getpid(), signals[i]);
		raise(signals[i]);
		printf("alive after %d\n", signals[i]);
	}
	ualarm(5000, 0); // whose sender is the kernel
	printf("slept: %d\n", nanosleep(&nap, NULL));
	wait_for(SIGTERM);
	wait_for(SIGTSTP);
	signal(SIGUSR1, on_signal);
	raise(SIGUSR1);
	printf("handled: %d\n", n_handled);
	fflush(stdout);
	write(ready[1], "", 1);
	read(go[0], &nap, 1);
	*(volatile int *)0 = getpid();
}

int main(void)
{
	int status = 0, ready[2], go[2];
	pid_t child;

	if (pipe(ready) || pipe(go) || unshare(CLONE_NEWPID))
		return 77;
	child = fork();
	if (!child)
		first(ready, go);
	read(ready[0], &status, 1);
	kill(child, SIGTSTP);
	kill(child, SIGSTOP);
	if (waitpid(child, &status, WUNTRACED) == child && WIFSTOPPED(status))
		printf("stopped by %d\n", WSTOPSIG(status));
	kill(child, SIGCONT);
	write(go[1], "", 1);
	waitpid(child, &status, 0);
	printf("killed by %d\n", WTERMSIG(status));
	return 0;
}
