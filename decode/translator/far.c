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
 */

#include <stdlib.h>

#include "decode/translator/translation.h"

bool dec_translation_is_far(const struct translation *t, const struct dec_insn *insn)
{
	// From anywhere in the block.
	int64_t rel = insn->rel_target - (uint64_t)t->block->host;

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

void dec_translation_copy_far(struct translation *t, const struct dec_insn *insn)
{
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
