// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * XSAVE areas of the standard format (Intel SDM volume 1, chapter 13): where the components
 * lie is the processor's choice, told by cpuid leaf 0xd.
 *
 *	0	legacy area: x87, MXCSR, xmm (components 0 and 1); 464 is left to software,
 *		where Linux keeps XCR0
 *	512	header: XSTATE_BV, which components are not in their initial state
 *	576	AVX, on all processors
 *	...	the rest: Intel at the places of cap_core_xstate(), AMD without MPX's room
 */
#define LOG_ROOM "capture"
#include <string.h>

#include "capture/cap_cpu.h"

#define LEGACY_BYTES 512
#define HEAD_BYTES 576 ///< legacy area and header
#define XCR0_AT 464
#define IN_USE_AT 512
#define COMMON_LAST 9 ///< the protection keys; what comes after, few programs use

struct cap_xstate_layout cap_core_xstate(void)
{
	return (struct cap_xstate_layout){ {
		[2] = { 576, 256 }, // upper halves of ymm0 to 15
		[3] = { 960, 64 },  // MPX
		[4] = { 1024, 64 },
		[5] = { 1088, 64 },   // k0 to 7
		[6] = { 1152, 512 },  // upper halves of zmm0 to 15
		[7] = { 1664, 1024 }, // zmm16 to 31
		[9] = { 2688, 8 },    // protection keys
		[17] = { 2752, 64 },  // AMX
		[18] = { 2816, 8192 },
	} };
}

struct cap_xstate_layout cap_cpu_xstate(const struct cap_cpu *c)
{
	struct cap_xstate_layout l = {};

	if (!c->n)
		return cap_core_xstate();
	for (int i = 2; i < CAP_XSTATE_COMPONENTS; i++) {
		uint32_t r[4];

		cap_cpu_find(c, 0xd, i, CAP_CPU_ANY, r);
		// Not of the supervisor's (ecx bit 0): these are in no such area.
		if (r[0] && !(r[2] & 1) && r[1] >= HEAD_BYTES && r[1] < 1u << 20 &&
		    r[0] < 1u << 20)
			l.at[i].offset = r[1], l.at[i].size = r[0];
	}
	return l;
}

static uint64_t get_u64(const uint8_t *at)
{
	uint64_t v;

	memcpy(&v, at, sizeof(v));
	return v;
}

size_t cap_xstate_convert(uint8_t *to, size_t to_bytes,
			  const struct cap_xstate_layout *to_layout, const uint8_t *from,
			  size_t from_bytes, const struct cap_xstate_layout *from_layout)
{
	uint64_t in_use, enabled, kept = 3;
	size_t used = HEAD_BYTES;

	memset(to, 0, to_bytes);
	if (from_bytes < HEAD_BYTES || to_bytes < HEAD_BYTES)
		return 0;
	memcpy(to, from, LEGACY_BYTES);
	in_use = get_u64(from + IN_USE_AT);
	enabled = get_u64(from + XCR0_AT);
	for (int i = 2; i < CAP_XSTATE_COMPONENTS; i++) {
		uint32_t size = to_layout->at[i].size, at = to_layout->at[i].offset;
		uint32_t source = from_layout->at[i].offset;

		if (!size || from_layout->at[i].size != size || at + size > to_bytes ||
		    source + size > from_bytes)
			continue;
		if (in_use >> i & 1)
			memcpy(to + at, from + source, size);
		else if (i > COMMON_LAST || !(enabled >> i & 1))
			continue;
		kept |= 1ull << i;
		used = at + size > used ? at + size : used;
	}
	in_use &= kept;
	enabled &= kept;
	memcpy(to + IN_USE_AT, &in_use, sizeof(in_use));
	memcpy(to + XCR0_AT, &enabled, sizeof(enabled));
	return used;
}
