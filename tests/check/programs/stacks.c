// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Stacks in a variable, in static data and in blocks: of coroutines, which wait while others run, and of signals'
// handlers, which return or are left. With an argument a variable outlives its function in a program that has but
// handlers on the one stack.
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define KEEP __attribute__((noinline, noclone))

enum { BYTES = 65536, STACKS = 3, ROUNDS = 6 };

static char in_data[BYTES];
static ucontext_t outer, inner[STACKS];
static sigjmp_buf back;
static int sum;

KEEP static void touch(char *p, int n)
{
	for (int i = 0; i < n; i++)
		p[i]++;
}

static void run(int k)
{
	char counts[10] = "", text[40] = "";

	for (int i = 0; i < ROUNDS; i++) {
		touch(counts, sizeof(counts));
		snprintf(text, sizeof(text), "%d at %d", k, i);
		sum += counts[i] + (int)strlen(text);
		swapcontext(&inner[k], &outer);
	}
}

KEEP static void switch_stacks(char *const stack[STACKS])
{
	for (int k = 0; k < STACKS; k++) {
		getcontext(&inner[k]);
		inner[k].uc_stack.ss_sp = stack[k];
		inner[k].uc_stack.ss_size = BYTES;
		inner[k].uc_link = &outer;
		makecontext(&inner[k], (void (*)(void))run, 1, k);
	}
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < STACKS; k++)
			swapcontext(&outer, &inner[k]);
}

/* As libraries of coroutines have it: to the one at @to, which a jump goes on with. */
void change(void **from, void *to);
__asm__(".text\n"
	"change:\n"
	"push %rbp\n push %rbx\n push %r12\n push %r13\n push %r14\n push %r15\n"
	"mov %rsp, (%rdi)\n"
	"mov %rsi, %rsp\n"
	"pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbx\n pop %rbp\n"
	"pop %r8\n"
	"jmp *%r8\n");

static void *main_at, *ring_at[STACKS];
static int n_begun, n_left = 30;

KEEP static void work_in_ring(int k, char *counts, int depth)
{
	char mine[24] = "";

	touch(mine, sizeof(mine));
	change(&ring_at[k], n_left-- ? ring_at[(k + 1) % STACKS] : main_at);
	touch(mine, sizeof(mine));
	counts[depth] += mine[3];
	if (depth)
		work_in_ring(k, counts, depth - 1);
}

static void run_in_ring(void)
{
	int k = n_begun++;
	char counts[10] = "";

	change(&ring_at[k], main_at);
	for (int i = 0;; i++) {
		work_in_ring(k, counts, i % 4);
		sum += counts[i % 4];
	}
}

KEEP static void run_ring(char *const stack[STACKS])
{
	for (int k = 0; k < STACKS; k++) {
		void **at = (void **)(((uintptr_t)stack[k] + BYTES - 64) & -16);

		*--at = NULL;
		*--at = (void *)run_in_ring;
		ring_at[k] = memset(at - 6, 0, 6 * sizeof(*at));
		change(&main_at, ring_at[k]);
	}
	change(&main_at, ring_at[0]);
}

static void on_signal(int signo, siginfo_t *info, void *context)
{
	char counts[10] = "";

	touch(counts, sizeof(counts));
	sum += counts[9] + (info->si_signo == signo);
	sum += ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP] != 0;
	if (signo == SIGSEGV)
		siglongjmp(back, 1);
}

KEEP static void handle_signals(char *const stack[STACKS], int n)
{
	struct sigaction action = { .sa_sigaction = on_signal,
				    .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t none = { .ss_flags = SS_DISABLE };

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (int k = 0; k < n; k++) {
		stack_t other = { .ss_sp = stack[k], .ss_size = BYTES };
		char counts[10] = "";

		sigaltstack(stack[k] ? &other : &none, NULL);
		raise(SIGUSR1);
		if (!sigsetjmp(back, 1))
			*(volatile int *)8 = 1;
		touch(counts, sizeof(counts));
		raise(SIGUSR1);
	}
	sigaltstack(&none, NULL);
}

KEEP static char *outlive(char **ret)
{
	char counts[10] = "";

	touch(counts, sizeof(counts));
	*ret = counts;
	__asm__ volatile("" : : "r"(ret) : "memory");
	return NULL;
}

int main(int argc, char **argv)
{
	char in_frame[BYTES], *gone, *block = malloc(BYTES), *other = malloc(BYTES);
	char *const stack[STACKS] = { in_frame, in_data, block }, *const none[1] = { NULL };
	char *const rings[STACKS] = { block, other, in_data };

	if (argc > 1) {
		handle_signals(none, 1);
		outlive(&gone);
		sum += ((volatile char *)gone)[3]; // expect: DEAD-FRAME
	} else {
		run_ring(rings);
		handle_signals(stack, STACKS);
		switch_stacks(stack);
	}
	printf("%d\n", sum);
	free(block);
	free(other);
	return 0;
}
