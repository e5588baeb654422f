// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Which instructions the CPU may run for us: those that touch registers of ours and at most
 * one memory operand, which is moved to a buffer. What must be known of their inputs, what
 * is right in their outputs.
 */
#include "decode/past/recover_form.h"

enum { FORM_STATUS = 0x8d5, FORM_CF = 1, FORM_PF = 4, FORM_AF = 16, FORM_OF = 0x800 };

static bool form_category_runs(const ZydisDecodedInstruction *d)
{
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_ADOX_ADCX:
	case ZYDIS_CATEGORY_AES:
	case ZYDIS_CATEGORY_AVX:
	case ZYDIS_CATEGORY_AVX2:
	case ZYDIS_CATEGORY_AVX512:
	case ZYDIS_CATEGORY_AVX512_BITALG:
	case ZYDIS_CATEGORY_AVX512_VBMI:
	case ZYDIS_CATEGORY_BINARY:
	case ZYDIS_CATEGORY_BITBYTE:
	case ZYDIS_CATEGORY_BLEND:
	case ZYDIS_CATEGORY_BMI1:
	case ZYDIS_CATEGORY_BMI2:
	case ZYDIS_CATEGORY_BROADCAST:
	case ZYDIS_CATEGORY_CONFLICT:
	case ZYDIS_CATEGORY_CONVERT:
	case ZYDIS_CATEGORY_DATAXFER:
	case ZYDIS_CATEGORY_FP16:
	case ZYDIS_CATEGORY_GFNI:
	case ZYDIS_CATEGORY_IFMA:
	case ZYDIS_CATEGORY_KMASK:
	case ZYDIS_CATEGORY_LOGICAL:
	case ZYDIS_CATEGORY_LOGICAL_FP:
	case ZYDIS_CATEGORY_LZCNT:
	case ZYDIS_CATEGORY_PCLMULQDQ:
	case ZYDIS_CATEGORY_ROTATE:
	case ZYDIS_CATEGORY_SEMAPHORE:
	case ZYDIS_CATEGORY_SHA:
	case ZYDIS_CATEGORY_SHIFT:
	case ZYDIS_CATEGORY_SSE:
	case ZYDIS_CATEGORY_STTNI:
	case ZYDIS_CATEGORY_VAES:
	case ZYDIS_CATEGORY_VBMI2:
	case ZYDIS_CATEGORY_VFMA:
	case ZYDIS_CATEGORY_VPCLMULQDQ:
		return d->mnemonic != ZYDIS_MNEMONIC_LDMXCSR &&
		       d->mnemonic != ZYDIS_MNEMONIC_STMXCSR &&
		       d->mnemonic != ZYDIS_MNEMONIC_VLDMXCSR &&
		       d->mnemonic != ZYDIS_MNEMONIC_VSTMXCSR;
	default:
		return d->mnemonic == ZYDIS_MNEMONIC_SAHF ||
		       d->mnemonic == ZYDIS_MNEMONIC_LAHF;
	}
}

/* What the operand's register must have, or gets: bits, or bytes of a vector. */
static uint64_t form_operand_mask(const struct past_operand *o)
{
	if (o->type == PAST_OP_VEC || (o->type == PAST_OP_MEM && o->bits > 64))
		return past_ones(o->bits / 8);
	return past_ones(o->bits) << o->shift;
}

static uint64_t form_result_mask(const struct form_maker *k, const struct past_operand *o)
{
	if (o->type == PAST_OP_GPR && o->bits >= 32)
		return UINT64_MAX;
	if (o->type == PAST_OP_K || (o->type == PAST_OP_VEC && k->f->insn.is_vex))
		return UINT64_MAX;
	return form_operand_mask(o);
}

static void form_flags(struct form_maker *k)
{
	const ZydisAccessedFlags *a = k->d.cpu_flags;
	uint32_t written;

	if (!a)
		return;
	written = a->modified | a->set_0 | a->set_1 | a->undefined;
	k->f->flags_kept = ~written & FORM_STATUS;
	k->f->flags_valid = written & ~a->undefined & FORM_STATUS;
	// Defined for some counts only.
	if (k->d.meta.category == ZYDIS_CATEGORY_SHIFT ||
	    k->d.meta.category == ZYDIS_CATEGORY_ROTATE)
		k->f->flags_valid &= ~(FORM_OF | FORM_AF);
	if (k->f->flags_in != PAST_NONE && k->f->flags_in < 8)
		k->f->need[k->f->flags_in] |= a->tested;
	if (k->f->flags_out != PAST_NONE && k->f->flags_out - k->f->n_in < 8)
		k->f->give[k->f->flags_out - k->f->n_in] |= k->f->flags_valid;
}

/* What must be known of operand @p o. */
static uint64_t form_need(const ZydisDecodedOperand *op, const struct past_operand *o)
{
	// It stays as it was, all of it, when it is not written.
	if (o->type == PAST_OP_GPR && (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE))
		return UINT64_MAX;
	return form_operand_mask(o);
}

/* Fill need and give. @return whether the CPU may run it in a stub. */
bool dec_recover_form_runs(struct form_maker *k)
{
	const uint64_t x87 = 1ull << (DEC_REG_X87 - DEC_GPRS);
	struct past_form *f = k->f;
	int n_listed = 0;

	form_flags(k);
	if ((k->d.mnemonic == ZYDIS_MNEMONIC_BSF ||
	     k->d.mnemonic == ZYDIS_MNEMONIC_BSR) &&
	    f->op[0].in != PAST_NONE)
		f->need[f->op[0].in] = UINT64_MAX;
	if (!form_category_runs(&k->d) || f->insn.flow != DEC_FLOW_NEXT || f->is_wild ||
	    f->insn.is_rep || f->insn.n_mem > 1 || f->n_in > 8 || f->n_out > 8 ||
	    ((f->insn.other_read | f->insn.other_written) & x87) ||
	    (f->insn.gpr_written & 1u << PAST_RSP))
		return false;
	for (int i = 0; i < f->n_ops; i++) {
		const struct past_operand *o = &f->op[i];

		if (o->type == PAST_OP_GPR && o->reg == PAST_RSP)
			return false;
	}
	for (int i = 0; i < k->d.operand_count; i++) {
		const ZydisDecodedOperand *op = &k->ops[i];
		struct past_operand o = { .in = PAST_NONE,
					  .out = PAST_NONE,
					  .bits = op->size };
		bool is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ ||
			       op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE;

		if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || n_listed++)
				return false;
			o.type = PAST_OP_MEM;
			o.in = past_slot_of(f, 0x80, false);
			o.out = past_slot_of(f, 0x80, true);
			o.bits = f->insn.mem[0].size * 8;
		} else if (op->type == ZYDIS_OPERAND_TYPE_REGISTER) {
			ZydisRegisterClass c = ZydisRegisterGetClass(op->reg.value);

			if (c == ZYDIS_REGCLASS_FLAGS ||
			    dec_recover_form_is_no_mask(k, op) ||
			    op->reg.value == ZYDIS_REGISTER_MXCSR)
				continue;
			dec_recover_form_reg_operand(f, &o, op->reg.value);
			if (o.type == PAST_OP_NONE)
				return false;
		} else if (op->type != ZYDIS_OPERAND_TYPE_IMMEDIATE) {
			return false;
		}
		if (is_read && o.in != PAST_NONE)
			f->need[o.in] |= form_need(op, &o);
		if ((op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) && o.out != PAST_NONE)
			f->give[o.out - f->n_in] |= form_result_mask(k, &o);
	}
	return true;
}
