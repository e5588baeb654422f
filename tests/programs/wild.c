// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reads and writes where a program has nothing and a machine that replays it may have something of its own:
 * each access faults. It says how many did; 8 do.
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
	static const uint64_t places[] = { 0x70001000, 0x78000010, 0x38001008,
					   0x20000ff8 };
	volatile int n = 0;

	signal(SIGSEGV, handle);
	for (volatile int i = 0; i < 8; i++) {
		volatile uint64_t *at = (void *)places[i / 2];

		if (sigsetjmp(back, 1))
			n++;
		else if (i % 2)
			*at = 1;
		else
			(void)*at;
	}
	printf("%d faults\n", n);
	return 0;
}
