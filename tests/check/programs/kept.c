// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Vector registers that the C library does not use keep what they hold over calls of its allocator. Says how often one of
// them did not.

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 3000, BYTES = 64 };

static uint8_t before[8 * BYTES] __attribute__((aligned(64)));
static uint8_t after[8 * BYTES] __attribute__((aligned(64)));

/* There are pointers in what was released, of which nothing is to be left. */
static void *allocate(int round)
{
	void **block = malloc(round * 37 % 600 + (round % 100 ? 16 : 9000));

	*block = block;
	return block;
}

// The stack is the callee's at 16 bytes; of its arguments and results the registers are those of the ABI.
#define CALLED                                                                            \
	"rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", \
		"xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "memory", "cc"

static void release(void *block)
{
	free(block);
}

__attribute__((target("avx512f"))) static void wide(int round)
{
	void *block = allocate(round), *next = NULL;

	__asm__ volatile("vmovdqu64 (%1), %%zmm16\n vmovdqu64 64(%1), %%zmm20\n"
			 "vmovdqu64 128(%1), %%zmm24\n vmovdqu64 192(%1), %%zmm31\n"
			 "vmovdqu64 256(%1), %%zmm12\n vmovdqu64 320(%1), %%zmm15\n"
			 "mov %3, %%rdi\n call *%4\n mov %5, %%edi\n call *%6\n mov %%rax, %0\n"
			 "vmovdqu64 %%zmm16, (%2)\n vmovdqu64 %%zmm20, 64(%2)\n"
			 "vmovdqu64 %%zmm24, 128(%2)\n vmovdqu64 %%zmm31, 192(%2)\n"
			 "vmovdqu64 %%zmm12, 256(%2)\n vmovdqu64 %%zmm15, 320(%2)"
			 : "=m"(next)
			 : "b"(before), "r"(after), "r"(block), "r"(release), "r"(round + 1),
			   "m"(*(void *(*const *)(int)) & (void *(*[])(int)){ allocate }[0])
			 : CALLED, "xmm12", "xmm15", "xmm16", "xmm20", "xmm24", "xmm31");
	free(next);
}

static void narrow(int round)
{
	void *block = allocate(round), *next = NULL;

	__asm__ volatile("movups (%1), %%xmm8\n movups 64(%1), %%xmm10\n"
			 "movups 128(%1), %%xmm12\n movups 192(%1), %%xmm15\n"
			 "mov %3, %%rdi\n call *%4\n mov %5, %%edi\n call *%6\n mov %%rax, %0\n"
			 "movups %%xmm8, (%2)\n movups %%xmm10, 64(%2)\n"
			 "movups %%xmm12, 128(%2)\n movups %%xmm15, 192(%2)"
			 : "=m"(next)
			 : "b"(before), "r"(after), "r"(block), "r"(release), "r"(round + 1),
			   "m"(*(void *(*const *)(int)) & (void *(*[])(int)){ allocate }[0])
			 : CALLED, "xmm8", "xmm10", "xmm12", "xmm15");
	free(next);
}

int main(void)
{
	int lost = 0, bytes = __builtin_cpu_supports("avx512f") ? BYTES : 16;

	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < sizeof(before); i++)
			before[i] = i * 7 + round;
		if (bytes == BYTES)
			wide(round);
		else
			narrow(round);
		for (int k = 0; k < 4; k++)
			lost += memcmp(before + k * BYTES, after + k * BYTES, bytes) != 0;
	}
	printf("%d lost\n", lost);
	return lost != 0;
}
