// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "capture/cap_isa.h"

#include <cpuid.h>

enum { EAX, EBX, ECX, EDX };

/* Sources: as cap_cpu.c. What is part of x86-64 itself is everywhere; what the recorder or the machine
 * does in the processor's place (rdrand, fsgsbase) is nobody's need. */
static const struct {
	const char *name;
	uint32_t leaf, subleaf;
	uint8_t reg, bit;
} sets[] = {
	{ "ssse3", 1, 0, ECX, 9 },
	{ "fma", 1, 0, ECX, 12 },
	{ "sse4_1", 1, 0, ECX, 19 },
	{ "sse4_2", 1, 0, ECX, 20 },
	{ "movbe", 1, 0, ECX, 22 },
	{ "popcnt", 1, 0, ECX, 23 },
	{ "pclmulqdq", 1, 0, ECX, 1 },
	{ "aes", 1, 0, ECX, 25 },
	{ "avx", 1, 0, ECX, 28 },
	{ "f16c", 1, 0, ECX, 29 },
	{ "bmi1", 7, 0, EBX, 3 },
	{ "avx2", 7, 0, EBX, 5 },
	{ "bmi2", 7, 0, EBX, 8 },
	{ "rtm", 7, 0, EBX, 11 },
	{ "avx512f", 7, 0, EBX, 16 },
	{ "avx512dq", 7, 0, EBX, 17 },
	{ "adx", 7, 0, EBX, 19 },
	{ "avx512ifma", 7, 0, EBX, 21 },
	{ "avx512cd", 7, 0, EBX, 28 },
	{ "sha_ni", 7, 0, EBX, 29 },
	{ "avx512bw", 7, 0, EBX, 30 },
	{ "avx512vl", 7, 0, EBX, 31 },
	{ "avx512vbmi", 7, 0, ECX, 1 },
	{ "avx512_vbmi2", 7, 0, ECX, 6 },
	{ "gfni", 7, 0, ECX, 8 },
	{ "vaes", 7, 0, ECX, 9 },
	{ "vpclmulqdq", 7, 0, ECX, 10 },
	{ "avx512_vnni", 7, 0, ECX, 11 },
	{ "avx512_bitalg", 7, 0, ECX, 12 },
	{ "avx512_vpopcntdq", 7, 0, ECX, 14 },
	{ "avx512_vp2intersect", 7, 0, EDX, 8 },
	{ "amx_bf16", 7, 0, EDX, 22 },
	{ "avx512_fp16", 7, 0, EDX, 23 },
	{ "amx_tile", 7, 0, EDX, 24 },
	{ "amx_int8", 7, 0, EDX, 25 },
	{ "avx_vnni", 7, 1, EAX, 4 },
	{ "avx512_bf16", 7, 1, EAX, 5 },
	{ "avx_ifma", 7, 1, EAX, 23 },
	{ "abm", 0x80000001, 0, ECX, 5 },
	{ "sse4a", 0x80000001, 0, ECX, 6 },
	{ "xop", 0x80000001, 0, ECX, 11 },
	{ "fma4", 0x80000001, 0, ECX, 16 },
	{ "tbm", 0x80000001, 0, ECX, 21 },
};

#define N_SETS (sizeof(sets) / sizeof(*sets))
_Static_assert(N_SETS <= 64, "a bit each");

const char *cap_isa_name(unsigned i)
{
	return i < N_SETS ? sets[i].name : NULL;
}

cap_isa cap_isa_of(const struct cap_cpu *c)
{
	cap_isa all = 0;

	for (unsigned i = 0; c->n && i < N_SETS; i++) {
		uint32_t regs[4];

		cap_cpu_find(c, sets[i].leaf, sets[i].subleaf, CAP_CPU_ANY, regs);
		all |= (cap_isa)(regs[sets[i].reg] >> sets[i].bit & 1) << i;
	}
	return all;
}

cap_isa cap_isa_here(void)
{
	cap_isa all = 0;

	for (unsigned i = 0; i < N_SETS; i++) {
		uint32_t regs[4] = {};

		// Leaves that are not there are left as they are.
		__get_cpuid_count(sets[i].leaf, sets[i].subleaf, &regs[EAX], &regs[EBX],
				  &regs[ECX], &regs[EDX]);
		all |= (cap_isa)(regs[sets[i].reg] >> sets[i].bit & 1) << i;
	}
	return all;
}
