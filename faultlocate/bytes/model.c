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
	{ M(MOVNTI), M(MOVNTI), MODEL_COPY, 0 },
	{ M(MOVBE), M(MOVBE), MODEL_BYTE_SWAP, 0 },
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
	{ M(BSWAP), M(BSWAP), MODEL_BYTE_SWAP, 0 },
	{ M(CRC32), M(CRC32), MODEL_ALL, 0 },
	{ M(BSF), M(BSF), MODEL_COUNT, 0 },
	{ M(BSR), M(BSR), MODEL_COUNT, 0 },
	{ M(TZCNT), M(TZCNT), MODEL_COUNT, 0 },
	{ M(LZCNT), M(LZCNT), MODEL_COUNT, 0 },
	{ M(SHLD), M(SHLD), MODEL_DOUBLE, 0 },
	{ M(SHRD), M(SHRD), MODEL_DOUBLE, 0 },
	{ M(XADD), M(XADD), MODEL_XADD, 0 },
	{ M(CMPXCHG), M(CMPXCHG), MODEL_CMPXCHG, 0 },
	{ M(XCHG), M(XCHG), MODEL_SWAP, 0 },
	{ M(PUSH), M(PUSH), MODEL_PUSH, 0 },
	{ M(POP), M(POP), MODEL_POP, 0 },
	{ M(ENTER), M(ENTER), MODEL_ENTER, 0 },
	{ M(LEAVE), M(LEAVE), MODEL_LEAVE, 0 },
	{ M(XLAT), M(XLAT), MODEL_XLAT, 0 },
	{ M(MOVSB), M(MOVSB), MODEL_STRING_COPY, 0 },
	{ M(MOVSW), M(MOVSW), MODEL_STRING_COPY, 0 },
	{ M(MOVSQ), M(MOVSQ), MODEL_STRING_COPY, 0 },
	{ M(STOSB), M(STOSQ), MODEL_STRING_FILL, 0 },
	{ M(LODSB), M(LODSW), MODEL_STRING_LOAD, 0 },
	{ M(SCASB), M(SCASW), MODEL_STRING_COMPARE, 0 },
	{ M(CMPSB), M(CMPSB), MODEL_STRING_COMPARE, 0 },
	{ M(CMPSQ), M(CMPSW), MODEL_STRING_COMPARE, 0 },
	{ M(BT), M(BTS), MODEL_BIT_TEST, 0 },
	{ M(RCL), M(RCL), MODEL_THROUGH_CARRY, 0 },
	{ M(RCR), M(RCR), MODEL_THROUGH_CARRY, 0 },
	{ M(CWD), M(CWD), MODEL_SIGN_OF, 2 },
	{ M(CDQ), M(CDQ), MODEL_SIGN_OF, 4 },
	{ M(CQO), M(CQO), MODEL_SIGN_OF, 8 },
	{ M(LAHF), M(LAHF), MODEL_FLAGS, 0 },
	{ M(SAHF), M(SAHF), MODEL_FLAGS, 0 },
	{ M(PUSHF), M(PUSHF), MODEL_FLAGS, 0 },
	{ M(PUSHFQ), M(PUSHFQ), MODEL_FLAGS, 0 },
	{ M(POPF), M(POPF), MODEL_FLAGS, 0 },
	{ M(POPFQ), M(POPFQ), MODEL_FLAGS, 0 },
	{ M(CMPXCHG8B), M(CMPXCHG8B), MODEL_CMPXCHG_TWO, 4 },
	{ M(CMPXCHG16B), M(CMPXCHG16B), MODEL_CMPXCHG_TWO, 8 },
	{ M(ADCX), M(ADCX), MODEL_CARRY_ONE, 0 },
	{ M(ADOX), M(ADOX), MODEL_CARRY_ONE, 0 },
	{ M(BLSI), M(BLSR), MODEL_BITS, 0 },
	{ M(BZHI), M(BZHI), MODEL_ZERO_HIGH, 0 },
	{ M(BEXTR), M(BEXTR), MODEL_FIELD, 0 },
	{ M(PEXT), M(PEXT), MODEL_EXTRACT, 0 },
	{ M(PDEP), M(PDEP), MODEL_DEPOSIT, 0 },
	{ M(MULX), M(MULX), MODEL_TWO, 0 },
	{ M(ANDN), M(ANDN), MODEL_AND, 0 },
	{ M(RORX), M(RORX), MODEL_SHIFT, 0 },
	{ M(SHLX), M(SHLX), MODEL_SHIFT, 0 },
	{ M(SHRX), M(SHRX), MODEL_SHIFT, 0 },
	{ M(SARX), M(SARX), MODEL_SHIFT, 0 },
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
	case M(FCMOVE):
	case M(FCMOVNE):
	case M(CMOVNZ):
		return MODEL_ZERO;
	case M(JB):
	case M(JNB):
	case M(SETB):
	case M(SETNB):
	case M(CMOVB):
	case M(FCMOVB):
	case M(FCMOVNB):
	case M(CMOVNB):
		return MODEL_CARRIES;
	case M(JBE):
	case M(JNBE):
	case M(SETBE):
	case M(SETNBE):
	case M(CMOVBE):
	case M(FCMOVBE):
	case M(FCMOVNBE):
	case M(CMOVNBE):
		return MODEL_CARRIES | MODEL_ZERO;
	case M(JS):
	case M(JNS):
	case M(SETS):
	case M(SETNS):
	case M(CMOVS):
	case M(CMOVNS):
		return MODEL_SIGN;
	case M(JO):
	case M(JNO):
	case M(SETO):
	case M(SETNO):
	case M(CMOVO):
	case M(CMOVNO):
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
	case M(FCMOVU):
	case M(FCMOVNU):
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
		} else if (number == DEC_REG_X87) {
			ret->kind = ZydisRegisterGetClass(o->reg.value) ==
						    ZYDIS_REGCLASS_MMX ?
					    MODEL_MMX :
					    MODEL_X87_REG;
			ret->reg = ZydisRegisterGetId(o->reg.value);
		} else if (number >= DEC_REG_K && number < DEC_REG_FLAGS) {
			ret->kind = MODEL_MASK;
			ret->bytes = 8;
			ret->reg = number - DEC_REG_K;
		} else if (number < DEC_REG_K) {
			ret->kind = MODEL_VEC;
			ret->bytes = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64,
							   o->reg.value) /
				     8;
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
}

/* Mnemonics that mean several instructions, by their operands. */
static void tell_apart(struct insn_model *m)
{
	switch (m->mnemonic) {
	case M(MOVSD):
		m->family = MODEL_STRING_COPY;
		break;
	case M(LODSD):
		m->family = MODEL_STRING_LOAD;
		break;
	case M(SCASD):
	case M(CMPSD):
		m->family = MODEL_STRING_COMPARE;
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
	default:
		break;
	}
}

/* Bytes of an index of a gather or scatter, by its name: vpgatherqd. */
static uint8_t index_bytes_of(uint16_t mnemonic)
{
	const char *name = ZydisMnemonicGetString(mnemonic);
	size_t n = strlen(name);

	return n >= 2 && (name[n - 2] == 'q' || (n >= 3 && name[n - 3] == 'q')) ? 8 : 4;
}

static void take_operands(const struct dec_insn *insn, const ZydisDecodedInstruction *d,
			  const ZydisDecodedOperand *ops, struct insn_model *m)
{
	for (int i = 0; i < d->operand_count_visible && m->n < 4; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    ops[i].encoding == ZYDIS_OPERAND_ENCODING_MASK) {
			m->mask = ZydisRegisterGetId(ops[i].reg.value);
			continue;
		}
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    ops[i].mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
			m->index = ZydisRegisterGetId(ops[i].mem.index);
			m->index_bytes = index_bytes_of(d->mnemonic);
		}
		take_operand(&ops[i], &m->op[m->n++]);
		take_address(insn, &ops[i], &m->address);
	}
	m->is_broadcast = d->avx.broadcast.mode && !d->avx.broadcast.is_static;
	m->is_zeroing = d->avx.mask.mode == ZYDIS_MASK_MODE_ZEROING ||
			d->avx.mask.mode == ZYDIS_MASK_MODE_CONTROL_ZEROING;
	m->mask_lane = ops[0].element_size / 8;
}

static bool has_vector(const struct insn_model *m)
{
	for (int i = 0; i < m->n; i++)
		if (m->op[i].kind == MODEL_VEC || m->op[i].kind == MODEL_MMX ||
		    m->op[i].kind == MODEL_MASK)
			return true;
	return m->mnemonic == M(VZEROUPPER);
}

/* To where SSE clears what is above: between registers movss and movsd leave it. */
static uint8_t clears_of(const struct insn_model *m)
{
	bool is_part = (m->mnemonic == M(MOVSS) || m->mnemonic == M(MOVSD)) &&
		       m->op[1].kind == MODEL_VEC;

	return m->family == MODEL_VEC_COPY && !is_part ? 16 : 0;
}

static bool is_x87(const ZydisDecodedInstruction *d)
{
	return d->meta.category == ZYDIS_CATEGORY_X87_ALU ||
	       d->meta.category == ZYDIS_CATEGORY_FCMOV;
}

static bool is_same(const struct insn_model *m)
{
	const struct model_op *a = &m->op[m->n >= 2 ? m->n - 2 : 0], *b = a + 1;

	return m->n >= 2 && a->kind == MODEL_GPR && b->kind == MODEL_GPR &&
	       a->reg == b->reg && a->shift == b->shift;
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
	take_operands(insn, &d, ops, m);
	m->condition = condition_of(d.mnemonic);
	choose_family(&d, m);
	if (is_x87(&d))
		m->family = MODEL_X87;
	else if (has_vector(m))
		fl_model_vector(ZydisMnemonicGetString(d.mnemonic), insn->is_vex, m);
	else
		tell_apart(m);
	if (m->condition && insn->flow == DEC_FLOW_NEXT && m->family != MODEL_X87)
		m->family = m->op[0].bytes == 1 ? MODEL_SET : MODEL_MOVE;
	if (m->family >= MODEL_VECTORS)
		m->clears = insn->is_vex ? 64 : clears_of(m);
	else
		m->is_same = is_same(m);
}
