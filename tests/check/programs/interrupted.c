// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Signals interrupt what pointers are in registers for: their handlers have pointers of their own there. One of a few
// mistakes by number.
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { BYTES = 40000, SMALL = 40 };
static char *a, *b, *gone, *text;
static int wrong;
static volatile sig_atomic_t n, n_outer;
static sigjmp_buf back;

static void leave_pointers(void)
{
	__asm__ volatile("mov %0, %%rsi\n"
			 "movb (%%rsi), %%dil\n"
			 "mov %1, %%rdx\n"
			 "movdqu (%%rdx), %%xmm3\n"
			 "mov %0, %%r8\n"
			 "movq %%r8, %%xmm2\n"
			 :
			 : "m"(a), "m"(b)
			 : "rsi", "rdi", "rdx", "r8", "xmm2", "xmm3", "memory");
}

static void on_alarm(int signo)
{
	(void)signo;
	memcpy(a, b, SMALL);
	leave_pointers();
	if (wrong == 1 && n == 5)
		a[0] = *(volatile char *)gone;
	if (wrong == 2 && n == 5)
		a[0] = ((volatile char *)b)[SMALL];
	n++;
}

static void on_user(int signo)
{
	(void)signo;
	n_outer++;
	raise(SIGUSR2);
	leave_pointers();
}

static void on_user_too(int signo)
{
	(void)signo;
	memset(b, n_outer, SMALL);
}

static void on_jump(int signo)
{
	(void)signo;
	leave_pointers();
	siglongjmp(back, 1);
}

/* The sum of @p bytes, all of the time by one pointer in rsi. */
static long sum_of(const char *p, long bytes)
{
	long sum = 0;

	__asm__ volatile("mov %1, %%rsi\n"
			 "mov %2, %%rdx\n"
			 "1: movzbl (%%rsi), %%eax\n"
			 "add %%rax, %0\n"
			 "inc %%rsi\n"
			 "dec %%rdx\n"
			 "jnz 1b\n"
			 : "+r"(sum)
			 : "m"(p), "m"(bytes)
			 : "rsi", "rdx", "rax", "memory");
	return sum;
}

static void handle(int signo, void (*fn)(int), int flags)
{
	struct sigaction s = { .sa_handler = fn, .sa_flags = flags };

	sigaction(signo, &s, NULL);
}

int main(int argc, char **argv)
{
	struct itimerval often = { { 0, 700 }, { 0, 700 } }, never = {};
	stack_t other = { .ss_sp = malloc(65536), .ss_size = 65536 };
	char *big = malloc(BYTES);
	volatile long sum = 0;
	int fd[2];

	wrong = argc > 1 ? atoi(argv[1]) : 0;
	a = malloc(SMALL);
	b = malloc(SMALL);
	gone = malloc(SMALL);
	text = malloc(SMALL);
	strcpy(text, "a text of some length");
	memset(b, 1, SMALL);
	memset(big, 1, BYTES);
	memset(gone, 1, SMALL);
	free(gone);
	sigaltstack(&other, NULL);
	handle(SIGALRM, on_alarm, SA_RESTART);
	handle(SIGUSR1, on_user, SA_ONSTACK);
	handle(SIGUSR2, on_user_too, SA_ONSTACK);
	handle(SIGHUP, on_jump, 0);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int k = 0; n < 20; k++)
		sum += sum_of(big, BYTES - k % 2) + strlen(text);
	for (volatile int k = 0; k < 10; k++) {
		raise(SIGUSR1);
		if (!sigsetjmp(back, 1))
			raise(SIGHUP);
	}
	if (!pipe(fd) && write(fd[1], "x", 1) == 1 && read(fd[0], big, BYTES) == 1)
		sum += big[0];
	if (wrong == 3)
		sum += sum_of(big, BYTES + 1);
	if (wrong == 4)
		sum += sum_of(gone, 2);
	if (wrong == 5)
		for (int k = 0; k < 100; k++) // most of these are interrupted where they are right
			sum += sum_of(big, BYTES + (k == 99));
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d %d %d\n", sum > 0, n >= 20, n_outer);
	free(a);
	free(b);
	free(text);
	free(big);
	sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
	free(other.ss_sp);
	return 0;
}
