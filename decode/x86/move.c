// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * An instruction with another displacement, however wide that has to be; or at another place.
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

/* Relative to rip: whoever copies it makes the displacement anew. */
static void move_relative(struct dec_insn *insn, int64_t by)
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
		move_relative(insn, by);
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

/* How many of the first bytes at @p p say what is done with which registers, with one byte of the displacement. What is no
 * legacy code is of another build, and has more of them. */
static unsigned head_bytes(const uint8_t *p)
{
	unsigned n = 0;
	uint8_t op;

	while (n < 4 && dec_insn_is_legacy_prefix(p[n]))
		n++;
	if (n < 4 && (p[n] & 0xf0) == 0x40)
		n++;
	op = p[n++];
	if (op == 0x0f) {
		op = p[n++];
		if ((op & 0xf0) == 0x80) // jcc
			return n;
	} else if (op == 0xc4 || op == 0xc5 || op == 0x62) {
		return DEC_INSN_KEY;
	} else if ((op & 0xe0) == 0x40 || (op & 0xf0) == 0x70 || op == 0xc3 ||
		   (op & 0xfc) == 0xe8) { // push, pop; jcc; ret; call, jmp
		return n;
	}
	// ModRM, SIB
	op = p[n++];
	if (op >> 6 == 3 || (op & 0xc7) == 5)
		return n;
	return n + ((op & 7) == 4) + !!(op >> 6);
}

uint32_t dec_insn_key(const uint8_t *bytes)
{
	unsigned n = head_bytes(bytes);
	uint64_t head;

	memcpy(&head, bytes, sizeof(head));
	if (n < DEC_INSN_KEY)
		head &= (1ull << 8 * n) - 1;
	return head * 0x9e3779b97f4a7c15u >> 32;
}

bool dec_insn_again(struct dec_insn *insn, const uint8_t *bytes, uint64_t rip)
{
	uint8_t size = insn->rel_at ? 4 : insn->target_bytes,
		at = insn->rel_at ? insn->rel_at : insn->len - size;
	int64_t by = rip - insn->rip;
	int32_t was = 0, is = 0;

	if (memcmp(bytes, insn->bytes, at) ||
	    memcmp(bytes + at + size, insn->bytes + at + size, insn->len - at - size))
		return false;
	if (insn->target && !size)
		return !by;
	memcpy(&was, insn->bytes + at, size == 4 ? 4 : 0);
	memcpy(&is, bytes + at, size == 4 ? 4 : 0);
	if (size == 4)
		by += (int64_t)is - was;
	else if (size)
		by += (int8_t)bytes[at] - (int8_t)insn->bytes[at];
	if (insn->rel_at)
		move_relative(insn, by);
	else if (size)
		insn->target += by;
	memcpy(insn->bytes + at, bytes + at, size);
	insn->rip = rip;
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
