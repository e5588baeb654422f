// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Registers of the oracle as x86/insn.h numbers them, and random states to start from.
 */
#ifndef TESTS_CPU_STATE_H
#define TESTS_CPU_STATE_H

#include <cpuid.h>

#include "tests/decode/cpu_forms.h"
#include "tests/decode/cpu_native.h"

static inline uint32_t cpu_xsave_offset(int component)
{
	static uint32_t offset[16];
	uint32_t a, c, d;

	if (!offset[component])
		__cpuid_count(0xd, component, a, offset[component], c, d);
	return offset[component];
}

static inline bool cpu_has(const struct cpu_state *s, int component)
{
	uint64_t xcr0;

	memcpy(&xcr0, s->xsave + 464, 8);
	return xcr0 >> component & 1;
}

/* Where register @p reg lies in the state, piece by piece. @return the piece's bytes, 0
 * behind the last. */
static inline size_t cpu_piece(struct cpu_state *s, int reg, int piece, uint8_t **at)
{
	static const uint8_t component[3] = { 1, 2, 6 }, size[3] = { 16, 16, 32 };
	int v = reg - DEC_REG_VEC;

	if (reg < DEC_GPRS && !piece) {
		*at = (uint8_t *)cpu_gpr(&s->regs, reg);
		return 8;
	}
	if (reg >= DEC_REG_VEC && v < 16 && piece < 3 && cpu_has(s, component[piece])) {
		*at = s->xsave + (piece ? cpu_xsave_offset(component[piece]) : 160) +
		      size[piece] * v;
		return size[piece];
	}
	if (v >= 16 && reg < DEC_REG_K && !piece && cpu_has(s, 7)) {
		*at = s->xsave + cpu_xsave_offset(7) + 64 * (v - 16);
		return 64;
	}
	if (reg >= DEC_REG_K && reg < DEC_REG_FLAGS && !piece && cpu_has(s, 5)) {
		*at = s->xsave + cpu_xsave_offset(5) + 8 * (reg - DEC_REG_K);
		return 8;
	}
	return 0;
}

/** Read a register of the oracle as dec_engine_read_reg() does. */
static inline size_t cpu_read_reg(struct cpu_state *s, int reg, uint8_t buf[160])
{
	uint64_t flags = s->regs.eflags;
	size_t n = 0, piece;
	uint8_t *at;

	memset(buf, 0, 160);
	switch (reg) {
	case DEC_REG_FLAGS:
		memcpy(buf, &flags, 8);
		return 8;
	case DEC_REG_X87:
		memcpy(buf, s->xsave, 160);
		memset(buf + 24, 0, 8);
		return 160;
	case DEC_REG_MXCSR:
		memcpy(buf, s->xsave + 24, 4);
		return 4;
	default:
		for (int i = 0; (piece = cpu_piece(s, reg, i, &at)); i++, n += piece)
			memcpy(buf + n, at, piece);
		return reg < DEC_GPRS || reg >= DEC_REG_K ? 8 : 64;
	}
}

/** @return whether two values of a register differ where that means something. */
static inline bool cpu_reg_differs(int reg, const uint8_t *a, const uint8_t *b, size_t n)
{
	uint64_t fa, fb;

	switch (reg) {
	case DEC_REG_FLAGS:
		memcpy(&fa, a, 8);
		memcpy(&fb, b, 8);
		return (fa ^ fb) & CPU_FLAGS;
	case DEC_REG_X87:
		// With the address of the last x87 instruction (8 bytes at 8), but not its
		// opcode and operand, which not every CPU keeps.
		if (memcmp(a, b, 5) || (!cpu_loses_pointers() && memcmp(a + 8, b + 8, 8)))
			return true;
		for (int i = 0; i < 8; i++) {
			if (memcmp(a + 32 + 16 * i, b + 32 + 16 * i, 10))
				return true;
		}
		return false;
	default:
		return memcmp(a, b, n) != 0;
	}
}

/* Bits that make interesting integers, floats and lanes. */
static inline uint64_t cpu_random_word(uint64_t *seed)
{
	static const uint64_t special[] = {
		0,
		1,
		~0ull,
		0x7fffffffffffffff,
		0x8000000000000000,
		0x80000000,
		0x7f,
		0x80,
		0x3ff0000000000000,
		0x7ff0000000000000,
		0x7ff8000000000000,
		0x3f800000,
		0x0000000000000fff,
		0x4059000000000000,
		0x3f8000003f800000,
	};
	uint64_t r = cpu_random(seed);

	switch (r >> 61) {
	case 0:
		return special[(r >> 8) % (sizeof(special) / sizeof(*special))];
	case 1:
		return r & 0xff;
	case 2:
		return 0x3f00000000000000 | (r >> 8);
	default:
		return cpu_random(seed);
	}
}

static inline void cpu_random_bytes(uint64_t *seed, uint8_t *to, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = cpu_random_word(seed);

		memcpy(to + i, &w, n - i < 8 ? n - i : 8);
	}
}

/* x87 with every exception masked, any stack top and tags. */
static inline void cpu_random_x87(uint64_t *seed, uint8_t *legacy)
{
	memset(legacy, 0, 24);
	legacy[0] = 0x7f;
	legacy[1] = cpu_random(seed) >> 40 & 0xf;
	legacy[3] = cpu_random(seed) >> 40 & 0x7f; // top and conditions, not busy
	legacy[4] = cpu_random(seed) >> 40 | cpu_random(seed) >> 40;
	memset(legacy + 32, 0, 128);
	for (int i = 0; i < 8; i++) {
		uint64_t w = cpu_random_word(seed);
		uint16_t top = 0x3f80 + (cpu_random(seed) >> 40) % 256;

		memcpy(legacy + 32 + 16 * i, &w, 8);
		if (cpu_random(seed) >> 62) // mostly normal numbers
			legacy[32 + 16 * i + 7] |= 0x80;
		memcpy(legacy + 32 + 16 * i + 8, &top, 2);
	}
}

/** @return the components this CPU has, of x87, SSE, AVX and AVX-512. */
static inline uint64_t cpu_components(const struct cpu_state *s)
{
	uint64_t xcr0;

	memcpy(&xcr0, s->xsave + 464, 8);
	return xcr0 & 0xe7;
}

/** @return the oracle's protection keys. */
static inline uint32_t cpu_pkru(const struct cpu_state *s)
{
	uint64_t in_use;
	uint32_t pkru = 0;

	memcpy(&in_use, s->xsave + 512, 8);
	if (cpu_has(s, 9) && in_use >> 9 & 1)
		memcpy(&pkru, s->xsave + cpu_xsave_offset(9), 4);
	return pkru;
}

static inline void cpu_random_state(uint64_t *seed, const struct cpu_state *valid,
				    struct cpu_state *s)
{
	uint64_t in_use, unused = cpu_random(seed) >> 62 ? 0 : cpu_random(seed) >> 56;
	uint8_t *at;
	size_t n;

	*s = *valid;
	for (int r = 0; r < DEC_REG_FLAGS; r++) {
		for (int i = 0; (n = cpu_piece(s, r, i, &at)); i++)
			cpu_random_bytes(seed, at, n);
	}
	in_use = cpu_components(s) &
		 ~(unused & 0xe4); // the others in their initial state
	memcpy(s->xsave + 512, &in_use, 8);
	cpu_random_x87(seed, s->xsave);
	n = 0x1f80 | (cpu_random(seed) >> 62 ? 0 : cpu_random(seed) & 0xe040);
	memcpy(s->xsave + 24, &n, 4);
	s->regs.eflags = 0x202 | (cpu_random(seed) >> 20 & CPU_FLAGS);
	if (cpu_random(seed) >> 62)
		s->regs.eflags &= ~0x400ull;
	s->regs.rip = CPU_CODE;
	s->regs.fs_base = CPU_FS;
	s->regs.gs_base = CPU_GS;
}

/** Images that fxrstor, xrstor, frstor and fldenv accept, at CPU_IMAGES. */
static inline void cpu_put_images(uint64_t *seed, const struct cpu_state *valid,
				  uint8_t *scratch)
{
	static struct cpu_state s;
	uint8_t *image = scratch + (CPU_IMAGES - CPU_SCRATCH);

	cpu_random_state(seed, valid, &s);
	memcpy(image, s.xsave, CPU_XSAVE_BYTES);
	memset(image + 464, 0, 48);
	memset(image + 520, 0, 56);
	memset(image + 0xc00, 0, 28);
	image[0xc00] = 0x7f, image[0xc01] = 0x03;
	image[0xc08] = cpu_random(seed) >> 40;
	image[0xc09] = cpu_random(seed) >> 40;
}

#endif
