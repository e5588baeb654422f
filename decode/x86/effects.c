// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/x86/effects.h"

// Bits of dec_insn.other_read and other_written.
#define INSN_X87 (1ull << (DEC_REG_X87 - DEC_GPRS))
#define INSN_MXCSR (1ull << (DEC_REG_MXCSR - DEC_GPRS))

/* ---- kinds --------------------------------------------------------------------------- */

bool dec_insn_is_bit_test(ZydisMnemonic m)
{
	return m >= ZYDIS_MNEMONIC_BT && m <= ZYDIS_MNEMONIC_BTS;
}

int dec_insn_mask_bytes(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		return 1;
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
		return 4;
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		return 8;
	default:
		return 0;
	}
}

bool dec_insn_is_no_mask(const ZydisDecodedOperand *op)
{
	return op->encoding == ZYDIS_OPERAND_ENCODING_MASK &&
	       op->reg.value == ZYDIS_REGISTER_K0;
}

bool dec_insn_is_zeroing(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VPXORD:
		return true;
	default:
		return false;
	}
}

bool dec_insn_zeroes(const struct dec_insn *insn)
{
	uint8_t op = insn->len >= 2 ? insn->bytes[insn->len - 2] : 0;
	uint64_t vec = insn->other_read & 0xffffffffu;

	if (insn->n_mem || !dec_insn_is_zeroing(insn->mnemonic))
		return false;
	// Under a mask some of it stays.
	if (insn->other_read >> (DEC_REG_K - DEC_GPRS) & 0xff)
		return false;
	if (vec)
		return __builtin_popcountll(vec) == 1;
	// Two registers that are one, not a register and a number.
	return __builtin_popcount(insn->gpr_read) == 1 &&
	       insn->gpr_read == insn->gpr_written && insn->len <= 3 &&
	       (op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b);
}

bool dec_insn_is_vector_copy(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_MOVAPS || m == ZYDIS_MNEMONIC_MOVUPS ||
	       m == ZYDIS_MNEMONIC_MOVAPD || m == ZYDIS_MNEMONIC_MOVUPD ||
	       m == ZYDIS_MNEMONIC_MOVDQA || m == ZYDIS_MNEMONIC_MOVDQU;
}

bool dec_insn_sets_status(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_ADD || m == ZYDIS_MNEMONIC_SUB ||
	       m == ZYDIS_MNEMONIC_NEG || m == ZYDIS_MNEMONIC_AND ||
	       m == ZYDIS_MNEMONIC_OR || m == ZYDIS_MNEMONIC_XOR ||
	       m == ZYDIS_MNEMONIC_CMP || m == ZYDIS_MNEMONIC_TEST;
}

bool dec_insn_is_arithmetic(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XADD:
		return true;
	default:
		return false;
	}
}

bool dec_insn_is_lane_arithmetic(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_PADDQ || m == ZYDIS_MNEMONIC_VPADDQ ||
	       m == ZYDIS_MNEMONIC_PSUBQ || m == ZYDIS_MNEMONIC_VPSUBQ;
}

bool dec_insn_cuts(ZydisMnemonic m, uint64_t source, uint64_t value)
{
	bool is_mask = m == ZYDIS_MNEMONIC_AND || m == ZYDIS_MNEMONIC_OR;

	return source >> 32 &&
	       (!(value >> 32) || (is_mask && source - value + 4096 > 8192));
}

/* ---- flags --------------------------------------------------------------------------- */

enum { INSN_STATUS = 0x8d5 }; ///< CF PF AF ZF SF OF

void dec_insn_add_flags(struct dec_insn *insn, const ZydisDecodedInstruction *d)
{
	const ZydisAccessedFlags *f = d->cpu_flags;
	uint32_t written;

	if (!f)
		return;
	written = f->modified | f->set_0 | f->set_1 | f->undefined;
	insn->reads_flags = f->tested != 0;
	insn->writes_flags = written != 0;
	// One that leaves some flags as they were uses them too.
	if (f->tested || (written && (written & INSN_STATUS) != INSN_STATUS))
		insn->other_read |= 1ull << (DEC_REG_FLAGS - DEC_GPRS);
	if (written)
		insn->other_written |= 1ull << (DEC_REG_FLAGS - DEC_GPRS);
	// Only those that write all six whatever their operands are: a shift by cl = 0,
	// for one, writes none.
	insn->kills_flags = dec_insn_sets_status(d->mnemonic) ||
			    d->mnemonic == ZYDIS_MNEMONIC_UCOMISD ||
			    d->mnemonic == ZYDIS_MNEMONIC_UCOMISS ||
			    d->mnemonic == ZYDIS_MNEMONIC_COMISD ||
			    d->mnemonic == ZYDIS_MNEMONIC_COMISS;
}

/* ---- registers ----------------------------------------------------------------------- */

/* @return whether @p d computes with floating-point numbers under mxcsr: it rounds as
 * mxcsr says and sets its sticky flags, which Zydis tells by the exceptions it raises. */
static bool insn_is_under_mxcsr(const ZydisDecodedInstruction *d)
{
	switch (d->meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_SSE2:
	case ZYDIS_EXCEPTION_CLASS_SSE3:
	case ZYDIS_EXCEPTION_CLASS_AVX2:
	case ZYDIS_EXCEPTION_CLASS_AVX3:
	case ZYDIS_EXCEPTION_CLASS_AVX11:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E2NF:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E3NF:
	case ZYDIS_EXCEPTION_CLASS_E11:
	case ZYDIS_EXCEPTION_CLASS_E11NF:
		return true;
	default:
		return d->mnemonic == ZYDIS_MNEMONIC_CVTPI2PS ||
		       d->mnemonic == ZYDIS_MNEMONIC_CVTPI2PD ||
		       d->mnemonic == ZYDIS_MNEMONIC_CVTPS2PI ||
		       d->mnemonic == ZYDIS_MNEMONIC_CVTPD2PI ||
		       d->mnemonic == ZYDIS_MNEMONIC_CVTTPS2PI ||
		       d->mnemonic == ZYDIS_MNEMONIC_CVTTPD2PI;
	}
}

static void insn_add_vectors(struct dec_insn *insn, uint64_t which, bool is_read,
			     bool is_written)
{
	insn->other_read |= is_read ? which : 0;
	insn->other_written |= is_written ? which : 0;
	insn->vec_bytes[0] = is_read ? 64 : insn->vec_bytes[0];
	insn->vec_bytes[1] = is_written ? 64 : insn->vec_bytes[1];
}

/* The pointers of string compares move too. */
static void insn_add_pointers(struct dec_insn *insn)
{
	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].base == DEC_REG_NONE)
			continue;
		insn->gpr_read |= 1u << insn->mem[i].base;
		insn->gpr_written |= 1u << insn->mem[i].base;
	}
}

enum dec_insn_image dec_insn_saves(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_FNSTENV:
	case ZYDIS_MNEMONIC_FNSAVE:
		return DEC_INSN_IMAGE_X87;
	case ZYDIS_MNEMONIC_FXSAVE ... ZYDIS_MNEMONIC_FXSAVE64:
		return DEC_INSN_IMAGE_FX;
	case ZYDIS_MNEMONIC_XSAVE ... ZYDIS_MNEMONIC_XSAVEOPT64:
		return DEC_INSN_IMAGE_EXTENDED;
	default:
		return DEC_INSN_IMAGE_NONE;
	}
}

enum dec_insn_image dec_insn_restores(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
		return DEC_INSN_IMAGE_X87;
	case ZYDIS_MNEMONIC_FXRSTOR ... ZYDIS_MNEMONIC_FXRSTOR64:
		return DEC_INSN_IMAGE_FX;
	case ZYDIS_MNEMONIC_XRSTOR ... ZYDIS_MNEMONIC_XRSTOR64:
		return DEC_INSN_IMAGE_EXTENDED;
	default:
		return DEC_INSN_IMAGE_NONE;
	}
}

/* Registers that lie in an image. What is restored is read too: an image may leave parts
 * as they are. */
static void insn_add_image(struct dec_insn *insn, ZydisMnemonic m)
{
	enum dec_insn_image restored = dec_insn_restores(m);
	enum dec_insn_image image = restored ?: dec_insn_saves(m);
	uint64_t vectors = image == DEC_INSN_IMAGE_FX ? 0xffff :
							0xffffffffffull; // and masks

	if (image == DEC_INSN_IMAGE_FX || image == DEC_INSN_IMAGE_EXTENDED)
		insn_add_vectors(insn, vectors | INSN_X87 | INSN_MXCSR, true,
				 restored != DEC_INSN_IMAGE_NONE);
}

void dec_insn_add_state(struct dec_insn *insn, const ZydisDecodedInstruction *d)
{
	const uint64_t x87 = INSN_X87, mxcsr = INSN_MXCSR;
	const uint64_t low = 0xffff;

	if (insn_is_under_mxcsr(d)) {
		insn->other_read |= mxcsr;
		insn->other_written |= mxcsr;
	}
	// Each x87 or MMX instruction moves the stack or the tags, but a few only look.
	if (((insn->other_read | insn->other_written) & x87) ||
	    d->meta.category == ZYDIS_CATEGORY_X87_ALU ||
	    d->meta.category == ZYDIS_CATEGORY_MMX) {
		insn->other_read |= x87;
		insn->other_written |= x87;
	}
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_FNSTCW:
	case ZYDIS_MNEMONIC_FNSTSW:
		insn->other_written &= ~x87;
		break;
	case ZYDIS_MNEMONIC_FWAIT:
		insn->other_read |= x87;
		break;
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
		insn->gpr_read |= insn->gpr_written; // kept when the source is zero
		break;
	case ZYDIS_MNEMONIC_VZEROUPPER:
		insn_add_vectors(insn, low, true, true);
		break;
	case ZYDIS_MNEMONIC_VZEROALL:
		insn_add_vectors(insn, low, false, true);
		break;
	default:
		break;
	}
	insn_add_image(insn, d->mnemonic);
	insn->is_string = d->meta.category == ZYDIS_CATEGORY_STRINGOP;
	if (insn->is_string)
		insn_add_pointers(insn);
}

/* ---- what C steps ---------------------------------------------------------------------- */

/* Those that only their names tell. */
static void insn_mark_named(struct dec_insn *insn, const ZydisDecodedInstruction *d,
			    const ZydisDecodedOperand *ops)
{
	if (dec_insn_is_bit_test(d->mnemonic) && insn->n_mem &&
	    ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
		insn->is_slow_addr = insn->is_slow_value = true;
	if (dec_insn_mask_bytes(d->mnemonic))
		insn->is_slow_addr = insn->is_slow_value = true;
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_ENTER:
	case ZYDIS_MNEMONIC_LEAVE:
		// leave reads through rbp, which Zydis names rsp.
		insn->is_slow_addr |= d->mnemonic == ZYDIS_MNEMONIC_ENTER;
		insn->is_slow_value |= d->mnemonic == ZYDIS_MNEMONIC_ENTER;
		for (int i = 0; i < insn->n_mem; i++)
			insn->mem[i].base = insn->mem[i].base == CAP_RSP ?
						    CAP_RBP :
						    insn->mem[i].base;
		break;
	case ZYDIS_MNEMONIC_LOOP:
	case ZYDIS_MNEMONIC_LOOPE:
	case ZYDIS_MNEMONIC_LOOPNE: // branch, and define rcx
	case ZYDIS_MNEMONIC_EMMS:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		insn->is_slow_value = true;
		break;
	case ZYDIS_MNEMONIC_RDGSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_RDPKRU:
	case ZYDIS_MNEMONIC_WRPKRU:
		insn->is_emulated = insn->is_slow_always = true;
		insn->is_slow_addr = insn->is_slow_value = true;
		break;
	case ZYDIS_MNEMONIC_XLAT:
	case ZYDIS_MNEMONIC_WRFSBASE:
		insn->is_slow_addr = insn->is_slow_value = true;
		break;
	default:
		break;
	}
}

/* Does the mask of @p insn, which it leaves as it is, say which lanes of its one operand in
 * memory are accessed, as by a move with that mask? @return their size; 0: no. */
static uint8_t insn_lane_bytes(const struct dec_insn *insn,
			       const ZydisDecodedInstruction *d,
			       const ZydisDecodedOperand *ops)
{
	const uint64_t mask = 1ull << (DEC_REG_K - DEC_GPRS + insn->lane_mask);
	const struct dec_mem *m = &insn->mem[0];
	const ZydisDecodedOperand *op = ops;

	while (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
		op++;
	if (d->encoding != ZYDIS_INSTRUCTION_ENCODING_EVEX || insn->n_mem != 1 ||
	    m->size < 16 || m->is_absolute || m->is_addr32 ||
	    (insn->other_written & mask))
		return 0;
	if (m->is_write)
		return insn->store_reg == DEC_REG_NONE ? 0 : op->element_size / 8;
	if (d->meta.exception_class != ZYDIS_EXCEPTION_CLASS_E4 ||
	    d->meta.category == ZYDIS_CATEGORY_EXPAND || d->avx.broadcast.mode)
		return 0;
	if (ZydisRegisterGetClass(ops[0].reg.value) != ZYDIS_REGCLASS_MASK &&
	    ops[0].element_count != op->element_count)
		return 0;
	return op->element_size / 8;
}

void dec_insn_mark_slow(struct dec_insn *insn, const ZydisDecodedInstruction *d,
			const ZydisDecodedOperand *ops)
{
	bool has_mask = d->avx.mask.reg != ZYDIS_REGISTER_NONE &&
			d->avx.mask.reg != ZYDIS_REGISTER_K0;

	if (insn->is_rep)
		insn->is_slow_addr = insn->is_slow_value = true;
	if (has_mask && insn->n_mem) {
		insn->lane_mask = d->avx.mask.reg - ZYDIS_REGISTER_K0;
		insn->lane_bytes = insn_lane_bytes(insn, d, ops);
		insn->is_slow_addr = true;
		insn->is_slow_value |= !insn->lane_bytes;
	}
	insn->is_slow_value |= (insn->other_written & INSN_X87) != 0;
	if (d->meta.category == ZYDIS_CATEGORY_X87_ALU ||
	    d->meta.category == ZYDIS_CATEGORY_MMX)
		insn->is_slow_value = true;
	insn_mark_named(insn, d, ops);
	if (dec_insn_saves(d->mnemonic) || dec_insn_restores(d->mnemonic))
		insn->is_slow_addr = insn->is_slow_value = true;
	// Such images hold the address of the last x87 instruction.
	insn->shows_x87 = dec_insn_saves(d->mnemonic) != DEC_INSN_IMAGE_NONE;
	insn->is_slow_always |= insn->shows_x87;
}

void dec_insn_mark_integer(struct dec_insn *insn)
{
	const uint64_t flags = 1ull << (DEC_REG_FLAGS - DEC_GPRS);

	switch (insn->isa) {
	case ZYDIS_ISA_SET_I86:
	case ZYDIS_ISA_SET_I186:
	case ZYDIS_ISA_SET_I386:
	case ZYDIS_ISA_SET_I486:
	case ZYDIS_ISA_SET_I486REAL:
	case ZYDIS_ISA_SET_PENTIUMREAL:
	case ZYDIS_ISA_SET_LONGMODE:
	case ZYDIS_ISA_SET_CMOV:
	case ZYDIS_ISA_SET_FAT_NOP:
	case ZYDIS_ISA_SET_PAUSE:
	case ZYDIS_ISA_SET_CET:
	case ZYDIS_ISA_SET_BMI1:
	case ZYDIS_ISA_SET_BMI2:
	case ZYDIS_ISA_SET_POPCNT:
	case ZYDIS_ISA_SET_LZCNT:
	case ZYDIS_ISA_SET_MOVBE:
	case ZYDIS_ISA_SET_CMPXCHG16B:
		insn->is_integer = !((insn->other_read | insn->other_written) & ~flags);
		break;
	default:
		break;
	}
}
