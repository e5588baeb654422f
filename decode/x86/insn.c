// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/x86/insn.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "decode/x86/effects.h"

static ZydisDecoder decoder;
static uint8_t reg_numbers[ZYDIS_REGISTER_MAX_VALUE + 1];

static uint8_t reg_number(ZydisRegister r)
{
	ZydisRegister full =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	// Registers that are part of no larger one have no enclosing register.
	if (full == ZYDIS_REGISTER_NONE)
		full = r;
	switch (ZydisRegisterGetClass(full)) {
	case ZYDIS_REGCLASS_GPR64:
		return ZydisRegisterGetId(full);
	case ZYDIS_REGCLASS_ZMM:
		return DEC_REG_VEC + ZydisRegisterGetId(full);
	case ZYDIS_REGCLASS_MASK:
		return DEC_REG_K + ZydisRegisterGetId(full);
	case ZYDIS_REGCLASS_X87:
	case ZYDIS_REGCLASS_MMX:
		return DEC_REG_X87;
	case ZYDIS_REGCLASS_FLAGS:
		return DEC_REG_FLAGS;
	default:
		break;
	}
	switch (r) {
	case ZYDIS_REGISTER_MXCSR:
		return DEC_REG_MXCSR;
	case ZYDIS_REGISTER_X87CONTROL:
	case ZYDIS_REGISTER_X87STATUS:
	case ZYDIS_REGISTER_X87TAG:
		return DEC_REG_X87;
	default:
		return DEC_REG_NONE;
	}
}

static void decoder_init(void)
{
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (int r = 0; r <= ZYDIS_REGISTER_MAX_VALUE; r++)
		reg_numbers[r] = reg_number(r);
}

/* PT streams are decoded by several threads. */
static const ZydisDecoder *insn_decoder(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, decoder_init);
	return &decoder;
}

bool dec_insn_zydis(const uint8_t *bytes, uint64_t avail, ZydisDecodedInstruction *d,
		    ZydisDecodedOperand *ops)
{
	return ZYAN_SUCCESS(
		ops ? ZydisDecoderDecodeFull(insn_decoder(), bytes, avail, d, ops) :
		      ZydisDecoderDecodeInstruction(insn_decoder(), NULL, bytes, avail,
						    d));
}

uint8_t dec_insn_target_reg(const struct dec_insn *insn)
{
	const uint8_t *op = memchr(insn->bytes, 0xff, insn->len); // ff /2, ff /4
	uint8_t rex;

	assert(op && op < insn->bytes + insn->len - 1);
	if (op[1] >> 6 != 3)
		return DEC_REG_NONE;
	rex = op > insn->bytes && (op[-1] & 0xf0) == 0x40 ? op[-1] : 0;
	return (op[1] & 7) | (rex & 1) << 3;
}

enum dec_flow dec_insn_flow(const ZydisDecodedInstruction *d,
			    const ZydisDecodedOperand *ops)
{
	bool is_direct = ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_JMP:
		return is_direct ? DEC_FLOW_JMP : DEC_FLOW_JMP_IND;
	case ZYDIS_MNEMONIC_CALL:
		return is_direct ? DEC_FLOW_CALL : DEC_FLOW_CALL_IND;
	case ZYDIS_MNEMONIC_RET:
		return d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR ? DEC_FLOW_FORBIDDEN :
								      DEC_FLOW_RET;
	case ZYDIS_MNEMONIC_JCXZ:
	case ZYDIS_MNEMONIC_JECXZ:
	case ZYDIS_MNEMONIC_JRCXZ:
	case ZYDIS_MNEMONIC_LOOP ... ZYDIS_MNEMONIC_LOOPNE:
		return DEC_FLOW_JRCX;
	case ZYDIS_MNEMONIC_SYSCALL:
		return DEC_FLOW_SYSCALL;
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
		return DEC_FLOW_TSC;
	case ZYDIS_MNEMONIC_CPUID:
		return DEC_FLOW_CPUID;
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_RDPID:
		return DEC_FLOW_RANDOM;
	case ZYDIS_MNEMONIC_INT3:
	case ZYDIS_MNEMONIC_INT1:
	case ZYDIS_MNEMONIC_UD0 ... ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
		return DEC_FLOW_TRAP;
	case ZYDIS_MNEMONIC_INT:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_XBEGIN:
	case ZYDIS_MNEMONIC_RDPMC:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_IRETD:
		return DEC_FLOW_FORBIDDEN;
	default:
		break;
	}
	if (d->meta.category == ZYDIS_CATEGORY_COND_BR)
		return DEC_FLOW_JCC;
	if (d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR)
		return DEC_FLOW_FORBIDDEN;
	return DEC_FLOW_NEXT;
}

uint8_t dec_insn_reg(ZydisRegister r)
{
	insn_decoder(); // which fills the table
	return reg_numbers[r];
}

static uint8_t insn_vec_bytes(ZydisRegister r)
{
	switch (ZydisRegisterGetClass(r)) {
	case ZYDIS_REGCLASS_YMM:
		return 32;
	case ZYDIS_REGCLASS_ZMM:
		return 64;
	default:
		return 16;
	}
}

static void insn_add_reg(struct dec_insn *insn, ZydisRegister zr, bool is_read,
			 bool is_written)
{
	uint8_t r = dec_insn_reg(zr);

	if (r == DEC_REG_NONE)
		return;
	if (r < DEC_GPRS) {
		insn->gpr_read |= is_read << r;
		insn->gpr_written |= is_written << r;
		return;
	}
	insn->other_read |= (uint64_t)is_read << (r - DEC_GPRS);
	insn->other_written |= (uint64_t)is_written << (r - DEC_GPRS);
	if (r < DEC_REG_K) {
		uint8_t n = insn_vec_bytes(zr);

		if (is_read && insn->vec_bytes[0] < n)
			insn->vec_bytes[0] = n;
		if (is_written && insn->vec_bytes[1] < n)
			insn->vec_bytes[1] = n;
	}
}

/* A register operand. Definitions are of whole registers, so one that leaves some of the
 * register as it was uses it too. */
static void insn_add_operand(struct dec_insn *insn, const ZydisDecodedOperand *op)
{
	bool is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool is_written = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	uint8_t r = dec_insn_reg(op->reg.value);

	if (dec_insn_is_no_mask(op))
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)
		is_read = true;
	if (is_written && r < DEC_GPRS && op->size < 32)
		is_read = true;
	if (is_written && r >= DEC_REG_VEC && r < DEC_REG_K && !insn->is_vex &&
	    op->size < 128)
		is_read = true;
	// Moving to gs would pull the machine's context from under it.
	if (is_written && op->reg.value == ZYDIS_REGISTER_GS)
		insn->flow = DEC_FLOW_FORBIDDEN;
	insn_add_reg(insn, op->reg.value, is_read, is_written);
}

uint8_t dec_insn_gpr(ZydisRegister r)
{
	uint8_t n = r == ZYDIS_REGISTER_NONE ? DEC_REG_NONE : dec_insn_reg(r);

	return n < DEC_GPRS ? n : DEC_REG_NONE;
}

/* Stack operands carry no displacement in Zydis; the push address lies below rsp. */
static bool insn_is_push(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_CALL:
		return true;
	default:
		return false;
	}
}

/* An address-size prefix counts for what the instruction names, and for what its strings'
 * registers do; the stack's own addresses are of 64 bits all the same (linkers make
 * `addr32 call' of a call through the GOT). */
static bool insn_is_addr32(const ZydisDecodedInstruction *d,
			   const ZydisDecodedOperand *op)
{
	if (d->address_width != 32)
		return false;
	return op->visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN ||
	       ZydisRegisterGetClass(op->mem.base) != ZYDIS_REGCLASS_GPR64;
}

static void insn_add_mem(struct dec_insn *insn, const ZydisDecodedInstruction *d,
			 const ZydisDecodedOperand *op)
{
	struct dec_mem *m = &insn->mem[insn->n_mem];
	uint32_t bits = d->avx.broadcast.mode && !d->avx.broadcast.is_static ?
				op->element_size :
				op->size;

	insn_add_reg(insn, op->mem.base, true, false);
	if (op->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		insn_add_reg(insn, op->mem.index, true, false);
	// Hints name an address that they do not access.
	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
	    d->meta.category == ZYDIS_CATEGORY_NOP ||
	    d->meta.category == ZYDIS_CATEGORY_WIDENOP ||
	    d->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    d->meta.category == ZYDIS_CATEGORY_PREFETCHWT1)
		return;
	if (op->mem.segment == ZYDIS_REGISTER_GS)
		insn->is_gs = insn->is_slow_always = insn->is_slow_addr =
			insn->is_slow_value = true;
	if (op->mem.type != ZYDIS_MEMOP_TYPE_MEM || bits < 8 || bits > 512 ||
	    (bits & (bits - 1)) || insn->n_mem == DEC_MEMS) {
		if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)
			insn_add_reg(insn, op->mem.index, true, false);
		insn->is_slow_addr = insn->is_slow_value = true;
		return;
	}
	// Copies of wide operands address their last word too.
	if (op->mem.disp.value > INT32_MAX - 64 && op->mem.base != ZYDIS_REGISTER_RIP)
		insn->is_slow_value = insn->is_slow_addr = true;
	*m = (struct dec_mem){
		.base = dec_insn_gpr(op->mem.base),
		.index = dec_insn_gpr(op->mem.index),
		.scale = op->mem.scale ? op->mem.scale : 1,
		.is_fs = op->mem.segment == ZYDIS_REGISTER_FS,
		.is_gs = op->mem.segment == ZYDIS_REGISTER_GS,
		.is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
		.is_write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
		.is_addr32 = insn_is_addr32(d, op),
		.size = bits / 8,
		.disp = op->mem.disp.value,
	};
	if (op->mem.base == ZYDIS_REGISTER_RIP || op->mem.base == ZYDIS_REGISTER_EIP) {
		m->is_absolute = true;
		m->disp = insn->rip + insn->len + op->mem.disp.value;
	} else if (m->base == DEC_REG_NONE && m->index == DEC_REG_NONE && !m->is_fs &&
		   !m->is_gs) {
		m->is_absolute = true;
	} else if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN &&
		   m->base == CAP_RSP && insn_is_push(d)) {
		m->disp -= m->size;
	}
	// A pop computes an address through rsp only after it has moved rsp.
	if (d->mnemonic == ZYDIS_MNEMONIC_POP && m->is_write && m->base == CAP_RSP)
		insn->is_slow_addr = insn->is_slow_value = true;
	insn->n_mem++;
}

static bool insn_is_plain_load(const ZydisDecodedInstruction *d)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_LDDQU:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVDQA ... ZYDIS_MNEMONIC_VMOVDQU8:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_VMOVQ:
		return true;
	default:
		return dec_insn_is_vector_copy(d->mnemonic);
	}
}

static bool insn_is_high8(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_AH || r == ZYDIS_REGISTER_BH ||
	       r == ZYDIS_REGISTER_CH || r == ZYDIS_REGISTER_DH;
}

/* The register that a plain store copies to memory. */
static uint8_t insn_store_reg(const struct dec_insn *insn,
			      const ZydisDecodedInstruction *d,
			      const ZydisDecodedOperand *ops)
{
	// EVEX has a mask between the two, if only k0.
	bool is_evex = d->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	const ZydisDecodedOperand *source = &ops[is_evex ? 2 : 1];
	bool is_gpr;

	if (d->mnemonic == ZYDIS_MNEMONIC_PUSH && d->operand_width == 64 &&
	    ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    ops[0].reg.value != ZYDIS_REGISTER_RSP &&
	    dec_insn_reg(ops[0].reg.value) < DEC_GPRS)
		return dec_insn_reg(ops[0].reg.value);
	if (!insn_is_plain_load(d) || d->mnemonic == ZYDIS_MNEMONIC_POP ||
	    insn->n_mem != 1 || !insn->mem[0].is_write ||
	    source->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return DEC_REG_NONE;
	if (insn_is_high8(source->reg.value))
		return DEC_REG_NONE;
	is_gpr = dec_insn_reg(source->reg.value) < DEC_GPRS;
	if (!is_gpr &&
	    (dec_insn_reg(source->reg.value) >= DEC_REG_K || insn->mem[0].size < 16))
		return DEC_REG_NONE;
	return dec_insn_reg(source->reg.value);
}

static void insn_set_target(struct dec_insn *insn, const ZydisDecodedInstruction *d,
			    const ZydisDecodedOperand *ops)
{
	uint8_t n = d->raw.imm[0].size / 8;

	insn->target = insn->rip + d->length + ops[0].imm.value.s;
	insn->target_bytes = n == 1 || n == 4 ? n : 0;
}

bool dec_insn_decode(const uint8_t *bytes, uint64_t avail, uint64_t rip,
		     struct dec_insn *ret)
{
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	*ret = (struct dec_insn){ .rip = rip,
				  .flow = DEC_FLOW_TRAP,
				  .store_reg = DEC_REG_NONE };
	if (!dec_insn_zydis(bytes, avail, &d, ops))
		return false;
	ret->len = ret->code_len = d.length;
	ret->mnemonic = d.mnemonic;
	ret->isa = d.meta.isa_set;
	ret->flow = dec_insn_flow(&d, ops);
	memcpy(ret->bytes, bytes, d.length);
	if (d.raw.disp.size == 32 && (d.attributes & ZYDIS_ATTRIB_IS_RELATIVE) &&
	    d.raw.modrm.mod == 0 && d.raw.modrm.rm == 5) {
		ret->rel_at = d.raw.disp.offset;
		ret->rel_target = rip + d.length + d.raw.disp.value;
	}
	if (ret->flow == DEC_FLOW_JMP || ret->flow == DEC_FLOW_JCC ||
	    ret->flow == DEC_FLOW_CALL || ret->flow == DEC_FLOW_JRCX)
		insn_set_target(ret, &d, ops);
	ret->is_vex = d.encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY;
	ret->is_rep = d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				      ZYDIS_ATTRIB_HAS_REPNE);
	for (int i = 0; i < d.operand_count; i++) {
		const ZydisDecodedOperand *op = &ops[i];

		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
			insn_add_operand(ret, op);
		else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY) {
			insn_add_mem(ret, &d, op);
		}
	}
	dec_insn_add_flags(ret, &d);
	dec_insn_add_state(ret, &d);
	ret->is_plain_load =
		insn_is_plain_load(&d) &&
		ret->n_mem == 1 + (d.mnemonic == ZYDIS_MNEMONIC_POP && ret->n_mem > 1) &&
		ret->mem[0].is_read && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		!insn_is_high8(ops[0].reg.value);
	ret->store_reg = insn_store_reg(ret, &d, ops);
	dec_insn_mark_slow(ret, &d, ops);
	dec_insn_mark_integer(ret);
	return true;
}

const char *dec_reg_gpr_name(unsigned reg)
{
	return ZydisRegisterGetString(ZYDIS_REGISTER_RAX + reg);
}

const char *dec_reg_name(unsigned reg, char buf[DEC_REG_NAME])
{
	if (reg < DEC_GPRS)
		snprintf(buf, DEC_REG_NAME, "%s", dec_reg_gpr_name(reg));
	else if (reg < DEC_REG_FLAGS)
		snprintf(buf, DEC_REG_NAME, "%s%u", reg < DEC_REG_K ? "zmm" : "k",
			 reg - (reg < DEC_REG_K ? DEC_REG_VEC : DEC_REG_K));
	else
		snprintf(buf, DEC_REG_NAME, "%s", reg == DEC_REG_FLAGS ? "flags" : "?");
	return buf;
}

const char *dec_insn_name(const struct dec_insn *insn)
{
	const char *name = ZydisMnemonicGetString(insn->mnemonic);

	return name ? name : "an unknown instruction";
}

static bool formatter_init(ZydisFormatter *f)
{
	return ZYAN_SUCCESS(ZydisFormatterInit(f, ZYDIS_FORMATTER_STYLE_INTEL)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(
		       f, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, false)) &&
	       ZYAN_SUCCESS(ZydisFormatterSetProperty(
		       f, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, 0));
}

size_t dec_insn_text(const struct dec_insn *insn, char *buf, size_t size)
{
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisFormatter f;

	if (dec_insn_zydis(insn->bytes, insn->len, &d, ops) && formatter_init(&f) &&
	    ZYAN_SUCCESS(ZydisFormatterFormatInstruction(
		    &f, &d, ops, d.operand_count_visible, buf, size, insn->rip, NULL)))
		return strlen(buf);
	return snprintf(buf, size, "(bad)");
}

const char *dec_insn_isa_name(unsigned isa)
{
	const char *name = ZydisISASetGetString(isa);

	return name ? name : "unknown";
}

_Static_assert(ZYDIS_ISA_SET_MAX_VALUE < 256, "fits dec_insn.isa");
