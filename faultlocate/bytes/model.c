// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/bytes/model.h"

#include <string.h>

#include "decode/x86/zydis.h"

#define M(name) ZYDIS_MNEMONIC_##name

static const struct {
	uint16_t first, last; ///< mnemonics
	uint8_t family, lane;
} families[] = {
	{ M(MOV), M(MOV), MODEL_COPY, 0 },
	{ M(MOVZX), M(MOVZX), MODEL_COPY, 0 },
	{ M(MOVBE), M(MOVBE), MODEL_ALL, 0 },
	{ M(MOVSX), M(MOVSXD), MODEL_SIGN_EXTEND, 0 },
	{ M(CBW), M(CBW), MODEL_SIGN_EXTEND, 1 },
	{ M(CWDE), M(CWDE), MODEL_SIGN_EXTEND, 2 },
	{ M(CDQE), M(CDQE), MODEL_SIGN_EXTEND, 4 },
	{ M(LEA), M(LEA), MODEL_LEA, 0 },
	{ M(ADD), M(ADD), MODEL_CARRY, 0 },
	{ M(ADC), M(ADC), MODEL_CARRY, 0 },
	{ M(SUB), M(SUB), MODEL_CARRY, 0 },
	{ M(SBB), M(SBB), MODEL_CARRY, 0 },
	{ M(INC), M(INC), MODEL_CARRY, 0 },
	{ M(DEC), M(DEC), MODEL_CARRY, 0 },
	{ M(NEG), M(NEG), MODEL_CARRY, 0 },
	{ M(AND), M(AND), MODEL_AND, 0 },
	{ M(OR), M(OR), MODEL_OR, 0 },
	{ M(XOR), M(XOR), MODEL_XOR, 0 },
	{ M(CMP), M(CMP), MODEL_COMPARE, 0 },
	{ M(TEST), M(TEST), MODEL_TEST, 0 },
	{ M(NOT), M(NOT), MODEL_NOT, 0 },
	{ M(SHL), M(SHL), MODEL_SHIFT, 0 },
	{ M(SHR), M(SHR), MODEL_SHIFT, 0 },
	{ M(SAR), M(SAR), MODEL_SHIFT, 0 },
	{ M(ROL), M(ROL), MODEL_SHIFT, 0 },
	{ M(ROR), M(ROR), MODEL_SHIFT, 0 },
	{ M(POPCNT), M(POPCNT), MODEL_ALL, 0 },
	{ M(BSWAP), M(BSWAP), MODEL_ALL, 0 },
	{ M(XCHG), M(XCHG), MODEL_SWAP, 0 },
	{ M(PUSH), M(PUSH), MODEL_PUSH, 0 },
	{ M(POP), M(POP), MODEL_POP, 0 },
	{ M(LEAVE), M(LEAVE), MODEL_LEAVE, 0 },
	{ M(MOVSB), M(MOVSB), MODEL_STRING_COPY, 0 },
	{ M(MOVSW), M(MOVSW), MODEL_STRING_COPY, 0 },
	{ M(MOVSQ), M(MOVSQ), MODEL_STRING_COPY, 0 },
	{ M(STOSB), M(STOSQ), MODEL_STRING_FILL, 0 },
	{ M(MOVD), M(MOVD), MODEL_VEC_COPY, 4 },
	{ M(MOVQ), M(MOVQ), MODEL_VEC_COPY, 8 },
	{ M(VMOVD), M(VMOVD), MODEL_VEC_COPY, 4 },
	{ M(VMOVQ), M(VMOVQ), MODEL_VEC_COPY, 8 },
	{ M(MOVSS), M(MOVSS), MODEL_VEC_COPY, 4 },
	{ M(VMOVSS), M(VMOVSS), MODEL_VEC_COPY, 4 },
	{ M(VMOVSD), M(VMOVSD), MODEL_VEC_COPY, 8 },
	{ M(VMOVAPD), M(VMOVAPS), MODEL_VEC_COPY, 0 },
	{ M(VMOVUPD), M(VMOVUPS), MODEL_VEC_COPY, 0 },
	{ M(VMOVDQA), M(VMOVDQU8), MODEL_VEC_COPY, 0 },
	{ M(LDDQU), M(LDDQU), MODEL_VEC_COPY, 0 },
	{ M(COMISD), M(COMISS), MODEL_VEC_COMPARE, 0 },
	{ M(UCOMISD), M(UCOMISD), MODEL_VEC_COMPARE, 8 },
	{ M(UCOMISS), M(UCOMISS), MODEL_VEC_COMPARE, 4 },
	{ M(ADDSD), M(ADDSD), MODEL_VEC_LOW, 8 },
	{ M(SUBSD), M(SUBSD), MODEL_VEC_LOW, 8 },
	{ M(MULSD), M(MULSD), MODEL_VEC_LOW, 8 },
	{ M(DIVSD), M(DIVSD), MODEL_VEC_LOW, 8 },
	{ M(ADDSS), M(ADDSS), MODEL_VEC_LOW, 4 },
	{ M(SUBSS), M(SUBSS), MODEL_VEC_LOW, 4 },
	{ M(MULSS), M(MULSS), MODEL_VEC_LOW, 4 },
	{ M(DIVSS), M(DIVSS), MODEL_VEC_LOW, 4 },
	{ M(SQRTSD), M(SQRTSD), MODEL_VEC_LOW, 8 },
	{ M(CVTSS2SD), M(CVTSS2SD), MODEL_VEC_LOW, 8 },
	{ M(CVTSD2SS), M(CVTSD2SS), MODEL_VEC_LOW, 4 },
	{ M(CVTSI2SD), M(CVTSI2SD), MODEL_VEC_LOW, 8 },
	{ M(CVTSI2SS), M(CVTSI2SS), MODEL_VEC_LOW, 4 },
	{ M(CVTTSD2SI), M(CVTTSD2SI), MODEL_ALL, 8 },
	{ M(CVTTSS2SI), M(CVTTSS2SI), MODEL_ALL, 4 },
	{ M(PADDD), M(PADDD), MODEL_VEC_LANES, 4 },
	{ M(PADDQ), M(PADDQ), MODEL_VEC_LANES, 8 },
	{ M(PADDB), M(PADDB), MODEL_VEC_LANES, 1 },
	{ M(PADDW), M(PADDW), MODEL_VEC_LANES, 2 },
	{ M(ADDPS), M(ADDPS), MODEL_VEC_LANES, 4 },
	{ M(ADDPD), M(ADDPD), MODEL_VEC_LANES, 8 },
	{ M(MULPS), M(MULPS), MODEL_VEC_LANES, 4 },
	{ M(MULPD), M(MULPD), MODEL_VEC_LANES, 8 },
};

/* Which flags are looked at by a jump, setcc or cmovcc: these are in the same order in each. */
static uint8_t condition_of(uint16_t m)
{
	switch (m) {
	case M(JZ):
	case M(JNZ):
	case M(SETZ):
	case M(SETNZ):
	case M(CMOVZ):
	case M(CMOVNZ):
		return MODEL_ZERO;
	case M(JB):
	case M(JNB):
	case M(SETB):
	case M(SETNB):
	case M(CMOVB):
	case M(CMOVNB):
		return MODEL_CARRIES;
	case M(JBE):
	case M(JNBE):
	case M(SETBE):
	case M(SETNBE):
	case M(CMOVBE):
	case M(CMOVNBE):
		return MODEL_CARRIES | MODEL_ZERO;
	case M(JS):
	case M(JNS):
	case M(SETS):
	case M(SETNS):
	case M(CMOVS):
	case M(CMOVNS):
		return MODEL_SIGN;
	case M(JL):
	case M(JNL):
	case M(SETL):
	case M(SETNL):
	case M(CMOVL):
	case M(CMOVNL):
		return MODEL_OVERFLOW; // with the sign: compares make them alike
	case M(JLE):
	case M(JNLE):
	case M(SETLE):
	case M(SETNLE):
	case M(CMOVLE):
	case M(CMOVNLE):
		return MODEL_OVERFLOW | MODEL_ZERO;
	case M(JP):
	case M(JNP):
	case M(SETP):
	case M(SETNP):
	case M(CMOVP):
	case M(CMOVNP):
		return MODEL_PARITY;
	default:
		return MODEL_ALWAYS;
	}
}

static bool is_high_byte(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_AH || r == ZYDIS_REGISTER_BH ||
	       r == ZYDIS_REGISTER_CH || r == ZYDIS_REGISTER_DH;
}

static void take_operand(const ZydisDecodedOperand *o, struct model_op *ret)
{
	uint8_t number;

	*ret = (struct model_op){ .bytes = o->size / 8 };
	switch (o->type) {
	case ZYDIS_OPERAND_TYPE_REGISTER:
		number = dec_insn_reg(o->reg.value);
		if (number < DEC_GPRS) {
			ret->kind = MODEL_GPR;
			ret->reg = number;
			ret->shift = is_high_byte(o->reg.value) ? 8 : 0;
		} else if (number < DEC_REG_K) {
			ret->kind = MODEL_VEC;
			ret->reg = number - DEC_REG_VEC;
		}
		return;
	case ZYDIS_OPERAND_TYPE_MEMORY:
		ret->kind = MODEL_MEM;
		return;
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		ret->kind = MODEL_IMM;
		ret->imm = o->imm.value.u;
		return;
	default:
		return;
	}
}

static void take_address(const struct dec_insn *insn, const ZydisDecodedOperand *o,
			 struct dec_mem *ret)
{
	bool is_relative = o->mem.base == ZYDIS_REGISTER_RIP;

	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	*ret = (struct dec_mem){ .base = dec_insn_gpr(o->mem.base),
				 .index = dec_insn_gpr(o->mem.index),
				 .scale = o->mem.scale,
				 .is_fs = o->mem.segment == ZYDIS_REGISTER_FS,
				 .is_gs = o->mem.segment == ZYDIS_REGISTER_GS,
				 .is_absolute = is_relative ||
						o->mem.base == ZYDIS_REGISTER_NONE,
				 .disp = o->mem.disp.value };
	if (is_relative)
		ret->disp += insn->rip + insn->len;
}

static void choose_family(const ZydisDecodedInstruction *d, struct insn_model *m)
{
	for (size_t i = 0; i < sizeof(families) / sizeof(*families); i++) {
		if (d->mnemonic < families[i].first || d->mnemonic > families[i].last)
			continue;
		m->family = families[i].family;
		m->lane = families[i].lane;
		return;
	}
	if (dec_insn_is_vector_copy(d->mnemonic))
		m->family = MODEL_VEC_COPY;
	else if (dec_insn_is_zeroing(d->mnemonic) && m->op[0].kind == MODEL_VEC)
		m->family = MODEL_VEC_XOR;
}

/* Mnemonics that mean several instructions, by their operands. */
static void tell_apart(struct insn_model *m)
{
	bool has_vec = m->op[0].kind == MODEL_VEC || m->op[1].kind == MODEL_VEC;

	switch (m->mnemonic) {
	case M(MOVSD): // the string's, or a double
		m->family = has_vec ? MODEL_VEC_COPY : MODEL_STRING_COPY;
		m->lane = 8;
		break;
	case M(STOSB):
	case M(STOSD):
	case M(STOSQ):
	case M(STOSW):
		m->family = MODEL_STRING_FILL;
		break;
	case M(IMUL):
	case M(MUL):
	case M(DIV):
	case M(IDIV):
		m->family = m->n > 1 ? MODEL_CARRY : MODEL_WIDE;
		break;
	case M(COMISD):
		m->lane = 8;
		break;
	case M(COMISS):
		m->lane = 4;
		break;
	default:
		break;
	}
}

void fl_model_make(const struct dec_insn *insn, struct insn_model *ret)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;
	struct insn_model *m = ret;

	*m = (struct insn_model){ .mnemonic = insn->mnemonic };
	memcpy(m->bytes, insn->bytes, sizeof(m->bytes));
	if (!dec_insn_zydis(insn->bytes, insn->len, &d, ops))
		return;
	m->n = d.operand_count_visible < 4 ? d.operand_count_visible : 4;
	for (int i = 0; i < m->n; i++)
		take_operand(&ops[i], &m->op[i]);
	for (int i = 0; i < m->n; i++)
		take_address(insn, &ops[i], &m->address);
	if (insn->is_vex && m->n > 2) // the result is made of two, or under a mask
		return;
	m->condition = condition_of(d.mnemonic);
	choose_family(&d, m);
	tell_apart(m);
	if (m->condition && insn->flow == DEC_FLOW_NEXT)
		m->family = m->op[0].bytes == 1 ? MODEL_SET : MODEL_MOVE;
	m->is_same = m->n >= 2 && m->op[m->n - 1].kind == m->op[m->n - 2].kind &&
		     m->op[m->n - 1].kind != MODEL_MEM &&
		     m->op[m->n - 1].kind != MODEL_IMM &&
		     m->op[m->n - 1].reg == m->op[m->n - 2].reg &&
		     m->op[m->n - 1].shift == m->op[m->n - 2].shift;
	// Between registers movss and movsd leave what is above; from memory they clear it.
	m->keeps_top = !insn->is_vex &&
		       !(m->family == MODEL_VEC_COPY && m->op[1].kind != MODEL_VEC) &&
		       (m->family != MODEL_VEC_COPY || d.mnemonic == M(MOVSS) ||
			d.mnemonic == M(MOVSD));
}
