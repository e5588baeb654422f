// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
// FLAGS: -O1 -lpthread -fno-omit-frame-pointer

/**
 * @file
 * keeps MODE [N]: stores that it knows. Each is made by keep() and printed on stdout as
 * "keep THREAD ADDRESS VALUE", or is made by count() and printed as "count THREAD ADDRESS VALUE",
 * in the order in which the thread makes them; THREAD is a thread id. "wrong" is printed when
 * memory does not have what was stored.
 *
 *   crash     N of each, then a store to address 0x10
 *   threads   two threads do so, then the program crashes
 *   serve     a few each millisecond, until SIGTERM; SIGUSR1 makes it call report()
 *   quiet     N of each without a word, then the last ten of each, printed, and a crash
 *   forks     N of each, then in a forked child, then in one that executes this program again
 *             with "exit"; exits with 0
 *   exit      N of each, then exits with 0
 */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t wants_report, wants_end;
static uint64_t global[8];

/** Here address and value are in registers. */
__attribute__((noinline)) void keep(volatile uint64_t *to, uint64_t value)
{
	*to = value;
	__asm__ volatile("nop");
}

/** Here no register ever has the value. */
__attribute__((noinline)) void count(volatile uint64_t *to)
{
	__asm__ volatile("addq $3, (%0)\n\tnop" : : "r"(to) : "memory");
}

__attribute__((noinline)) void report(uint64_t code)
{
	__asm__ volatile("" : : "r"(code) : "memory");
}

static uint64_t mixed(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15;
	return v ^ v >> 29;
}

static void one_of_each(uint64_t *on, uint64_t i, int is_loud)
{
	long tid = syscall(SYS_gettid);
	uint64_t value = mixed(i + tid);

	keep(&on[i % 7], value);
	count(&on[i % 7]);
	if (on[i % 7] != value + 3)
		printf("wrong at %lx\n", (unsigned long)&on[i % 7]);
	if (!is_loud)
		return;
	flockfile(stdout);
	printf("keep %ld %lx %lx\n", tid, (unsigned long)&on[i % 7],
	       (unsigned long)value);
	printf("count %ld %lx %lx\n", tid, (unsigned long)&on[i % 7],
	       (unsigned long)value + 3);
	funlockfile(stdout);
}

static void work(uint64_t n)
{
	uint64_t *heap = calloc(8, sizeof(*heap));

	for (uint64_t i = 0; i < n; i++)
		one_of_each(i % 2 ? global : heap, i, 1);
	fflush(stdout);
	free(heap);
}

static void crash(void)
{
	fflush(stdout);
	keep((volatile uint64_t *)0x10, 0xdead);
}

static void *work_in_thread(void *n)
{
	uint64_t here[8] = {};

	for (uint64_t i = 0; i < (uintptr_t)n; i++)
		one_of_each(here, i, 1);
	return NULL;
}

static void threads(uint64_t n)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, work_in_thread, (void *)(uintptr_t)n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	crash();
}

static void on_signal(int signo)
{
	if (signo == SIGUSR1)
		wants_report = 1;
	else
		wants_end = 1;
}

static int serve(void)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	printf("ready\n");
	fflush(stdout);
	for (uint64_t i = 0; !wants_end; i++) {
		one_of_each(global, i, 1);
		fflush(stdout);
		if (wants_report) {
			wants_report = 0;
			report(i);
		}
		usleep(1000);
	}
	printf("served\n");
	return 7;
}

static void quiet(uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		one_of_each(global, i, i + 10 >= n);
	crash();
}

static int forks(uint64_t n, char *self, char *number)
{
	pid_t pid;

	work(n);
	pid = fork();
	if (!pid) {
		work(n + 1);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	pid = fork();
	if (!pid) {
		execl(self, self, "exit", number, NULL);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	return 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "crash";
	uint64_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 20;

	if (!strcmp(mode, "serve"))
		return serve();
	if (!strcmp(mode, "forks"))
		return forks(n, argv[0], argc > 2 ? argv[2] : (char *)"20");
	if (!strcmp(mode, "quiet"))
		quiet(n);
	else if (!strcmp(mode, "threads"))
		threads(n);
	else
		work(n);
	if (strcmp(mode, "exit"))
		crash();
	return 0;
}
