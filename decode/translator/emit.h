// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The few x86-64 encodings that the translator emits around guest instructions. None of
 * them changes a flag unless its name says so. `ctx` operands address struct dec_ctx: by
 * its address where that is below 2 GiB, otherwise through gs. On AMD a store to a segment
 * whose base is not zero is not forwarded fast to the load behind it (4 times the cost).
 * Encodings: Intel SDM volume 2.
 */
#ifndef DECODE_TRANSLATOR_EMIT_H
#define DECODE_TRANSLATOR_EMIT_H

#include <stdint.h>
#include <string.h>

#include "decode/translator/ctx.h"
#include "decode/x86/insn.h"

struct dec_emit {
	uint8_t *p;	///< next byte; the caller made sure of the room
	uint32_t ctx;	///< the context's address; 0: not below 2 GiB
	bool has_no_fs; ///< CTX_HAS_NO_FS
};

/** @return an emitter at @p p, for code that uses context @p ctx. */
static inline struct dec_emit emit_start(uint8_t *p, const struct dec_ctx *ctx)
{
	uint64_t at = (uint64_t)ctx;

	return (struct dec_emit){ p, at < 0x80000000 ? at : 0,
				  (ctx->lacks & CTX_HAS_NO_FS) != 0 };
}

static inline void emit_bytes(struct dec_emit *e, const void *bytes, size_t n)
{
	memcpy(e->p, bytes, n);
	e->p += n;
}

static inline void emit_u8(struct dec_emit *e, uint8_t v)
{
	*e->p++ = v;
}

static inline void emit_u32(struct dec_emit *e, uint32_t v)
{
	emit_bytes(e, &v, 4);
}

static inline void emit_u64(struct dec_emit *e, uint64_t v)
{
	emit_bytes(e, &v, 8);
}

/* The prefix of an instruction that addresses the context. */
static inline void emit_ctx_prefix(struct dec_emit *e)
{
	if (!e->ctx)
		emit_u8(e, 0x65);
}

/* ModRM, SIB and disp32 of ctx:[off]. */
static inline void emit_abs(struct dec_emit *e, int reg, uint32_t off)
{
	emit_u8(e, (reg & 7) << 3 | 4);
	emit_u8(e, 0x25);
	emit_u32(e, e->ctx + off);
}

/* One instruction `opcode reg, ctx:[off]` with REX.W. */
static inline void emit_ctx_op(struct dec_emit *e, uint8_t opcode, int reg, uint32_t off)
{
	emit_ctx_prefix(e);
	emit_u8(e, 0x48 | (reg >> 3) << 2);
	emit_u8(e, opcode);
	emit_abs(e, reg, off);
}

/** mov reg, ctx:[off] of 32 bits */
static inline void emit_ctx_load32(struct dec_emit *e, int reg, uint32_t off)
{
	emit_ctx_prefix(e);
	emit_u8(e, 0x40 | (reg >> 3) << 2);
	emit_u8(e, 0x8b);
	emit_abs(e, reg, off);
}

/** mov ctx:[off], reg */
static inline void emit_ctx_store(struct dec_emit *e, uint32_t off, int reg)
{
	emit_ctx_op(e, 0x89, reg, off);
}

/** mov reg, ctx:[off] */
static inline void emit_ctx_load(struct dec_emit *e, int reg, uint32_t off)
{
	emit_ctx_op(e, 0x8b, reg, off);
}

/** Load r11 and rcx, which an indirect branch has borrowed. */
static inline void emit_ctx_give_back(struct dec_emit *e)
{
	emit_ctx_load(e, CAP_R11, CTX_SPILL);
	emit_ctx_load(e, CAP_RCX, CTX_SPILL + 8);
}

/** mov dword ctx:[off], imm */
static inline void emit_ctx_store_imm32(struct dec_emit *e, uint32_t off, uint32_t imm)
{
	emit_ctx_prefix(e);
	emit_u8(e, 0xc7);
	emit_abs(e, 0, off);
	emit_u32(e, imm);
}

/** sub qword ctx:[off], imm; changes flags */
static inline void emit_ctx_sub_flags(struct dec_emit *e, uint32_t off, uint8_t imm)
{
	emit_ctx_prefix(e);
	emit_u8(e, 0x48);
	emit_u8(e, 0x83);
	emit_abs(e, 5, off);
	emit_u8(e, imm);
}

/** jmp qword ctx:[off] */
static inline void emit_ctx_jmp(struct dec_emit *e, uint32_t off)
{
	emit_ctx_prefix(e);
	emit_u8(e, 0xff);
	emit_abs(e, 4, off);
}

/** jmp ctx:[rcx*8+table] */
static inline void emit_ctx_jmp_entry(struct dec_emit *e, uint32_t table)
{
	emit_ctx_prefix(e);
	emit_bytes(e, "\xff\x24\xcd", 3);
	emit_u32(e, e->ctx + table);
}

/** mov reg, imm64 */
static inline void emit_mov_imm64(struct dec_emit *e, int reg, uint64_t imm)
{
	emit_u8(e, 0x48 | reg >> 3);
	emit_u8(e, 0xb8 | (reg & 7));
	emit_u64(e, imm);
}

/* ModRM (+SIB, disp) of the memory operand base+index*scale+disp. @p is_evex: a displacement of one byte would be
 * scaled there. */
static inline void emit_modrm_as(struct dec_emit *e, int reg, uint8_t base, uint8_t index,
				 uint8_t scale, int32_t disp, bool is_evex)
{
	int ss = scale == 8 ? 3 : scale == 4 ? 2 : scale == 2 ? 1 : 0;
	bool has_index = index != DEC_REG_NONE,
	     is_short = !is_evex && disp == (int8_t)disp;

	if (base == DEC_REG_NONE) {
		emit_u8(e, (reg & 7) << 3 | 4);
		emit_u8(e, ss << 6 | (has_index ? index & 7 : 4) << 3 | 5);
		emit_u32(e, disp);
		return;
	}
	emit_u8(e, (is_short ? 0x40 : 0x80) | (reg & 7) << 3 |
			   (has_index || (base & 7) == 4 ? 4 : base & 7));
	if (has_index || (base & 7) == 4)
		emit_u8(e, ss << 6 | (has_index ? index & 7 : 4) << 3 | (base & 7));
	if (is_short)
		emit_u8(e, disp);
	else
		emit_u32(e, disp);
}

static inline void emit_modrm(struct dec_emit *e, int reg, uint8_t base, uint8_t index,
			      uint8_t scale, int32_t disp)
{
	emit_modrm_as(e, reg, base, index, scale, disp, false);
}

/* Optional prefix, REX.W, opcode, and a memory operand. */
static inline void emit_mem_op(struct dec_emit *e, uint8_t rex_w, uint8_t opcode, int reg,
			       uint8_t base, uint8_t index, uint8_t scale, int32_t disp)
{
	uint8_t rex = 0x40 | rex_w << 3 | (reg >> 3) << 2;

	if (index != DEC_REG_NONE)
		rex |= (index >> 3) << 1;
	if (base != DEC_REG_NONE)
		rex |= base >> 3;
	emit_u8(e, rex);
	emit_u8(e, opcode);
	emit_modrm(e, reg, base, index, scale, disp);
}

/** mov [base+disp], reg (64 bits) */
static inline void emit_store(struct dec_emit *e, uint8_t base, int32_t disp, int reg)
{
	emit_mem_op(e, 1, 0x89, reg, base, DEC_REG_NONE, 1, disp);
}

/** .. 32 bits of it */
static inline void emit_store32(struct dec_emit *e, uint8_t base, int32_t disp, int reg)
{
	emit_mem_op(e, 0, 0x89, reg, base, DEC_REG_NONE, 1, disp);
}

/** reg = the guest's fs base and all that @p m adds to it but its displacement; flags stay. Another register than those of
 * @p m. */
static inline void emit_fs_sum(struct dec_emit *e, int reg, const struct dec_mem *m)
{
	emit_ctx_load(e, reg, CTX_FS_BASE);
	if (m->base != DEC_REG_NONE)
		emit_mem_op(e, 1, 0x8d, reg, m->base, reg, 1, 0);
	if (m->index != DEC_REG_NONE)
		emit_mem_op(e, 1, 0x8d, reg, reg, m->index, m->scale, 0);
}

/** mov reg, [m] of 1, 2, 4 or 8 bytes (m->size), zero-extended. Relative to fs, without its base loaded, reg must be
 * another than those of the operand. */
static inline void emit_load_zx(struct dec_emit *e, int reg, const struct dec_mem *m)
{
	uint8_t rex = 0x40 | (m->size != 4) << 3 | (reg >> 3) << 2;
	struct dec_mem sum = {
		.base = reg, .index = DEC_REG_NONE, .scale = 1, .size = m->size
	};

	if (m->is_fs && e->has_no_fs) {
		emit_fs_sum(e, reg, m);
		sum.disp = m->disp;
		m = &sum;
	} else if (m->is_absolute) {
		emit_mov_imm64(e, reg, m->disp);
		sum.is_fs = m->is_fs;
		m = &sum;
	}
	if (m->is_fs)
		emit_u8(e, 0x64);
	if (m->is_addr32)
		emit_u8(e, 0x67);
	if (m->index != DEC_REG_NONE)
		rex |= (m->index >> 3) << 1;
	if (m->base != DEC_REG_NONE)
		rex |= m->base >> 3;
	emit_u8(e, rex);
	if (m->size >= 4) {
		emit_u8(e, 0x8b);
	} else {
		emit_u8(e, 0x0f);
		emit_u8(e, m->size == 1 ? 0xb6 : 0xb7);
	}
	emit_modrm(e, reg, m->base, m->index, m->scale, m->disp);
}

/** lea reg, [m]; what fs adds is not added */
static inline void emit_lea(struct dec_emit *e, int reg, const struct dec_mem *m)
{
	if (m->is_absolute) {
		emit_mov_imm64(e, reg, m->disp);
		return;
	}
	if (m->is_addr32)
		emit_u8(e, 0x67);
	emit_mem_op(e, 1, 0x8d, reg, m->base, m->index, m->scale, m->disp);
}

/** .. it is (CTX_HAS_NO_FS). As emit_load_zx(). */
static inline void emit_address(struct dec_emit *e, int reg, const struct dec_mem *m)
{
	if (!m->is_fs) {
		emit_lea(e, reg, m);
		return;
	}
	emit_fs_sum(e, reg, m);
	emit_mem_op(e, 1, 0x8d, reg, reg, DEC_REG_NONE, 1, m->disp);
}

/** rorx reg, from, by (BMI2) */
static inline void emit_rorx(struct dec_emit *e, int reg, int from, uint8_t by)
{
	// VEX.F2.0F3A.W1 F0 /r ib
	emit_u8(e, 0xc4);
	emit_u8(e, (reg < 8) << 7 | 1 << 6 | (from < 8) << 5 | 3);
	emit_bytes(e, "\xfb\xf0", 2);
	emit_u8(e, 0xc0 | (reg & 7) << 3 | (from & 7));
	emit_u8(e, by);
}

/** movzx reg, the low 16 bits of it */
static inline void emit_low16(struct dec_emit *e, int reg)
{
	emit_u8(e, 0x40 | (reg >> 3) << 2 | reg >> 3);
	emit_bytes(e, "\x0f\xb7", 2);
	emit_u8(e, 0xc0 | (reg & 7) << 3 | (reg & 7));
}

/** mov reg (32 bits), ctx:[index*4+table] */
static inline void emit_ctx_load_entry32(struct dec_emit *e, int reg, int index,
					 uint32_t table)
{
	emit_ctx_prefix(e);
	emit_mem_op(e, 0, 0x8b, reg, DEC_REG_NONE, index, 4, e->ctx + table);
}

/** lea reg, [a+b+disp] of 32 bits */
static inline void emit_sum32(struct dec_emit *e, int reg, int a, int b, int32_t disp)
{
	emit_mem_op(e, 0, 0x8d, reg, a, b, 1, disp);
}

/** mov qword [base+disp], sign-extended imm */
static inline void emit_store_imm32(struct dec_emit *e, uint8_t base, int32_t disp,
				    uint32_t imm)
{
	emit_mem_op(e, 1, 0xc7, 0, base, DEC_REG_NONE, 1, disp);
	emit_u32(e, imm);
}

/** vmovdqu64 [base+disp], vector register of @p bytes (16, 32 or 64); plain AVX or SSE
 * forms when the host has no AVX-512, so register numbers above 15 need it. */
static inline void emit_store_vec(struct dec_emit *e, uint8_t base, int32_t disp, int vec,
				  int bytes)
{
	if (bytes == 16 && vec < 16) { // movdqu: no transition penalty either way here
		emit_u8(e, 0xf3);
		emit_u8(e, 0x40 | (vec >> 3) << 2 | base >> 3);
		emit_u8(e, 0x0f);
		emit_u8(e, 0x7f);
		emit_modrm(e, vec, base, DEC_REG_NONE, 1, disp);
		return;
	}
	if (bytes == 32 && vec < 16) { // vmovdqu ymm
		emit_u8(e, 0xc4);
		emit_u8(e, (vec < 8) << 7 | 1 << 6 | (base < 8) << 5 | 1);
		emit_u8(e, 0x7e);
		emit_u8(e, 0x7f);
		emit_modrm(e, vec, base, DEC_REG_NONE, 1, disp);
		return;
	}
	// EVEX.F3.0F.W1 7F /r with a disp32 (mod 10 keeps full disp32: no scaling).
	emit_u8(e, 0x62);
	emit_u8(e, !(vec & 8) << 7 | 1 << 6 | (base < 8) << 5 | !(vec & 16) << 4 | 1);
	emit_u8(e, 0xfe);
	emit_u8(e, 0x08 | (bytes == 64 ? 2 : bytes == 32 ? 1 : 0) << 5);
	emit_u8(e, 0x7f);
	emit_modrm_as(e, vec, base, DEC_REG_NONE, 1, disp, true);
}

/* EVEX.0F op /r of lanes: F2.W0 vmovdqu8, F2.W1 -16, F3.W0 -32, F3.W1 -64. */
static inline void emit_lanes(struct dec_emit *e, uint8_t op, uint8_t zeroing, int vec,
			      const struct dec_mem *m, int lane_bytes, int k)
{
	bool has_base = m->base != DEC_REG_NONE, has_index = m->index != DEC_REG_NONE;

	if (m->is_fs)
		emit_u8(e, 0x64);
	emit_u8(e, 0x62);
	emit_u8(e, !(vec & 8) << 7 | !(has_index && m->index & 8) << 6 |
			   !(has_base && m->base & 8) << 5 | !(vec & 16) << 4 | 1);
	emit_u8(e, (lane_bytes == 2 || lane_bytes == 8) << 7 | 0x7c |
			   (lane_bytes <= 2 ? 3 : 2));
	emit_u8(e, zeroing | 8 | (m->size == 64 ? 2 : m->size == 32 ? 1 : 0) << 5 | k);
	emit_u8(e, op);
	emit_modrm_as(e, vec, m->base, m->index, m->scale, m->disp, true);
}

/** The lanes of [m] that mask register @p k switches on, of @p lane_bytes each, to vector register
 * @p vec; the others become 0. Not of an absolute operand. */
static inline void emit_load_lanes(struct dec_emit *e, int vec, const struct dec_mem *m,
				   int lane_bytes, int k)
{
	emit_lanes(e, 0x6f, 0x80, vec, m, lane_bytes, k);
}

/** .. from it, the others stay. */
static inline void emit_store_lanes(struct dec_emit *e, int vec, const struct dec_mem *m,
				    int lane_bytes, int k)
{
	emit_lanes(e, 0x7f, 0, vec, m, lane_bytes, k);
}

/** vmovdqu64 between ctx:[off] and zmm31; @p opcode 7f stores, 6f loads */
static inline void emit_ctx_zmm31(struct dec_emit *e, uint8_t opcode, uint32_t off)
{
	emit_ctx_prefix(e);
	emit_bytes(e, "\x62\x61\xfe\x48", 4);
	emit_u8(e, opcode);
	emit_abs(e, 31, off);
}

/** kmovq [base+disp], k (needs AVX512BW, which every host with mask registers in use
 * by glibc has) */
static inline void emit_store_k(struct dec_emit *e, uint8_t base, int32_t disp, int k)
{
	emit_u8(e, 0xc4);
	emit_u8(e, 1 << 7 | 1 << 6 | (base < 8) << 5 | 1);
	emit_u8(e, 0xf8);
	emit_u8(e, 0x91);
	emit_modrm(e, k, base, DEC_REG_NONE, 1, disp);
}

/** Let the instruction at @p at, which has a gs prefix, use fs. */
static inline void emit_gs_to_fs(uint8_t *at)
{
	for (; dec_insn_is_legacy_prefix(*at); at++)
		if (*at == 0x65)
			*at = 0x64;
}

/** jmp rel32 to be patched; @return where the displacement lies */
static inline uint8_t *emit_jmp_rel(struct dec_emit *e)
{
	emit_u8(e, 0xe9);
	emit_u32(e, 0);
	return e->p - 4;
}

/** jcc rel32 to be patched (@p cc: condition code 0..15) */
static inline uint8_t *emit_jcc_rel(struct dec_emit *e, uint8_t cc)
{
	emit_u8(e, 0x0f);
	emit_u8(e, 0x80 | cc);
	emit_u32(e, 0);
	return e->p - 4;
}

/** Point the rel32 at @p at to @p to. */
static inline void emit_patch_rel(uint8_t *at, const uint8_t *to)
{
	int32_t rel = to - (at + 4);

	memcpy(at, &rel, 4);
}

#endif
