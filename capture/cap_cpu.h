// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a processor says of itself: its answers to cpuid, kept in the manifest. Replay answers
 * from them what the recorder did not see, and knows how the vector registers lay in memory
 * there. Values, not shared between threads.
 */
#ifndef CAPTURE_CAP_CPU_H
#define CAPTURE_CAP_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

#define CAP_CPU_ANY (-1)

/** One answer. */
struct cap_cpuid {
	uint32_t leaf, subleaf; ///< subleaf: 0 where it does not matter
	uint32_t regs[4];	///< eax, ebx, ecx, edx
	int cpu;		///< the one that answers so, CAP_CPU_ANY = all do
};

/** All answers that are not zeros. {} = not known. */
struct cap_cpu {
	struct cap_cpuid *rows; ///< n, by leaf, subleaf, cpu
	size_t n;
	/** In the recorded process each cpuid is an event. Otherwise those in code of no file
	 * are not: it could not be made to trap. */
	bool is_trapped;
	bool is_tsc_probed; ///< rdtsc could not be made to trap: only those found in files are events
	/** The number of the CPU that the process ran on, from event number bound_from on;
	 * CAP_CPU_ANY: it may have changed CPUs. */
	int bound_to;
	uint64_t bound_from;
};

void cap_cpu_deinit(struct cap_cpu *c);

/**
 * Ask this machine's processor.
 *
 * @param with_each  Also which answers differ between the CPUs that this thread may run on
 *		     (numbers, topology): it visits each of them for that.
 * @return NULL, or ERR_NOMEM.
 */
struct err *cap_cpu_ask(struct cap_cpu *c, bool with_each);

/**
 * Ask this processor for its vendor, its extended features and its vector state (leaves 0, 7, 0xd
 * and 0x80000001), once in a process, and for no more: a virtual machine answers each cpuid by
 * leaving it.
 *
 * @param ret  Stays valid.
 */
struct err *cap_cpu_here(const struct cap_cpu **ret);

/**
 * What cpuid with eax @p leaf and ecx @p subleaf gives on CPU number @p cpu (CAP_CPU_ANY: not
 * known which) of the machine @p c.
 *
 * @return whether that is certain; false, with one CPU's answer, where they differ.
 */
bool cap_cpu_find(const struct cap_cpu *c, uint32_t leaf, uint32_t subleaf, int cpu,
		  uint32_t regs[4]);

/** @return the vendor's name as cpuid gives it ("GenuineIntel"), "" when not known. */
const char *cap_cpu_vendor(const struct cap_cpu *c, char name[13]);

/** @return the processor's brand string, trimmed; "" when not known. */
const char *cap_cpu_brand(const struct cap_cpu *c, char name[49]);

/* ---- vector registers -------------------------------------------------------------------- */

#define CAP_XSTATE_COMPONENTS 20 ///< of which we know something; 19 is APX

/** Where components of the vector state lie in an XSAVE area of the standard format (SDM
 * volume 1, 13.4.3): Intel left room for MPX, AMD did not. */
struct cap_xstate_layout {
	struct {
		uint32_t offset, size; ///< size 0: not there
	} at[CAP_XSTATE_COMPONENTS];
};

/** The layout of @p c; of one that is not known, the one of cores. */
struct cap_xstate_layout cap_cpu_xstate(const struct cap_cpu *c);

/** The layout that cores have, whatever CPU they are of: Intel's, up to the protection keys,
 * because gdb before version 14 knows no other. */
struct cap_xstate_layout cap_core_xstate(void);

/**
 * Bring an XSAVE area from one layout into another. Components that @p to_layout has no place
 * for, or that do not fit into @p to_bytes, are dropped, and XSTATE_BV and the copy of XCR0
 * in the bytes left to software say so.
 *
 * @param to  @p to_bytes, zeroed by this call; must not overlap @p from.
 * @return the bytes of @p to that are in use: legacy area, header, and components up to the
 *	   last that @p to_layout places and XCR0 (as @p from tells it) enables.
 */
size_t cap_xstate_convert(uint8_t *to, size_t to_bytes,
			  const struct cap_xstate_layout *to_layout, const uint8_t *from,
			  size_t from_bytes, const struct cap_xstate_layout *from_layout);

#endif
