// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What of the processor's description a recorded program gets to see. The instructions that
 * give every run another result are hidden: a program that asks first then does not use them.
 */
#define LOG_ROOM "record"
#include "pt-collect/tracee/cpuid.h"
#include "pt-collect/tracee/traps.h"

/** Bits to hide: register (0 = eax ... 3 = edx) of a leaf. */
static const struct {
	uint32_t leaf, subleaf, reg, bits;
} hidden[] = {
	{ 1, 0, 2, 1u << 30 },			    // RDRAND
	{ 7, 0, 1, 1u << 4 | 1u << 11 | 1u << 18 }, // HLE, RTM, RDSEED
	{ 7, 0, 2, 1u << 5 | 1u << 22 },	    // WAITPKG; RDPID reads the CPU number
	{ 7, 0, 3, 1u << 22 | 1u << 24 | 1u << 25 }, // AMX
	{ 7, 1, 0, 1u << 21 },			     // AMX-FP16
	{ 7, 1, 3, 1u << 8 | 1u << 21 },	     // AMX-COMPLEX; APX
	// What XSAVE stores depends on which registers the CPU takes to be in their initial
	// state, and no architecture says when it does. Told that XSAVE stores nothing, the
	// dynamic linker keeps the arguments of a call that it binds with FXSAVE instead.
	{ 0xd, 0, 1, ~0u },
	{ 0x80000008, 0, 1, 1u << 4 }, // RDPRU
};

static bool has_subleaf(uint32_t leaf)
{
	return leaf == 7 || leaf == 0xd;
}

/**
 * --portable: what remains of the leaves that tell of instructions, so that the program
 * uses none beyond x86-64-v2 (SSE4.2, POPCNT). No XSAVE means no AVX and all that came
 * after it, and ld.so then saves registers with fxsave. Every CPU since 2009 has the rest;
 * rep movs may be fast or not.
 */
static const struct {
	uint32_t leaf;
	uint32_t keep[4]; ///< of subleaf 0; the others answer nothing
} portable[] = {
	// SSE3, SSSE3, CMPXCHG16B, SSE4.1, SSE4.2, POPCNT, hypervisor
	{ 1,
	  { -1u, -1u, 1u | 1u << 9 | 1u << 13 | 3u << 19 | 1u << 23 | 1u << 31, -1u } },
	{ 7, { 0, 1u << 9, 0, 1u << 4 } }, // ERMS, FSRM
	{ 0xd, {} },			   // XSAVE
	{ 0x19, {} },			   // key locker
	{ 0x1d, {} },			   // AMX
	{ 0x1e, {} },
	{ 0x24, {} },			       // AVX10
	{ 0x80000001, { -1u, -1u, 1u, -1u } }, // LAHF; not LZCNT, XOP, FMA4, TBM
};

static void make_portable(uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
	for (size_t i = 0; i < sizeof(portable) / sizeof(portable[0]); i++)
		for (int k = 0; portable[i].leaf == leaf && k < 4; k++)
			r[k] &= has_subleaf(leaf) && subleaf ? 0 : portable[i].keep[k];
}

void ptc_cpuid_hide(bool is_portable, uint32_t leaf, uint32_t subleaf, uint32_t r[4])
{
	for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++)
		if (hidden[i].leaf == leaf &&
		    (!has_subleaf(leaf) || hidden[i].subleaf == subleaf))
			r[hidden[i].reg] &= ~hidden[i].bits;
	if (is_portable)
		make_portable(leaf, subleaf, r);
}

const struct cap_cpu *ptc_cpu_here(void)
{
	static struct cap_cpu here;

	if (!here.n)
		err_destroy(cap_cpu_ask(&here, !ptc_can_trap_cpuid()));
	return here.n ? &here : NULL;
}
