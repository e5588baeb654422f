// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Rip-relative operands that the copied instruction does not reach: the program left no
 * room near its code, or its data lie too far on the other side. Such a block borrows one
 * register that none of its instructions uses, and keeps the guest's value of it in
 * spill[3]:
 *
 *	mov reg, address
 *	the instruction, with [reg] for [rip+displacement]
 *	mov reg, ctx:[spill+24]
 *
 * Who leaves the block by a fault takes the value from there (engine_fault()).
 *
 * So do operands relative to fs where that is not to be relied on (CTX_HAS_NO_FS): reg is the guest's base of it,
 * and what the operand adds to it.
 */

#include <stdlib.h>

#include "decode/translator/translation.h"
#include "decode/x86/zydis.h"

static bool has_fs(const struct dec_insn *insn)
{
	for (int i = 0; i < insn->len && dec_insn_is_legacy_prefix(insn->bytes[i]); i++)
		if (insn->bytes[i] == 0x64)
			return true;
	return false;
}

static bool far_is_without_fs(const struct translation *t, const struct dec_insn *insn)
{
	return t->e->ctx->lacks & CTX_HAS_NO_FS && insn->n_mem && // not lea
	       has_fs(insn);
}

/* Has it one operand that has a ModRM byte, and knows no other way to memory? */
static bool far_is_rewritable(const struct dec_insn *insn)
{
	return insn->flow == DEC_FLOW_NEXT && insn->n_mem == 1 && insn->mem[0].is_fs &&
	       !insn->mem[0].is_addr32 && !insn->rel_at && !insn->lane_bytes &&
	       !insn->is_string && !insn->is_rep && !insn->is_slow_addr &&
	       insn->code_len == insn->len;
}

bool dec_translation_needs_fs(const struct translation *t, const struct dec_insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;

	if (t->e->ctx->lacks & CTX_HAS_NO_FS &&
	    (insn->mnemonic == ZYDIS_MNEMONIC_RDFSBASE ||
	     insn->mnemonic == ZYDIS_MNEMONIC_WRFSBASE))
		return true;
	if (!far_is_without_fs(t, insn))
		return false;
	return !far_is_rewritable(insn) ||
	       !dec_insn_zydis(insn->bytes, insn->len, &d, ops) ||
	       d.encoding == ZYDIS_INSTRUCTION_ENCODING_XOP || !d.raw.modrm.offset;
}

bool dec_translation_is_far(const struct translation *t, const struct dec_insn *insn)
{
	// From anywhere in the block.
	int64_t rel = insn->rel_target - (uint64_t)t->block->host;

	if (far_is_without_fs(t, insn))
		return true;
	return insn->rel_at && llabs(rel) > INT32_MAX - (int64_t)ENGINE_BLOCK_BYTES;
}

uint8_t dec_translation_far_reg(uint32_t used)
{
	// Those whose ModRM needs neither a SIB byte nor a REX bit; r11 carries the targets
	// of branches.
	static const uint8_t regs[] = { 3, 6, 7, 2, 1 };

	for (size_t i = 0; i < sizeof(regs); i++) {
		if (!(used & 1u << regs[i]))
			return regs[i];
	}
	return DEC_REG_NONE;
}

/* The bits that extend base and index mean nothing beside rip, so they may be set; clear
 * them in the prefixes of @p bytes, the first @p n of an instruction. */
static void far_drop_extensions(uint8_t *bytes, int n)
{
	int i = 0;

	while (i < n && dec_insn_is_legacy_prefix(bytes[i]))
		i++;
	if (i == n)
		return;
	if (bytes[i] == 0x62 || bytes[i] == 0xc4) // EVEX, VEX: inverted
		bytes[i + 1] |= 0x60;
	else if ((bytes[i] & 0xf0) == 0x40)
		bytes[i] &= ~3;
}

/* The same of an operand relative to fs; its displacement stays. */
static void far_copy_fs(struct translation *t, const struct dec_insn *insn)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	const struct dec_mem *m = insn->mem;
	uint8_t reg = t->block->far_reg, bytes[15];
	ZydisDecodedInstruction d;
	int modrm, from, mod;

	dec_insn_zydis(insn->bytes, insn->len, &d, ops);
	memcpy(bytes, insn->bytes, sizeof(bytes));
	for (int i = 0; dec_insn_is_legacy_prefix(bytes[i]); i++)
		if (bytes[i] == 0x64)
			bytes[i] = 0x3e; // ds: means nothing
	modrm = d.raw.modrm.offset;
	from = d.raw.disp.size ? d.raw.disp.offset : modrm + 1 + (d.raw.sib.offset != 0);
	mod = d.raw.disp.size == 0 ? 0 : d.raw.disp.size == 8 ? 1 : 2;
	far_drop_extensions(bytes, modrm);
	bytes[modrm] = mod << 6 | (bytes[modrm] & 0x38) | reg;
	emit_fs_sum(&t->out, reg, m);
	emit_bytes(&t->out, bytes, modrm + 1);
	emit_bytes(&t->out, bytes + from, insn->code_len - from);
	emit_ctx_load(&t->out, reg, CTX_SPILL + 24);
}

void dec_translation_copy_far(struct translation *t, const struct dec_insn *insn)
{
	if (far_is_without_fs(t, insn)) {
		far_copy_fs(t, insn);
		return;
	}

	uint8_t reg = t->block->far_reg, bytes[15];
	int modrm = insn->rel_at - 1, rest = insn->rel_at + 4;

	memcpy(bytes, insn->bytes, sizeof(bytes));
	far_drop_extensions(bytes, modrm);
	bytes[modrm] = (bytes[modrm] & 0x38) | reg;
	if (insn->is_gs)
		emit_gs_to_fs(bytes);
	emit_mov_imm64(&t->out, reg, insn->rel_target);
	emit_bytes(&t->out, bytes, modrm + 1);
	emit_bytes(&t->out, bytes + rest, insn->code_len - rest);
	emit_ctx_load(&t->out, reg, CTX_SPILL + 24);
}
