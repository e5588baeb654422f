// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A program that traces its children: `traces MODE`. It prints what it saw, and ends with 0 when
 * it saw everything.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile long secret = 0x5ec2e7;
static int pipe_to[2];

/** @return what it stopped with; -1: it did not. */
static int await_stop(pid_t pid)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status) ?
		       WSTOPSIG(status) :
		       -1;
}

static int await_exit(pid_t pid)
{
	int status;

	return waitpid(pid, &status, __WALL) == pid && WIFEXITED(status) ?
		       WEXITSTATUS(status) :
		       -1;
}

/** What the child has in its memory, and is given. */
static long look(pid_t pid)
{
	struct user_regs_struct u = {};
	long was = ptrace(PTRACE_PEEKDATA, pid, &secret, NULL);

	ptrace(PTRACE_GETREGS, pid, NULL, &u);
	ptrace(PTRACE_POKEDATA, pid, &secret, 0x7e11);
	return u.rsp ? was : -1;
}

/** It asks to be traced. */
static int traceme(void)
{
	pid_t pid = fork();

	if (!pid) {
		long ret = ptrace(PTRACE_TRACEME, 0, NULL, NULL);

		raise(SIGSTOP);
		_exit(ret ? 1 : secret == 0x7e11 ? 5 : 2);
	}
	printf("stop %d", await_stop(pid));
	printf(" secret %lx", look(pid));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	printf(" exit %d\n", await_exit(pid));
	return 0;
}

static void *wait_there(void *unused)
{
	char c;

	return read(pipe_to[0], &c, 1) == 1 ? unused : NULL;
}

/** A child that waits in a pipe, in two threads or one. */
static pid_t waiting_child(int has_threads)
{
	pid_t pid = pipe(pipe_to) ? -1 : fork();
	pthread_t t;

	if (pid)
		return pid;
	if (has_threads && !pthread_create(&t, NULL, wait_there, NULL))
		pthread_join(t, NULL);
	wait_there(NULL);
	_exit(secret == 0x7e11 ? 6 : 2);
}

/** At once: who has just forked knows the child before anybody else. */
static int seize(int has_threads)
{
	pid_t pid = waiting_child(has_threads);
	long ret = ptrace(PTRACE_SEIZE, pid, NULL, NULL);

	if (!ret)
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
	printf("seize %ld stop %d", ret, await_stop(pid));
	printf(" secret %lx", look(pid));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf(" go on %zd", write(pipe_to[1], "xx", 2));
	printf(" exit %d\n", await_exit(pid));
	return 0;
}

/** When it waits already. */
static int attach(void)
{
	pid_t pid = waiting_child(1);
	long ret;

	usleep(100000);
	ret = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	printf("attach %ld stop %d", ret, await_stop(pid));
	printf(" secret %lx", look(pid));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf(" go on %zd", write(pipe_to[1], "xx", 2));
	printf(" exit %d\n", await_exit(pid));
	return 0;
}

/** In its parent's memory, as debuggers do. */
static int borrow(void)
{
	pid_t pid = vfork();

	if (!pid) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execl("/bin/sh", "sh", "-c", "exit 7", NULL);
		_exit(1);
	}
	printf("stop %d", await_stop(pid));
	ptrace(PTRACE_CONT, pid, NULL, NULL);
	printf(" exit %d\n", await_exit(pid));
	return 0;
}

/** One whose memory is also its parent's: what it writes when it is traced counts there. */
static int share(void)
{
	volatile char *both = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				   MAP_ANONYMOUS | MAP_SHARED, -1, 0);
	pid_t pid = pipe(pipe_to) ? -1 : fork();
	long ret;

	if (!pid) {
		wait_there(NULL);
		*both = 'c';
		_exit(6);
	}
	ret = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	*both = 'p';
	printf("attach %ld stop %d", ret, await_stop(pid));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf(" go on %zd", write(pipe_to[1], "x", 1));
	printf(" exit %d", await_exit(pid));
	printf(" shared %c\n", *both);
	return *both != 'c';
}

static void *compute(void *unused)
{
	for (long n = 0; secret != 0x7e11; n++)
		asm volatile("" : "+r"(n)); // in a register, which is quickly compared
	return unused;
}

/** One that makes no call any more. */
static int spin(void)
{
	pid_t pid = fork();
	long ret;

	if (!pid) {
		compute(NULL);
		_exit(6);
	}
	usleep(100000);
	ret = ptrace(PTRACE_ATTACH, pid, NULL, NULL);
	printf("attach %ld stop %d", ret, await_stop(pid));
	printf(" secret %lx", look(pid));
	ptrace(PTRACE_DETACH, pid, NULL, NULL);
	printf(" exit %d\n", await_exit(pid));
	return 0;
}

/** The same for ever, in two threads. */
static int spin_for_ever(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, compute, NULL))
		return 2;
	compute(NULL);
	return 1;
}

/** What the kernel refuses, whoever records. */
static int refused(void)
{
	long itself = ptrace(PTRACE_ATTACH, getpid(), NULL, NULL), error = errno;
	long kernel = ptrace(PTRACE_ATTACH, 2, NULL, NULL);

	printf("itself %ld %s\n", itself, strerror(error));
	printf("a thread of the kernel %ld %s\n", kernel, strerror(errno));
	return 0;
}

/** A child that wants to trace the program. */
static int parent(void)
{
	pid_t pid = fork();

	if (!pid) {
		long ret = ptrace(PTRACE_SEIZE, getppid(), NULL, NULL);

		printf("parent %ld %s\n", ret, strerror(ret ? errno : 0));
		_exit(0);
	}
	return await_exit(pid);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	setbuf(stdout, NULL);
	if (!strcmp(mode, "traceme"))
		return traceme();
	if (!strcmp(mode, "seize"))
		return seize(0);
	if (!strcmp(mode, "threads"))
		return seize(1);
	if (!strcmp(mode, "attach"))
		return attach();
	if (!strcmp(mode, "borrow"))
		return borrow();
	if (!strcmp(mode, "share"))
		return share();
	if (!strcmp(mode, "spin"))
		return spin();
	if (!strcmp(mode, "compute"))
		return spin_for_ever();
	if (!strcmp(mode, "parent"))
		return parent();
	return strcmp(mode, "refused") ? 2 : refused();
}
