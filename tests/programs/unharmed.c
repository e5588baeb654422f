// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

// FLAGS: -lpthread
/*
 * For those who disturb a recording: `unharmed KIND MS` works so long and prints what it
 * counted, or ends with another status than 0. KIND is a letter each for: c cpuid and
 * rdtsc, s system calls, g signals with a handler, t a second thread, f children.
 */
#include <cpuid.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile int signals;
static volatile int is_over;
static unsigned long counted;

static void on_alarm(int signo)
{
	(void)signo;
	signals++;
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void take_chances(void)
{
	unsigned a, b, c, d;
	unsigned long long t = __rdtsc();

	for (volatile int i = 0; i < 20000; i++)
		;
	__cpuid(0, a, b, c, d);
	if (!a || __rdtsc() <= t)
		_exit(10);
}

static void *work(void *kind)
{
	while (!is_over) {
		if (strchr(kind, 'c'))
			take_chances();
		for (volatile int i = 0; i < 100000; i++)
			;
		syscall(SYS_getppid);
	}
	return NULL;
}

static void have_child(void)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		take_chances();
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		_exit(11);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 1 ? argv[1] : "";
	struct itimerval timer = { { 0, 1000 }, { 0, 1000 } };
	long end = now_ms() + (argc > 2 ? atol(argv[2]) : 0);
	pthread_t thread;

	if (strchr(kind, 'g')) {
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &timer, NULL);
	}
	if (strchr(kind, 't') && pthread_create(&thread, NULL, work, (void *)kind))
		return 12;
	puts("begun");
	fflush(stdout);
	do {
		if (strchr(kind, 'c'))
			take_chances();
		if (strchr(kind, 's'))
			for (int i = 0; i < 10000; i++)
				if (syscall(SYS_getppid) < 0)
					return 13;
		if (strchr(kind, 'f'))
			have_child();
		counted++;
	} while (now_ms() < end);
	is_over = 1;
	if (strchr(kind, 't'))
		pthread_join(thread, NULL);
	if (strchr(kind, 'g') && !signals)
		return 14;
	printf("unharmed %d\n", counted > 0);
	return 0;
}
