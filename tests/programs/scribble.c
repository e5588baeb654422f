// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * scribble BYTE: writes wherever it has no memory, and takes the fault. Where a replay has
 * something of its own, nothing faults, and it is overwritten with BYTE (256: with chance).
 */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sigjmp_buf back;
static unsigned n_written;

static void on_fault(int signo)
{
	(void)signo;
	siglongjmp(back, 1);
}

__attribute__((noinline)) static void write_at(uint64_t at, unsigned byte)
{
	static uint64_t chance = 1;

	if (sigsetjmp(back, 0))
		return;
	for (int i = 0; i < 512; i++) {
		chance = chance * 6364136223846793005ull + 1442695040888963407ull;
		((volatile uint64_t *)at)[i] = byte < 256 ? byte * 0x0101010101010101ull :
							    chance;
	}
	n_written++;
}

/* Every 256 KiB up to 2 GiB, every MiB as far as a jump from here reaches. */
int main(int argc, char **argv)
{
	unsigned byte = argc > 1 ? atoi(argv[1]) : 256;
	struct sigaction sa = { .sa_handler = on_fault, .sa_flags = SA_NODEFER };
	uint64_t here = (uint64_t)(uintptr_t)&main & ~0xfffffull;

	sigaction(SIGSEGV, &sa, NULL);
	sigaction(SIGBUS, &sa, NULL);
	for (uint64_t at = 1 << 18; at < 1ull << 31; at += 1 << 18)
		write_at(at, byte);
	for (uint64_t far = 16 << 20; far < 1ull << 31; far += 1 << 20) {
		write_at(here - far, byte);
		write_at((uint64_t)(uintptr_t)&printf - far, byte);
		write_at(((uint64_t)(uintptr_t)&printf & ~0xfffffull) + far, byte);
	}
	printf("%u written\n", n_written);
	return 0;
}
