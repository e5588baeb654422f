// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A form in the making: the Zydis instruction beside what is made of it. Private to
 * dec_recover_form*.c.
 */
#ifndef DECODE_PAST_RECOVER_FORM_H
#define DECODE_PAST_RECOVER_FORM_H

#include "decode/past/recover_int.h"
#include "decode/x86/zydis.h"

struct form_maker {
	struct past_form *f;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

/** Fill @p o for Zydis register @p zr; its type stays PAST_OP_NONE for those that are not
 * tracked. */
void dec_recover_form_reg_operand(struct past_form *f, struct past_operand *o,
				  ZydisRegister zr);

/** @return whether @p op is k0 where EVEX means no mask. */
bool dec_recover_form_is_no_mask(const struct form_maker *k,
				 const ZydisDecodedOperand *op);

/** Fill need, give and the flags' masks. @return whether the CPU may run it in a stub. */
bool dec_recover_form_runs(struct form_maker *k);

#endif
