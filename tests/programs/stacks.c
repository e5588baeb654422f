// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Stacks that grow as far as their limit of the moment allows, mappings that grow like them, a
 * handler that has no stack, and a signal in a loop that computes in vector registers alone.
 * `stacks child': a child that dies as its handler has no stack.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define PAGE 4096

static sigjmp_buf back;
static volatile int depth, *deepest = &depth;
static char other[65536];

static void on_fault(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	siglongjmp(back, signo);
}

static int descend(int left)
{
	volatile char frame[2000];

	*deepest = ++depth;
	frame[0] = left;
	return left ? descend(left - 1) + frame[0] : 0;
}

/** How deep the stack is with at most @p bytes. */
static void do_limit(const char *what, unsigned long bytes, int frames)
{
	struct rlimit limit;

	getrlimit(RLIMIT_STACK, &limit);
	limit.rlim_cur = bytes;
	depth = 0;
	if (setrlimit(RLIMIT_STACK, &limit))
		perror("setrlimit");
	else if (sigsetjmp(back, 1))
		printf("%s: overflow at %d\n", what, depth);
	else if (descend(frames))
		printf("%s: ended at %d\n", what, depth);
}

static void do_growing(void)
{
	char *p = mmap(NULL, 2048 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *top;

	munmap(p, 2048 * PAGE);
	top = mmap(p + 2000 * PAGE, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0);
	if (top == MAP_FAILED)
		return;
	for (int i = 0; i < 20; i++)
		top[-i * PAGE] = i;
	printf("grown: %d %d\n", top[-PAGE], top[-19 * PAGE]);
	// Where the kernel puts it, there is something else just below.
	top = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_GROWSDOWN, -1, 0);
	printf("another: %d\n", top == MAP_FAILED);
}

static void on_bad_stack(int signo, siginfo_t *info, void *context)
{
	ucontext_t *at = context;

	printf("signal %d, code %x\n", signo, info->si_code);
	at->uc_mcontext.gregs[REG_RIP] += 2; // behind ud2
}

/** SIGILL has a handler, but the stack is nowhere: SIGSEGV comes instead. */
static void do_no_stack(void)
{
	struct sigaction act = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	sigaction(SIGILL, &act, NULL);
	act.sa_sigaction = on_bad_stack;
	act.sa_flags |= SA_ONSTACK;
	sigaction(SIGSEGV, &act, NULL);
	__asm__ volatile("movq %%rsp, %%rbx; movq $0x700000001000, %%rsp; ud2\n"
			 "movq %%rbx, %%rsp"
			 :
			 :
			 : "rbx", "memory");
}

volatile int n_alarms;

static void on_alarm(int signo)
{
	(void)signo;
	n_alarms++;
}

static void do_vectors(void)
{
	struct itimerval timer = { .it_value.tv_usec = 5000 };
	uint64_t sum = 0, one = 1;

	signal(SIGVTALRM, on_alarm);
	setitimer(ITIMER_VIRTUAL, &timer, NULL);
	__asm__ volatile("movq %1, %%xmm1; movq %0, %%xmm0\n"
			 "1: .rept 2000; paddq %%xmm1, %%xmm0; .endr\n"
			 "cmpl $0, n_alarms(%%rip); je 1b\n"
			 "movq %%xmm0, %0"
			 : "+m"(sum)
			 : "m"(one)
			 : "xmm0", "xmm1", "cc", "memory");
	printf("sum %lu\n", sum);
}

/** A child's stack is full, and so its handler has none: it dies there, as deep as the parent says. */
static void do_child(void)
{
	int status;
	pid_t child;

	deepest = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	child = fork();
	if (!child) {
		signal(SIGSEGV, on_alarm);
		do_limit("child", 500000, 1 << 20);
		_exit(1);
	}
	waitpid(child, &status, 0);
	printf("child: signal %d at %d\n", WTERMSIG(status), *deepest);
}

int main(int argc, char **argv)
{
	stack_t stack = { .ss_sp = other, .ss_size = sizeof(other) };
	struct sigaction act = { .sa_sigaction = on_fault,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK };

	(void)argv;
	if (argc > 1) {
		do_child();
		return 0;
	}
	sigaltstack(&stack, NULL);
	sigaction(SIGSEGV, &act, NULL);
	do_limit("low", 500000, 1 << 20);
	do_limit("high", 64 << 20, 20000);
	do_growing();
	do_no_stack();
	do_vectors();
	return 0;
}
