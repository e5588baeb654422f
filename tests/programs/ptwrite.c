// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Writes into the processor's trace, five times. A CPU that knows PTWRITE executes it also
 * when nothing is traced; others raise SIGILL, which ends it with status 4.
 */
#include <signal.h>
#include <unistd.h>

static void unknown(int signo)
{
	_exit(signo);
}

int main(void)
{
	signal(SIGILL, unknown);
	for (unsigned long i = 0; i < 5; i++)
		// ptwrite %rax
		__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xe0" ::"a"(i * 1000));
	return 0;
}
