// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// A fault interrupts code whose registers lead to a variable of its own. Its handler gets other registers, reads what the
// kernel says of those that were, and leaves its own in them, without values, as it returns. With an argument it
// makes a mistake.
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>

enum { BYTES = 64, LENGTH = 3 }; // of the instruction that faults

static int n_right, wrong;

static void touch(char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i]++;
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
	char mine[4] = "";
	int none[2];

	(void)signo;
	__asm__ volatile("" : "=m"(none));
	if (info->si_addr == (void *)8 && r[REG_RAX] == 8 && r[REG_R8] == 5)
		n_right++;
	r[REG_RIP] += LENGTH;
	touch(mine, 4 + (wrong == 1)); // wrong 1: STACK-OVERFLOW
	if (wrong == 2 && none[1] == 7) // wrong 2: UNINIT-USE
		n_right = 0;
	__asm__ volatile("mov %0, %%rcx\n"
			 "mov %1, %%r8d\n"
			 "mov %0, %%r9\n"
			 "mov %1, %%eax\n"
			 :
			 : "r"(mine), "m"(none[1])
			 : "rcx", "r8", "r9", "rax");
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	char text[BYTES];
	long sum, flag;

	wrong = argc > 1 ? argv[1][0] - '0' : 0;
	sigaction(SIGSEGV, &action, NULL);
	memset(text, 1, sizeof(text));
	__asm__ volatile("lea %2, %%rdx\n"
			 "mov %%rdx, %%rdi\n"
			 "mov %%rdx, %%rsi\n"
			 "mov %%rdx, %%rcx\n"
			 "mov %%rdx, %%r9\n"
			 "mov $5, %%r8d\n"
			 "mov $8, %%eax\n"
			 "movb $0, (%%rax)\n"
			 "movzbl 60(%%rcx), %%ecx\n"
			 "movzbl 61(%%r9), %%r9d\n"
			 "movzbl 62(%%rdx), %%edx\n"
			 "movzbl 63(%%rdi), %%edi\n"
			 "movzbl 63(%%rsi), %%esi\n"
			 "add %%rcx, %%r9\n"
			 "add %%rdx, %%r9\n"
			 "add %%rdi, %%r9\n"
			 "add %%rsi, %%r9\n"
			 "mov %%r9, %0\n"
			 "add %%r8, %%rax\n"
			 "mov %%rax, %1\n"
			 : "=m"(sum), "=m"(flag)
			 : "m"(text)
			 : "rax", "rcx", "rdx", "rdi", "rsi", "r8", "r9", "memory");
	if (sum == 5 && flag == 13 && n_right == 1)
		puts("right");
	return 0;
}
