// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a program would see of its recorder, or lose by it: whether rdtsc traps and whether
 * there is a filter, its own will about the first, and rdtsc where SIGSEGV is blocked or ignored
 * or is being handled, also in a thread, a child and a program just executed. Prints the same recorded or
 * not. Also a call that the program itself wants to be a signal, and a thread whose end is to be
 * told where nothing is mapped.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <x86intrin.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif

static sigjmp_buf back;
static volatile uint64_t last;
static volatile char selector;
static volatile int is_forbidden;

/** @return whether time goes on. */
static int ticks(void)
{
	uint64_t before = last;

	last = __rdtsc();
	return last > before;
}

static void on_segv(int signo, siginfo_t *info, void *context)
{
	(void)context;
	printf("SIGSEGV, code %d, address %d, here it %s\n", info->si_code,
	       info->si_addr != NULL, !is_forbidden && ticks() ? "ticks" : "stands");
	siglongjmp(back, signo);
}

static const char *handler_text(void)
{
	struct sigaction now;

	sigaction(SIGSEGV, NULL, &now);
	return now.sa_handler == SIG_IGN ? "ignored" :
	       now.sa_handler == SIG_DFL ? "default" :
					   "handled";
}

static void show(const char *what)
{
	sigset_t mask;
	int tick = ticks();

	sigprocmask(SIG_SETMASK, NULL, &mask);
	printf("%s: %s, SIGSEGV is %s and %s\n", what, tick ? "ticks" : "stands",
	       sigismember(&mask, SIGSEGV) ? "blocked" : "open", handler_text());
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(how, &set, NULL);
}

static void handle(void)
{
	struct sigaction act = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };

	sigaddset(&act.sa_mask, SIGUSR2);
	sigaction(SIGSEGV, &act, NULL);
}

static void show_mode(int with_filter)
{
	int mode = 99;

	prctl(PR_GET_TSC, &mode);
	printf("rdtsc: %d, seccomp: %d\n", mode, with_filter ? prctl(PR_GET_SECCOMP) : 0);
}

static void *in_thread(void *arg)
{
	(void)arg;
	show("thread");
	show_mode(1);
	block(SIG_UNBLOCK);
	show("thread, open");
	block(SIG_BLOCK);
	return NULL;
}

static void do_modes(void)
{
	int status;

	show_mode(1);
	is_forbidden = 1;
	prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
	show_mode(1);
	if (!sigsetjmp(back, 1))
		printf("not reached %d\n", ticks());
	fflush(stdout);
	if (!fork()) {
		show_mode(0); // who is not followed keeps the filter, and sees it
		fflush(stdout);
		signal(SIGSEGV, SIG_DFL);
		ticks();
		_exit(0);
	}
	wait(&status);
	printf("child: %d\n", WTERMSIG(status));
	is_forbidden = 0;
	prctl(PR_SET_TSC, PR_TSC_ENABLE);
	show_mode(1);
	show("allowed");
}

static void do_blocked(void)
{
	pthread_t t;

	show("at first");
	block(SIG_BLOCK);
	show("blocked");
	pthread_create(&t, NULL, in_thread, NULL);
	pthread_join(t, NULL);
	show("blocked still");
	signal(SIGSEGV, SIG_IGN);
	show("ignored");
	block(SIG_UNBLOCK);
	show("ignored, open");
	handle();
	if (!sigsetjmp(back, 1))
		*(volatile int *)0 = 1;
	show("after a handler");
}

static void on_call(int signo, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	selector = 0;
	uc->uc_mcontext.gregs[REG_RAX] = 4711;
	printf("signal %d instead of call %d\n", signo, info->si_syscall);
}

static void do_dispatch(void)
{
	struct sigaction act = { .sa_sigaction = on_call, .sa_flags = SA_SIGINFO };
	long got;

	sigaction(SIGSYS, &act, NULL);
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, 1, 0, 0, &selector))
		return;
	selector = 1;
	got = syscall(SYS_getppid);
	printf("call gave %ld\n", got);
}

static void *ends_nowhere(void *page)
{
	syscall(SYS_set_tid_address, page);
	return NULL;
}

static void do_end(void)
{
	void *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_attr_t attr;
	pthread_t t;

	munmap(page, 4096);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_create(&t, &attr, ends_nowhere, page);
	usleep(20000);
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[0], "again")) {
		show("executed");
		return 0;
	}
	handle();
	do_modes();
	do_blocked();
	do_dispatch();
	do_end();
	fflush(stdout);
	block(SIG_BLOCK);
	execl("/proc/self/exe", "again", NULL);
	return 1;
}
