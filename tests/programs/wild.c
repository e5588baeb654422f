// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reads and writes below 2 GiB, where it has nothing and a machine that replays it has half a
 * MiB somewhere: each access faults. It says how many did.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>

static sigjmp_buf back;

static void handle(int signo)
{
	siglongjmp(back, signo);
}

int main(void)
{
	volatile int n = 0;

	signal(SIGSEGV, handle);
	for (volatile uint64_t at = 256u << 20; at < 2ull << 30; at += 512 << 10) {
		volatile uint64_t *word = (void *)at;

		if (sigsetjmp(back, 1))
			n++;
		else if (at >> 19 & 1)
			*word = 1;
		else
			(void)*word;
	}
	printf("%d faults\n", n);
	return 0;
}
