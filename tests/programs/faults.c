// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Faults where control has just come to: at a function's first instruction, where a handler
 * returned to, and behind a jump. The handler skips what faulted: `faults N` prints N.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <ucontext.h>

static volatile int n_faults;

static void skip(int signo, siginfo_t *si, void *context)
{
	ucontext_t *u = context;

	(void)signo;
	(void)si;
	n_faults++;
	u->uc_mcontext.gregs[REG_RIP] += 2;
}

/* Begins with an instruction that faults, twice. */
void faulty(void);
__asm__(".type faulty, @function\n"
	"faulty: ud2\n"
	"ud2\n"
	"ret\n"
	".size faulty, . - faulty\n");

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_sigaction = skip, .sa_flags = SA_SIGINFO };
	int n = argc > 1 ? atoi(argv[1]) : 8;

	sigaction(SIGILL, &sa, NULL);
	while (n_faults < n) {
		faulty();
		__asm__ volatile("jmp 1f\nnop\n1: ud2");
	}
	printf("%d\n", n_faults);
	return 0;
}
