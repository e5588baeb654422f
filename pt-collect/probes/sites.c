// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where in a function to put a uprobe. The kernel emulates nop, push, jumps and calls
 * (arch/x86/kernel/uprobes.c: branch_setup_xol_ops, push_setup_xol_ops) for about half a
 * microsecond; every other instruction it single-steps, which costs 19 us in a virtual
 * machine because each debug trap leaves it. So we take the first emulated instruction of
 * the function's straight-line beginning at which the arguments are still in their
 * registers. Every call passes it, exactly once.
 */
#define LOG_ROOM "record"

#include "decode/x86/zydis.h"
#include "pt-collect/probes/heap.h"
#include "storeplan/storeplan.h"

#define INSTRUCTIONS_MAX 24 ///< looked at; the arguments rarely live longer

/** Is the stack pointer another one behind it? */
static bool moves_stack(const ZydisDecodedInstruction *i,
			const ZydisDecodedOperand *operands)
{
	for (unsigned o = 0; o < i->operand_count; o++)
		if (operands[o].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operands[o].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    dec_insn_gpr(operands[o].reg.value) == CAP_RSP)
			return true;
	return false;
}

static bool writes_argument(const ZydisDecodedInstruction *i,
			    const ZydisDecodedOperand *operands, unsigned n_args)
{
	static const uint8_t args[] = { CAP_RDI, CAP_RSI, CAP_RDX };

	for (unsigned o = 0; o < i->operand_count; o++) {
		const ZydisDecodedOperand *op = &operands[o];

		if (op->type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		for (unsigned a = 0; a < n_args; a++)
			if (dec_insn_gpr(op->reg.value) == args[a])
				return true;
	}
	return false;
}

/** Does the code behind it not follow always? */
static bool leaves_line(const ZydisDecodedInstruction *i)
{
	switch (i->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSTEM:
		return true;
	default:
		return false;
	}
}

struct ptc_site ptc_site_choose(const uint8_t *code, size_t size, unsigned n_args,
				unsigned from)
{
	struct ptc_site entry = { .mnemonic = "unknown", .is_above_return = true };
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;
	bool has_moved = false;
	size_t at = 0;

	for (unsigned n = 0; n < INSTRUCTIONS_MAX; n++) {
		if (!dec_insn_zydis(code + at, size - at, &i, operands))
			return entry;
		if (!at)
			entry.mnemonic = ZydisMnemonicGetString(i.mnemonic);
		if (at >= from && sp_is_emulated(&i))
			return (struct ptc_site){
				.offset = at,
				.is_emulated = true,
				.is_above_return = !has_moved,
				.mnemonic = ZydisMnemonicGetString(i.mnemonic),
			};
		if (leaves_line(&i) || writes_argument(&i, operands, n_args))
			return entry;
		has_moved |= moves_stack(&i, operands);
		at += i.length;
	}
	return entry;
}

bool ptc_site_enter(const uint8_t *code, size_t size, unsigned *ret)
{
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction i;

	for (*ret = 0; dec_insn_zydis(code + *ret, size - *ret, &i, operands);
	     *ret += i.length) {
		if (!sp_is_unprobable(&i))
			return true;
		if (leaves_line(&i))
			return false;
	}
	return false;
}
