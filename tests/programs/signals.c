// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Signals at every kind of place: raised by the program, by a timer in the middle of
 * arithmetic and of a system call, by a fault; handlers on their own stack, nested,
 * left by siglongjmp; masks and sigwaitinfo.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t n_usr1, n_usr2, n_alarms;
static volatile uint64_t counter, at_alarm[64];
static sigjmp_buf back;
static void *fault_address;

static void on_usr1(int signo, siginfo_t *info, void *context)
{
	(void)context;
	n_usr1++;
	if (info->si_value.sival_int > 0) {
		union sigval v = { .sival_int = info->si_value.sival_int - 1 };

		sigqueue(getpid(), signo, v); // nested: SA_NODEFER
	}
}

static void on_usr2(int signo)
{
	int local;

	(void)signo;
	n_usr2++;
	if (n_usr2 == 1)
		printf("handler stack near %p\n",
		       (void *)((uintptr_t)&local & ~0xfffful));
}

static void on_alarm(int signo)
{
	(void)signo;
	if (n_alarms < 64)
		at_alarm[n_alarms] = counter;
	n_alarms++;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	fault_address = info->si_addr;
	siglongjmp(back, 1);
}

static void set_handler(int signo, void *handler, int flags)
{
	struct sigaction a = { .sa_flags = flags };

	if (flags & SA_SIGINFO)
		a.sa_sigaction = (void (*)(int, siginfo_t *, void *))handler;
	else
		a.sa_handler = (void (*)(int))handler;
	sigemptyset(&a.sa_mask);
	sigaction(signo, &a, NULL);
}

static void do_raised(void)
{
	union sigval v = { .sival_int = 5 };
	stack_t stack = { .ss_sp = malloc(SIGSTKSZ * 4), .ss_size = SIGSTKSZ * 4 };

	set_handler(SIGUSR1, on_usr1, SA_SIGINFO | SA_NODEFER);
	sigqueue(getpid(), SIGUSR1, v);
	printf("usr1 %d\n", n_usr1);
	sigaltstack(&stack, NULL);
	set_handler(SIGUSR2, on_usr2, SA_ONSTACK);
	for (int i = 0; i < 10; i++)
		raise(SIGUSR2);
	printf("usr2 %d\n", n_usr2);
}

static void do_timer(void)
{
	struct itimerval often = { { 0, 1000 }, { 0, 1000 } }, never = {};
	uint64_t sum = 0;

	set_handler(SIGALRM, on_alarm, SA_RESTART);
	setitimer(ITIMER_REAL, &often, NULL);
	while (n_alarms < 20) {
		counter++;
		// A division takes its time: few instructions between two alarms.
		sum = sum / 3 % counter * 6364136223846793005u + counter;
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("alarms %d counter %lu sum %lx\n", n_alarms, counter, sum);
	for (int i = 0; i < 20; i++)
		printf("%lu%c", at_alarm[i], i == 19 ? '\n' : ' ');
}

static void do_interrupted_call(void)
{
	struct itimerval once = { {}, { 0, 3000 } };
	char c;
	int p[2];

	if (pipe(p))
		exit(2);
	set_handler(SIGALRM, on_alarm, 0);
	setitimer(ITIMER_REAL, &once, NULL);
	printf("read %zd", read(p[0], &c, 1));
	printf(" %s\n", strerror(errno));
}

static void do_fault(void)
{
	set_handler(SIGSEGV, on_fault, SA_SIGINFO);
	if (sigsetjmp(back, 1) == 0)
		*(volatile int *)0x1234 = 1;
	printf("fault at %p\n", fault_address);
	set_handler(SIGFPE, on_fault, SA_SIGINFO);
	if (sigsetjmp(back, 1) == 0) {
		volatile int seven = 7, zero = 0;

		printf("%d\n", seven / zero);
	}
	printf("division by zero\n");
}

static void do_wait(void)
{
	siginfo_t info;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	kill(getpid(), SIGTERM);
	printf("waited for %d", sigwaitinfo(&set, &info));
	printf(" from %d\n", info.si_pid == getpid());
}

int main(void)
{
	do_raised();
	do_timer();
	do_interrupted_call();
	do_fault();
	do_wait();
	return 0;
}
