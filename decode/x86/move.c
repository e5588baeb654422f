// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * An instruction with another displacement, however wide that has to be.
 */
#include <string.h>

#include "decode/x86/zydis.h"

/* The operand of @p insn that has a displacement. @return NULL: none does. */
static const ZydisDecodedOperand *find_operand(const struct dec_insn *insn,
					       ZydisDecodedInstruction *d,
					       ZydisDecodedOperand *ops)
{
	if (!dec_insn_zydis(insn->bytes, insn->code_len, d, ops) ||
	    (d->raw.modrm.mod != 1 && d->raw.modrm.mod != 2))
		return NULL;
	for (int i = 0; i < d->operand_count_visible; i++)
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return &ops[i];
	return NULL;
}

void dec_insn_move_relative(struct dec_insn *insn, int64_t by)
{
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].is_absolute &&
		    insn->mem[i].disp == (int64_t)insn->rel_target)
			insn->mem[i].disp += by;
	insn->rel_target += by;
}

bool dec_insn_move(struct dec_insn *insn, int64_t by)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	const ZydisDecodedOperand *op;
	ZydisDecodedInstruction d;
	uint8_t rest[sizeof(insn->bytes)];
	size_t at, behind;
	int32_t disp;

	if (insn->rel_at) {
		dec_insn_move_relative(insn, by);
		return true;
	}
	op = find_operand(insn, &d, ops);
	if (!op)
		return false;
	disp = op->mem.disp.value + by;
	at = d.raw.disp.offset;
	behind = d.length - at - d.raw.disp.size / 8;
	if (disp != op->mem.disp.value + by || at + 4 + behind > sizeof(insn->bytes))
		return false;
	for (int i = 0; i < insn->n_mem; i++)
		if (insn->mem[i].base == dec_insn_gpr(op->mem.base) &&
		    insn->mem[i].disp == op->mem.disp.value)
			insn->mem[i].disp = disp;
	memcpy(rest, insn->bytes + at + d.raw.disp.size / 8, behind);
	memcpy(insn->bytes + at, &disp, 4);
	memcpy(insn->bytes + at + 4, rest, behind);
	insn->bytes[d.raw.modrm.offset] = (insn->bytes[d.raw.modrm.offset] & 0x3f) | 0x80;
	insn->code_len = at + 4 + behind;
	return true;
}

uint8_t dec_insn_names(const struct dec_insn *insn, int64_t *disp)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	const ZydisDecodedOperand *op;
	ZydisDecodedInstruction d;

	*disp = insn->rel_target;
	if (insn->rel_at)
		return DEC_REG_RIP;
	op = find_operand(insn, &d, ops);
	*disp = op ? op->mem.disp.value : 0;
	return op ? dec_insn_gpr(op->mem.base) : DEC_REG_NONE;
}
