// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "storeplan/sp_insn.h"

#include "decode/x86/zydis.h"
#include "storeplan/storeplan.h"

bool sp_is_emulated(const ZydisDecodedInstruction *i)
{
	bool has_size_prefix = i->attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE;

	if (i->opcode_map == ZYDIS_OPCODE_MAP_0F)
		return i->opcode >= 0x80 && i->opcode <= 0x8f && !has_size_prefix;
	if (i->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT)
		return false;
	switch (i->opcode) {
	case 0x90: // nop only: with REX.B it exchanges
		return i->mnemonic == ZYDIS_MNEMONIC_NOP;
	case 0xe8:
	case 0xe9:
	case 0xeb: // call, jmp
		return !has_size_prefix;
	}
	if (i->opcode >= 0x50 && i->opcode <= 0x57) // push register
		return i->length == 1 || (i->length == 2 && i->raw.rex.offset == 0 &&
					  i->attributes & ZYDIS_ATTRIB_HAS_REX);
	return i->opcode >= 0x70 && i->opcode <= 0x7f && !has_size_prefix;
}

/** Also prefixes without effect: cs nopw, notrack jmp. */
static bool has_bad_prefix(const ZydisDecodedInstruction *d)
{
	for (int i = 0; i < d->raw.prefix_count; i++)
		switch (d->raw.prefixes[i].value) {
		case 0x26: // es
		case 0x2e: // cs
		case 0x36: // ss
		case 0x3e: // ds
		case 0xf0: // lock
			return true;
		}
	return d->attributes & ZYDIS_ATTRIB_HAS_SEGMENT;
}

/** Linux (6.18 too) judges the opcode of a VEX or EVEX instruction as if it were of one byte:
 * it refuses what that would be, or, worse, does that instead (vmovdqu becomes a jump, vxorps
 * a push), or leaves rip where it stepped the copy. */
static bool is_mistaken(const ZydisDecodedInstruction *d)
{
	if (d->encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY)
		return false;
	switch (d->opcode) {
	case 0x06 ... 0x07: // refused
	case 0x0e ... 0x0f:
	case 0x16 ... 0x17:
	case 0x1e ... 0x1f:
	case 0x26 ... 0x27:
	case 0x2e ... 0x2f:
	case 0x36 ... 0x37:
	case 0x3e ... 0x3f:
	case 0x60 ... 0x62:
	case 0x64 ... 0x67:
	case 0x6c ... 0x6f:
	case 0x82:
	case 0xc4 ... 0xc5:
	case 0xcc ... 0xcf:
	case 0xd4 ... 0xd6:
	case 0xe4 ... 0xe7:
	case 0xec ... 0xf1:
	case 0xf4:
	case 0xfa ... 0xfb:
	case 0x50 ... 0x57: // push
	case 0x70 ... 0x7f: // jcc
	case 0x90:	    // nop
	case 0x9a:	    // call
	case 0x9d:	    // popf
	case 0xc2 ... 0xc3: // ret
	case 0xca ... 0xcb:
	case 0xe8 ... 0xeb: // call, jmp
	case 0xff:
		return true;
	}
	return false;
}

/** What arch/x86/kernel/uprobes.c refuses, and what nobody should probe. */
bool sp_is_unprobable(const ZydisDecodedInstruction *d)
{
	if (has_bad_prefix(d) || is_mistaken(d))
		return true;
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
		return true;
	default:
		return d->encoding == ZYDIS_INSTRUCTION_ENCODING_XOP ||
		       d->meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

/** Instructions whose result registers the judge can compute, and RECOVER's executor. */
static bool is_exact(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_LEAVE:
	case ZYDIS_MNEMONIC_XCHG:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
	case ZYDIS_MNEMONIC_STOSB:
	case ZYDIS_MNEMONIC_STOSW:
	case ZYDIS_MNEMONIC_STOSD:
	case ZYDIS_MNEMONIC_STOSQ:
		return true;
	default:
		return dec_insn_is_vector_copy(m) ||
		       (m >= ZYDIS_MNEMONIC_SETB && m <= ZYDIS_MNEMONIC_SETZ &&
			m != ZYDIS_MNEMONIC_SETSSBSY);
	}
}

static bool is_conditional_move(ZydisMnemonic m)
{
	return m >= ZYDIS_MNEMONIC_CMOVB && m <= ZYDIS_MNEMONIC_CMOVZ;
}

/** Where a Zydis register is; SP_NONE for those that are no location. */
static uint8_t location(ZydisRegister r)
{
	uint8_t n = dec_insn_reg(r);

	return n < SP_GPRS				     ? n :
	       n >= DEC_REG_VEC && n < DEC_REG_VEC + SP_XMMS ? SP_XMM + n - DEC_REG_VEC :
							       SP_NONE;
}

static void add_register(struct sp_insn *i, const ZydisDecodedOperand *op)
{
	bool is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool is_written = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	uint8_t l = location(op->reg.value);

	if (ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_FLAGS)
		return; // cpu_flags tell
	if (l == SP_NONE) {
		// A wider or stranger register than the analysis follows goes in, or out.
		if (op->reg.value != ZYDIS_REGISTER_RIP)
			i->is_exact = false;
		return;
	}
	if (ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_YMM ||
	    ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_ZMM)
		i->is_exact = false;
	if (op->actions & ZYDIS_OPERAND_ACTION_CONDWRITE)
		is_read = is_written = true;
	if (is_written && l < SP_GPRS && op->size < 32)
		is_read = true;
	i->reads |= (sp_set)is_read << l;
	i->writes |= (sp_set)is_written << l;
}

static void add_address(struct sp_insn *i, const ZydisDecodedOperand *op)
{
	uint8_t base = dec_insn_gpr(op->mem.base), index = dec_insn_gpr(op->mem.index);

	if (base != SP_NONE)
		i->reads |= SP_BIT(base);
	if (index != SP_NONE)
		i->reads |= SP_BIT(index);
}

static bool is_far_from_memory(const ZydisDecodedInstruction *d)
{
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_NOP:
	case ZYDIS_CATEGORY_WIDENOP:
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
		return true;
	default:
		return false;
	}
}

static void add_memory(struct sp_insn *i, const ZydisDecodedInstruction *d,
		       const ZydisDecodedOperand *op)
{
	bool is_rip = op->mem.base == ZYDIS_REGISTER_RIP;
	struct sp_mem *m;

	if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
		add_address(i, op);
		if (is_rip)
			i->slot = i->at + i->len + op->mem.disp.value;
		i->is_exact = i->is_exact && d->address_width == 64;
		return;
	}
	if (is_far_from_memory(d))
		return;
	if (i->n_mem == SP_MEMS) {
		i->is_exact = false;
		i->is_other_write = i->is_other_write ||
				    op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
		return;
	}
	m = &i->mem[i->n_mem++];
	*m = (struct sp_mem){
		.base = dec_insn_gpr(op->mem.base),
		.index = dec_insn_gpr(op->mem.index),
		.scale = op->mem.scale ? op->mem.scale : 1,
		.is_odd = op->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
			  d->address_width != 64 ||
			  op->mem.segment == ZYDIS_REGISTER_GS || op->size < 8 ||
			  op->size > 512,
		.is_fs = op->mem.segment == ZYDIS_REGISTER_FS,
		.is_read = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ,
		.is_write = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE,
		.size = op->size / 8,
		.disp = op->mem.disp.value,
	};
	if (is_rip ||
	    (m->base == SP_NONE && m->index == SP_NONE && !m->is_odd && !m->is_fs)) {
		m->is_absolute = true;
		m->disp += is_rip ? i->at + i->len : 0;
	}
	if (d->mnemonic == ZYDIS_MNEMONIC_PUSH && m->is_write)
		m->disp -= m->size;
}

static void add_flags(struct sp_insn *i, const ZydisDecodedInstruction *d)
{
	const ZydisAccessedFlags *f = d->cpu_flags;
	uint32_t all = ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_AF |
		       ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF | ZYDIS_CPUFLAG_OF;

	if (!f)
		return;
	if (f->tested & all)
		i->reads |= SP_BIT(SP_FLAGS);
	if ((f->modified | f->set_0 | f->set_1 | f->undefined) & all)
		i->writes |= SP_BIT(SP_FLAGS);
}

static void set_flow(struct sp_insn *i, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *ops)
{
	bool is_direct = ops[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;

	switch (d->meta.category) {
	case ZYDIS_CATEGORY_COND_BR:
		i->flow = SP_FLOW_JCC;
		break;
	case ZYDIS_CATEGORY_UNCOND_BR:
		i->flow = is_direct ? SP_FLOW_JMP : SP_FLOW_JMP_IND;
		break;
	case ZYDIS_CATEGORY_CALL:
		i->flow = is_direct ? SP_FLOW_CALL : SP_FLOW_CALL_IND;
		break;
	case ZYDIS_CATEGORY_RET:
		i->flow = SP_FLOW_RET;
		return;
	default:
		if (dec_insn_flow(d, ops) == DEC_FLOW_TRAP)
			i->flow = SP_FLOW_STOP;
		return;
	}
	if (is_direct)
		i->target = i->at + i->len + ops[0].imm.value.s;
	else if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		 ops[0].mem.base == ZYDIS_REGISTER_RIP)
		i->slot = i->at + i->len + ops[0].mem.disp.value;
}

static bool is_whole_gpr(const ZydisDecodedOperand *op)
{
	return op->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ZydisRegisterGetClass(op->reg.value) == ZYDIS_REGCLASS_GPR64;
}

/** `reg = reg2 + constant`: lets the frame be followed. */
static void set_step(struct sp_insn *i, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *ops)
{
	int64_t step = 0;

	if (d->operand_count_visible < 1 || !is_whole_gpr(&ops[0]))
		return;
	i->step_from = location(ops[0].reg.value);
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (ops[1].type != ZYDIS_OPERAND_TYPE_IMMEDIATE)
			return;
		step = d->mnemonic == ZYDIS_MNEMONIC_ADD ? ops[1].imm.value.s :
							   -ops[1].imm.value.s;
		break;
	case ZYDIS_MNEMONIC_INC:
		step = 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		step = -1;
		break;
	case ZYDIS_MNEMONIC_MOV:
		if (!is_whole_gpr(&ops[1]))
			return;
		i->step_from = location(ops[1].reg.value);
		break;
	case ZYDIS_MNEMONIC_LEA:
		if (dec_insn_gpr(ops[1].mem.base) == SP_NONE ||
		    dec_insn_gpr(ops[1].mem.index) != SP_NONE || d->address_width != 64)
			return;
		i->step_from = dec_insn_gpr(ops[1].mem.base);
		step = ops[1].mem.disp.value;
		break;
	default:
		return;
	}
	i->has_step = step > -(1 << 30) && step < 1 << 30;
	i->step = step;
}

static bool is_same_register(const ZydisDecodedInstruction *d,
			     const ZydisDecodedOperand *ops)
{
	return d->operand_count_visible == 2 &&
	       ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[0].reg.value == ops[1].reg.value;
}

static void set_undo(struct sp_insn *i, const ZydisDecodedInstruction *d,
		     const ZydisDecodedOperand *ops)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if ((is_whole_gpr(&ops[0]) || i->n_mem) && ops[0].size == 64 &&
		    (is_whole_gpr(&ops[1]) || (is_whole_gpr(&ops[0]) && i->n_mem)))
			i->undo = SP_UNDO_COPY;
		return;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_XOR:
		if (is_same_register(d, ops))
			return;
		// fall through
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
		if (is_whole_gpr(&ops[0]))
			i->undo = SP_UNDO_SELF;
		return;
	case ZYDIS_MNEMONIC_LEA:
		if (i->has_step && is_whole_gpr(&ops[0]))
			i->undo = i->writes & i->reads ? SP_UNDO_SELF : SP_UNDO_COPY;
		return;
	default:
		if (dec_insn_is_vector_copy(d->mnemonic) && ops[0].size == 128)
			i->undo = SP_UNDO_COPY;
		return;
	}
}

/** xor r,r and sub r,r read nothing. */
static void drop_idle_reads(struct sp_insn *i, const ZydisDecodedInstruction *d,
			    const ZydisDecodedOperand *ops)
{
	if (is_same_register(d, ops) && ops[0].size >= 32 &&
	    dec_insn_is_zeroing(d->mnemonic))
		i->reads = 0;
}

static void set_stack(struct sp_insn *i, const ZydisDecodedInstruction *d,
		      const ZydisDecodedOperand *ops)
{
	bool is_word = d->operand_width == 64;

	if (d->mnemonic == ZYDIS_MNEMONIC_PUSH)
		i->is_push = is_word && ops[0].type != ZYDIS_OPERAND_TYPE_MEMORY;
	if (d->mnemonic == ZYDIS_MNEMONIC_POP)
		i->is_pop = is_word && ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER;
	if ((d->mnemonic == ZYDIS_MNEMONIC_PUSH && !i->is_push) ||
	    (d->mnemonic == ZYDIS_MNEMONIC_POP && !i->is_pop))
		i->is_exact = false;
	// Words of the address are no part of what is pushed.
	if (i->is_push && !is_whole_gpr(&ops[0]))
		i->reads = 0;
	if (i->is_push && is_whole_gpr(&ops[0]))
		i->reads = SP_BIT(location(ops[0].reg.value));
	if (i->is_pop)
		i->reads = 0;
}

static bool is_state_save(const ZydisDecodedInstruction *d)
{
	switch (d->meta.category) {
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return true;
	default:
		return d->mnemonic == ZYDIS_MNEMONIC_ENTER;
	}
}

bool sp_insn_decode(const uint8_t *bytes, size_t avail, uint64_t at, struct sp_insn *ret)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction d;

	*ret = (struct sp_insn){ .at = at, .step_from = SP_NONE };
	if (!dec_insn_zydis(bytes, avail, &d, ops))
		return false;
	ret->len = d.length;
	ret->mnemonic = d.mnemonic;
	ret->is_exact = is_exact(d.mnemonic) || is_conditional_move(d.mnemonic);
	ret->has_exact_flags = dec_insn_sets_status(d.mnemonic);
	ret->is_emulated = sp_is_emulated(&d);
	ret->is_unprobable = sp_is_unprobable(&d);
	ret->is_lea = d.mnemonic == ZYDIS_MNEMONIC_LEA;
	ret->is_rep = d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				      ZYDIS_ATTRIB_HAS_REPNE);
	ret->is_string = d.meta.category == ZYDIS_CATEGORY_STRINGOP;
	ret->is_other_write = is_state_save(&d);
	for (int o = 0; o < d.operand_count; o++) {
		if (ops[o].type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(ret, &ops[o]);
		else if (ops[o].type == ZYDIS_OPERAND_TYPE_MEMORY)
			add_memory(ret, &d, &ops[o]);
	}
	if (d.mnemonic == ZYDIS_MNEMONIC_IMUL && d.operand_count_visible == 1)
		ret->is_exact = false;
	// Loads and stores of a scalar; between registers they merge.
	if ((d.mnemonic == ZYDIS_MNEMONIC_MOVSS || d.mnemonic == ZYDIS_MNEMONIC_MOVSD) &&
	    ret->n_mem == 1)
		ret->is_exact = true;
	add_flags(ret, &d);
	set_flow(ret, &d, ops);
	set_step(ret, &d, ops);
	set_stack(ret, &d, ops);
	drop_idle_reads(ret, &d, ops);
	set_undo(ret, &d, ops);
	return true;
}

const struct sp_mem *sp_insn_store(const struct sp_insn *i)
{
	for (int m = 0; m < i->n_mem; m++)
		if (i->mem[m].is_write)
			return &i->mem[m];
	return NULL;
}

const char *sp_insn_name(const struct sp_insn *i)
{
	return ZydisMnemonicGetString(i->mnemonic);
}
