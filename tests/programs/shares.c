// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What others write into memory that they share with the program, which learns by a call that
 * it is there, and prints it.
 *
 *   shares wait       a child wrote, and ended; another one by write() to a file that it has not
 *                     mapped, but its parent has
 *   shares pipe       a child answers through memory, 50 times, and says so through a pipe
 *   shares signal     a child says so by a signal, while its parent computes
 *   shares kernel     a child is killed with a robust mutex locked; a process in a child's memory,
 *                     whose end the kernel notes there; a child that overflows its stack
 *   shares thread     as pipe, beside a thread that writes there, too
 *   shares large      as wait, in more memory than is looked at
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED)
		exit(2);
	return p;
}

static int await(void)
{
	int status;

	wait(&status);
	return status;
}

static int after_wait(size_t size)
{
	unsigned *p = share(size);
	char name[] = "/tmp/shares.XXXXXX";
	int fd = mkstemp(name);
	const char *file;

	unlink(name);
	if (fd < 0 || write(fd, "before", 7) != 7)
		return 2;
	file = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	p[0] = 1;
	for (unsigned i = 0; i < 3; i++) {
		if (!fork()) {
			p[i + 1] = getpid();
			p[0] = p[0] * 7 + i;
			munmap((void *)file, PAGE);
			if (pwrite(fd, "behind", 7, 0) != 7)
				_exit(2);
			_exit(0);
		}
		await();
		printf("%u %u %s\n", p[0], p[i + 1], file);
	}
	return 0;
}

static void *scribble(void *arg)
{
	volatile unsigned *p = arg;

	while (!p[1])
		p[2]++;
	return NULL;
}

static int through_pipe(int has_thread)
{
	unsigned *p = share(PAGE), sum = 0;
	int to[2], from[2];
	pthread_t thread;
	char byte = 0;

	if (pipe(to) || pipe(from))
		return 2;
	if (!fork()) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1) {
			p[8] = p[8] * 31 + getpid();
			if (write(from[1], &byte, 1) != 1)
				break;
		}
		_exit(0);
	}
	if (has_thread)
		pthread_create(&thread, NULL, scribble, p);
	for (int i = 0; i < 50; i++) {
		if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
			return 2;
		sum = sum * 7 + p[8];
		p[8]++;
	}
	p[1] = 1;
	if (has_thread)
		pthread_join(thread, NULL);
	close(to[1]);
	await();
	printf("%u\n", sum);
	return 0;
}

static unsigned *words;
static volatile unsigned seen;

static void see(int signo)
{
	(void)signo;
	seen = words[3];
}

static int by_signal(void)
{
	unsigned long spent = 0;

	words = share(PAGE);
	signal(SIGUSR1, see);
	if (!fork()) {
		words[3] = getpid();
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	while (!seen)
		spent++;
	await();
	printf("%u\n", seen);
	return 0;
}

static void killed_with_mutex(void)
{
	pthread_mutex_t *m = share(PAGE);
	pthread_mutexattr_t attr;
	int fds[2], ret;
	pid_t child;
	char byte = 0;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(m, &attr);
	if (pipe(fds))
		exit(2);
	child = fork();
	if (!child) {
		pthread_mutex_lock(m);
		if (write(fds[1], &byte, 1) == 1)
			pause();
		_exit(2);
	}
	if (read(fds[0], &byte, 1) != 1)
		exit(2);
	kill(child, SIGKILL);
	await();
	ret = pthread_mutex_lock(m);
	pthread_mutex_consistent(m);
	printf("mutex: %s, %d\n", strerror(ret), pthread_mutex_unlock(m));
}

static int end_at_once(void *arg)
{
	(void)arg;
	return 0;
}

static void cleared_word(void)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	int *word = share(PAGE);

	*word = -1;
	if (!fork()) {
		int flags = CLONE_VM | CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

		clone(end_at_once, stack + sizeof(stack), flags, NULL, word, NULL, word);
		waitpid(-1, NULL, __WALL);
		_exit(0);
	}
	await();
	printf("word: %d\n", *word);
}

static unsigned descend(unsigned *depth)
{
	volatile char frame[100];

	frame[0] = (char)++*depth;
	return *depth > 100000000 ? 0 : descend(depth) + frame[0];
}

static void overflown(void)
{
	struct rlimit r = { 500000, 500000 };
	unsigned *depth = share(PAGE);
	int status;

	if (!fork()) {
		setrlimit(RLIMIT_STACK, &r);
		setrlimit(RLIMIT_CORE, &(struct rlimit){});
		_exit(descend(depth));
	}
	status = await();
	printf("stack: %d, %u deep\n", WTERMSIG(status), *depth);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "wait"))
		return after_wait(PAGE);
	if (!strcmp(what, "large"))
		return after_wait(1 << 20);
	if (!strcmp(what, "pipe") || !strcmp(what, "thread"))
		return through_pipe(!strcmp(what, "thread"));
	if (!strcmp(what, "signal"))
		return by_signal();
	if (strcmp(what, "kernel"))
		return 2;
	killed_with_mutex();
	cleared_word();
	overflown();
	return 0;
}
