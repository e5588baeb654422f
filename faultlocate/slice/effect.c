// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "faultlocate/slice/effect.h"

#include <stdlib.h>
#include <string.h>

#include "decode/x86/zydis.h"

#define LOW(n) ((n) >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (n)) - 1)

/* An effect being made. */
struct making {
	const struct dec_insn *insn;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	struct effect_use use[EFFECT_USES];
	struct effect_def def[EFFECT_DEFS];
	int n_uses, n_defs;
	int8_t use_of[ZYDIS_MAX_OPERAND_COUNT]; ///< the use that an operand is; -1: none
	int8_t def_of[ZYDIS_MAX_OPERAND_COUNT];
};

static int add_use(struct making *m, struct effect_use use)
{
	if (m->n_uses == EFFECT_USES)
		return -1;
	m->use[m->n_uses] = use;
	return m->n_uses++;
}

static int add_def(struct making *m, struct effect_def def)
{
	if (m->n_defs == EFFECT_DEFS)
		return -1;
	def.copies = def.tells = -1;
	m->def[m->n_defs] = def;
	return m->n_defs++;
}

/* ---- operands ------------------------------------------------------------------------- */

static bool is_high_byte(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

/* Scalars are read and written at the low end of a vector register; these are not. */
static bool is_elsewhere(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_MOVHPS:
	case ZYDIS_MNEMONIC_MOVHPD:
	case ZYDIS_MNEMONIC_MOVLHPS:
	case ZYDIS_MNEMONIC_MOVHLPS:
	case ZYDIS_MNEMONIC_INSERTPS:
	case ZYDIS_MNEMONIC_PINSRB ... ZYDIS_MNEMONIC_PINSRW:
		return true;
	default:
		return false;
	}
}

uint64_t fl_effect_reg_bytes(uint8_t reg)
{
	if (reg >= DEC_REG_VEC && reg < DEC_REG_K)
		return ~UINT64_C(0);
	return reg < DEC_REG_FLAGS ? 0xff : reg == DEC_REG_FLAGS ? LOW(EFFECT_DF + 1) : 1;
}

static uint64_t read_bytes(const ZydisDecodedOperand *op, uint8_t reg)
{
	if (reg < DEC_GPRS)
		return is_high_byte(op->reg.value) ? 2 : LOW(op->size / 8);
	if (reg < DEC_REG_K)
		return LOW(
			ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, op->reg.value) /
			8);
	return reg < DEC_REG_FLAGS ? 0xff : 1;
}

/* Which bytes a write defines; what a 32-bit one, or a VEX one, clears with them. */
static uint64_t written_bytes(const struct making *m, const ZydisDecodedOperand *op,
			      uint8_t reg)
{
	if (reg < DEC_GPRS)
		return is_high_byte(op->reg.value) ? 2 :
		       op->size >= 32		   ? 0xff :
						     LOW(op->size / 8);
	if (reg < DEC_REG_K)
		return m->insn->is_vex				      ? ~UINT64_C(0) :
		       op->size >= 128 || is_elsewhere(m->d.mnemonic) ? 0xffff :
									LOW(op->size / 8);
	return reg < DEC_REG_FLAGS ? 0xff : 1;
}

static void add_register(struct making *m, int i)
{
	const ZydisDecodedOperand *op = &m->op[i];
	uint8_t reg = dec_insn_reg(op->reg.value);

	// Flags come one by one, below; mxcsr's sticky ones are nobody's value.
	if (reg >= DEC_REG_FLAGS || dec_insn_is_no_mask(op))
		return;
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_READ)
		m->use_of[i] =
			add_use(m, (struct effect_use){ .reg = reg,
							.bytes = read_bytes(op, reg) });
	if (op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
		m->def_of[i] = add_def(
			m, (struct effect_def){
				   .reg = reg,
				   .bytes = written_bytes(m, op, reg),
				   .is_maybe = (op->actions &
						ZYDIS_OPERAND_ACTION_CONDWRITE) ||
					       (reg >= DEC_REG_VEC && reg < DEC_REG_K &&
						is_elsewhere(m->d.mnemonic)) });
}

static void add_address(struct making *m, ZydisRegister zr, enum effect_why why)
{
	uint8_t reg = zr == ZYDIS_REGISTER_NONE ? DEC_REG_NONE : dec_insn_reg(zr);

	if (reg < DEC_GPRS)
		add_use(m, (struct effect_use){ .reg = reg, .why = why, .bytes = 0xff });
	else if (reg < DEC_REG_K)
		add_use(m, (struct effect_use){ .reg = reg, .why = why, .bytes = ~0ull });
}

/* The operand reads or writes no memory where it says: it computes an address, or hints. */
static bool is_access(const struct making *m, const ZydisDecodedOperand *op)
{
	return op->mem.type != ZYDIS_MEMOP_TYPE_AGEN && m->insn->n_mem;
}

static void add_operands(struct making *m)
{
	for (int i = 0; i < m->d.operand_count; i++) {
		const ZydisDecodedOperand *op = &m->op[i];
		bool is_value;

		m->use_of[i] = m->def_of[i] = -1;
		if (op->type == ZYDIS_OPERAND_TYPE_REGISTER)
			add_register(m, i);
		if (op->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		is_value = !is_access(m, op) && !m->insn->is_slow_addr;
		// leave reads through rbp, which Zydis names rsp.
		if (m->d.mnemonic == ZYDIS_MNEMONIC_LEAVE)
			add_address(m, ZYDIS_REGISTER_RBP, EFFECT_ADDRESS);
		else
			add_address(m, op->mem.base,
				    is_value ? EFFECT_VALUE : EFFECT_ADDRESS);
		add_address(m, op->mem.index, is_value ? EFFECT_VALUE : EFFECT_ADDRESS);
	}
	for (int i = 0; i < m->insn->n_mem; i++) {
		const struct dec_mem *mem = &m->insn->mem[i];

		if (mem->is_read)
			add_use(m, (struct effect_use){ .is_mem = true, .mem = i });
		if (mem->is_write)
			add_def(m, (struct effect_def){ .is_mem = true,
							.mem = i,
							.is_maybe =
								m->d.mnemonic ==
								ZYDIS_MNEMONIC_CMPXCHG });
	}
}

static uint64_t flag_bytes(uint32_t flags)
{
	static const uint8_t bit[] = {
		[EFFECT_CF] = 0, [EFFECT_PF] = 2,  [EFFECT_AF] = 4, [EFFECT_ZF] = 6,
		[EFFECT_SF] = 7, [EFFECT_OF] = 11, [EFFECT_DF] = 10
	};
	uint64_t bytes = 0;

	for (unsigned i = 0; i < sizeof(bit); i++)
		bytes |= (uint64_t)(flags >> bit[i] & 1) << i;
	return bytes;
}

static void add_flags(struct making *m)
{
	const ZydisAccessedFlags *f = m->d.cpu_flags;
	bool is_shift = m->d.meta.category == ZYDIS_CATEGORY_SHIFT ||
			m->d.meta.category == ZYDIS_CATEGORY_ROTATE;
	int count = m->d.operand_count_visible - 1;
	uint64_t read, written;

	if (!f)
		return;
	read = flag_bytes(f->tested);
	written = flag_bytes(f->modified | f->set_0 | f->set_1 | f->undefined);
	if (read)
		add_use(m, (struct effect_use){ .reg = DEC_REG_FLAGS, .bytes = read });
	// A shift by nothing leaves them, as does a repeat of nothing.
	if (written)
		add_def(m, (struct effect_def){
				   .reg = DEC_REG_FLAGS,
				   .bytes = written,
				   .is_maybe = m->insn->is_rep ||
					       (is_shift && count > 0 &&
						m->op[count].type ==
							ZYDIS_OPERAND_TYPE_REGISTER) });
}

/* What dec_insn knows of registers that are no operands: the x87, images of all. */
static void add_state(struct making *m)
{
	const struct dec_insn *insn = m->insn;
	bool is_image = dec_insn_saves(m->d.mnemonic) || dec_insn_restores(m->d.mnemonic);
	int first = is_image ? DEC_REG_VEC : DEC_REG_X87;
	uint64_t upper = m->d.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER ? ~UINT64_C(0xffff) :
								      ~UINT64_C(0);

	if (m->d.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER ||
	    m->d.mnemonic == ZYDIS_MNEMONIC_VZEROALL) {
		for (int v = 0; v < 16; v++)
			add_def(m, (struct effect_def){ .reg = DEC_REG_VEC + v,
							.bytes = upper });
		return;
	}
	for (int r = first; r <= DEC_REG_MXCSR; r++) {
		uint64_t bytes = r < DEC_REG_K	   ? ~UINT64_C(0) :
				 r < DEC_REG_FLAGS ? 0xff :
						     1;
		bool is_sticky = r == DEC_REG_MXCSR && !is_image &&
				 m->d.mnemonic != ZYDIS_MNEMONIC_LDMXCSR &&
				 m->d.mnemonic != ZYDIS_MNEMONIC_VLDMXCSR;

		if (r == DEC_REG_FLAGS)
			continue;
		if (insn->other_read >> (r - DEC_GPRS) & 1)
			add_use(m, (struct effect_use){ .reg = r, .bytes = bytes });
		if ((insn->other_written >> (r - DEC_GPRS) & 1) && !is_sticky)
			add_def(m, (struct effect_def){ .reg = r,
							.bytes = bytes,
							.is_maybe = is_image });
	}
}

/* ---- who feeds whom ------------------------------------------------------------------- */

static uint64_t uses_of_reg(const struct making *m, int reg)
{
	uint64_t from = 0;

	for (int i = 0; i < m->n_uses; i++)
		if (!m->use[i].is_mem && m->use[i].reg == reg)
			from |= UINT64_C(1) << i;
	return from;
}

static struct effect_def *def_of_reg(struct making *m, int reg)
{
	for (int i = 0; i < m->n_defs; i++)
		if (!m->def[i].is_mem && m->def[i].reg == reg)
			return &m->def[i];
	return NULL;
}

static int use_of_mem(const struct making *m, int mem)
{
	for (int i = 0; i < m->n_uses; i++)
		if (m->use[i].is_mem && m->use[i].mem == mem)
			return i;
	return -1;
}

static bool moves_stack(const struct making *m)
{
	switch (m->d.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_PUSHFQ:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_CALL:
	case ZYDIS_MNEMONIC_RET:
		return true;
	default:
		return false;
	}
}

/* The value of rsp behind it is of rsp alone, and all else of rsp as an address only. */
static void feed_stack(struct making *m)
{
	struct effect_def *rsp = def_of_reg(m, CAP_RSP);
	uint64_t old = 0;

	for (int i = 0; i < m->n_uses; i++)
		if (!m->use[i].is_mem && m->use[i].reg == CAP_RSP &&
		    m->use[i].why == EFFECT_VALUE)
			old |= UINT64_C(1) << i;
	// push rsp, pop rsp: its value is one that is moved, too.
	if (m->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    m->op[0].reg.value == ZYDIS_REGISTER_RSP)
		return;
	for (int i = 0; i < m->n_defs; i++)
		m->def[i].from &= ~old;
	if (rsp)
		rsp->from = old;
	// The return address is a constant.
	for (int i = 0; i < m->n_defs && m->d.mnemonic == ZYDIS_MNEMONIC_CALL; i++)
		if (m->def[i].is_mem)
			m->def[i].from = uses_of_reg(m, CAP_RSP) & ~old;
}

/* What its accesses need. */
static uint64_t addresses_of(const struct making *m)
{
	uint64_t all = 0;

	for (int i = 0; i < m->n_uses; i++)
		if (m->use[i].why == EFFECT_ADDRESS)
			all |= UINT64_C(1) << i;
	return all;
}

static void feed_exchange(struct making *m)
{
	uint64_t addresses = addresses_of(m);

	for (int i = 0; i < 2; i++) {
		bool is_mem = m->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY;
		int other = m->op[1 - i].type == ZYDIS_OPERAND_TYPE_MEMORY ?
				    use_of_mem(m, 0) :
				    m->use_of[1 - i];

		// xadd's first is a sum of both.
		if (other < 0 || (m->d.mnemonic == ZYDIS_MNEMONIC_XADD && !i))
			continue;
		for (int k = 0; k < m->n_defs; k++)
			if (is_mem ? m->def[k].is_mem : k == m->def_of[i])
				m->def[k].from = addresses | UINT64_C(1) << other;
	}
}

/* Pointers and counters of strings move on whatever is there; but there must be something, at both ends
 * of a move: a wrong pointer is a fault instead. */
static void feed_string(struct making *m)
{
	uint64_t addresses = addresses_of(m);
	uint64_t own = uses_of_reg(m, DEC_REG_FLAGS) | uses_of_reg(m, CAP_RCX) |
		       addresses;
	static const int pointers[] = { CAP_RSI, CAP_RDI };

	// Comparisons stop where they please.
	if (def_of_reg(m, DEC_REG_FLAGS))
		return;
	for (int i = 0; i < 2; i++) {
		struct effect_def *d = def_of_reg(m, pointers[i]);

		if (d)
			d->from = own | uses_of_reg(m, pointers[i]);
	}
	if (m->insn->is_rep && def_of_reg(m, CAP_RCX))
		def_of_reg(m, CAP_RCX)->from = uses_of_reg(m, CAP_RCX) | addresses;
}

/* Registers whose values do not matter: xor eax, eax; of EVEX without a mask, which is an operand then, too. */
static bool is_constant(const struct making *m)
{
	int n = m->d.operand_count_visible;
	const ZydisDecodedOperand *a = &m->op[n < 3 ? 0 : n - 2],
				  *b = &m->op[n < 2 ? 0 : n - 1];
	bool is_ones = m->d.mnemonic >= ZYDIS_MNEMONIC_PCMPEQB &&
		       m->d.mnemonic <= ZYDIS_MNEMONIC_PCMPEQW;

	if (n < 2 || n > 4 || (n == 4 && !dec_insn_is_no_mask(&m->op[1])) ||
	    m->insn->n_mem ||
	    (!is_ones && !dec_insn_is_zeroing(m->d.mnemonic) &&
	     m->d.mnemonic != ZYDIS_MNEMONIC_SBB))
		return false;
	return a->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       b->type == ZYDIS_OPERAND_TYPE_REGISTER && a->reg.value == b->reg.value;
}

/* Say of @p def that its first @p bytes bytes are those of use @p use. */
static void copy(struct effect_def *def, int use, int bytes)
{
	if (!def || use < 0 || bytes <= 0 || bytes > 64)
		return;
	def->copies = use;
	def->n_copied = bytes;
}

static struct effect_def *def_of_mem(struct making *m)
{
	for (int i = 0; i < m->n_defs; i++)
		if (m->def[i].is_mem)
			return &m->def[i];
	return NULL;
}

static bool is_move(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_MOV || mnemonic == ZYDIS_MNEMONIC_MOVZX ||
	       mnemonic == ZYDIS_MNEMONIC_MOVSX || mnemonic == ZYDIS_MNEMONIC_MOVSXD ||
	       dec_insn_is_vector_copy(mnemonic);
}

static void find_copies(struct making *m)
{
	const struct dec_insn *insn = m->insn;
	bool is_signed = m->d.mnemonic == ZYDIS_MNEMONIC_MOVSX ||
			 m->d.mnemonic == ZYDIS_MNEMONIC_MOVSXD;
	struct effect_def *def = m->def_of[0] >= 0 ? &m->def[m->def_of[0]] : NULL;

	if (insn->is_plain_load && def) {
		copy(def, use_of_mem(m, 0), insn->mem[0].size);
		def->is_signed = is_signed;
	} else if (insn->store_reg != DEC_REG_NONE && !insn->lane_bytes &&
		   def_of_mem(m)) {
		int i = m->d.mnemonic == ZYDIS_MNEMONIC_PUSH		 ? 0 :
			m->d.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ? 2 :
									   1;

		copy(def_of_mem(m), m->use_of[i], insn->mem[insn->n_mem - 1].size);
	} else if (!insn->n_mem && is_move(m->d.mnemonic) && def && m->use_of[1] >= 0 &&
		   !is_high_byte(m->op[0].reg.value) &&
		   !is_high_byte(m->op[1].reg.value)) {
		copy(def, m->use_of[1], m->op[1].size / 8);
		def->is_signed = is_signed;
	}
}

/* Does its result tell what it was made of? */
static bool is_one_to_one(const struct making *m)
{
	switch (m->d.mnemonic) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
	case ZYDIS_MNEMONIC_BSWAP:
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_XOR:
		return m->op[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
	case ZYDIS_MNEMONIC_LEA: // of one register, whole
		return m->n_uses == 1 && m->op[0].size == 64 && !m->insn->is_slow_addr &&
		       (m->op[1].mem.index == ZYDIS_REGISTER_NONE ||
			m->op[1].mem.scale == 1);
	default:
		return false;
	}
}

static void find_told(struct making *m)
{
	bool is_mem = m->op[0].type == ZYDIS_OPERAND_TYPE_MEMORY;
	struct effect_def *def = is_mem		   ? def_of_mem(m) :
				 m->def_of[0] >= 0 ? &m->def[m->def_of[0]] :
						     NULL;

	for (int i = 0; i < m->n_defs; i++) {
		m->def[i].tells = m->def[i].copies;
		m->def[i].n_told = m->def[i].n_copied;
	}
	if (!def || !is_one_to_one(m) || (!is_mem && is_high_byte(m->op[0].reg.value)))
		return;
	def->tells = m->d.mnemonic == ZYDIS_MNEMONIC_LEA ? 0 :
		     is_mem				 ? use_of_mem(m, 0) :
							   m->use_of[0];
	def->n_told = m->op[0].size / 8;
}

static void feed(struct making *m)
{
	for (int i = 0; i < m->n_defs; i++)
		m->def[i].from = LOW(m->n_uses);
	if (is_constant(m)) {
		uint64_t flags = m->d.mnemonic == ZYDIS_MNEMONIC_SBB ?
					 uses_of_reg(m, DEC_REG_FLAGS) :
					 0;

		for (int i = 0; i < m->n_defs; i++)
			m->def[i].from = flags;
		return;
	}
	if (moves_stack(m))
		feed_stack(m);
	else if (m->d.mnemonic == ZYDIS_MNEMONIC_LEAVE && def_of_reg(m, CAP_RSP))
		def_of_reg(m, CAP_RSP)->from = uses_of_reg(m, CAP_RBP);
	else if (m->d.mnemonic == ZYDIS_MNEMONIC_XCHG ||
		 m->d.mnemonic == ZYDIS_MNEMONIC_XADD)
		feed_exchange(m);
	else if (m->insn->is_string)
		feed_string(m);
	find_copies(m);
	find_told(m);
}

/* ---- branches, saved registers ----------------------------------------------------------- */

static uint64_t controls(const struct making *m)
{
	uint64_t all = LOW(m->n_uses);

	switch (m->insn->flow) {
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
		return all;
	case DEC_FLOW_CALL_IND:
		for (int i = 0; i < m->n_uses; i++)
			if (!m->use[i].is_mem && m->use[i].reg == CAP_RSP)
				all &= ~(UINT64_C(1) << i);
		return all;
	default:
		return 0;
	}
}

static bool is_preserved(uint8_t reg)
{
	return reg == CAP_RBX || reg == CAP_RBP || (reg >= 12 && reg <= 15);
}

/* push rbx, mov [rbp-8], rbx; pop rbx, mov rbx, [rbp-8], leave. */
static void find_saves(const struct making *m, struct effect *e)
{
	const struct dec_insn *insn = m->insn;
	const struct dec_mem *mem = insn->n_mem == 1 ? &insn->mem[0] : NULL;

	if (!mem || mem->size != 8 || mem->index != DEC_REG_NONE || mem->is_absolute ||
	    (mem->base != CAP_RSP && mem->base != CAP_RBP))
		return;
	if (insn->store_reg != DEC_REG_NONE && is_preserved(insn->store_reg)) {
		e->is_save = true;
		e->saved = insn->store_reg;
	}
	for (int i = 0; i < m->n_defs && mem->is_read && !mem->is_write; i++) {
		bool is_load = m->def[i].copies >= 0 ||
			       m->d.mnemonic == ZYDIS_MNEMONIC_LEAVE;

		if (m->def[i].is_mem || !is_preserved(m->def[i].reg) || !is_load)
			continue;
		e->is_restore = true;
		e->saved = m->def[i].reg;
	}
}

struct effect *fl_effect_of(const struct dec_insn *insn)
{
	struct making m = { .insn = insn };
	struct effect *e;
	size_t uses, defs;

	// The kernel and the processor's tables define what these do.
	if (dec_insn_zydis(insn->bytes, insn->len, &m.d, m.op) &&
	    insn->flow < DEC_FLOW_SYSCALL) {
		add_operands(&m);
		add_flags(&m);
		add_state(&m);
		feed(&m);
	} else if (insn->flow >= DEC_FLOW_TSC && insn->flow <= DEC_FLOW_RANDOM) {
		for (int r = 0; r < DEC_GPRS; r++)
			if (insn->gpr_written >> r & 1)
				add_def(&m,
					(struct effect_def){ .reg = r, .bytes = 0xff });
		add_flags(&m);
	}
	uses = m.n_uses * sizeof(*m.use);
	defs = m.n_defs * sizeof(*m.def);
	e = calloc(1, sizeof(*e) + uses + defs);
	if (!e)
		return NULL;
	e->n_uses = m.n_uses;
	e->n_defs = m.n_defs;
	e->def = (struct effect_def *)(e + 1);
	e->use = (struct effect_use *)((char *)(e + 1) + defs);
	memcpy(e->def, m.def, defs);
	memcpy(e->use, m.use, uses);
	for (int i = 0; i < m.n_defs; i++)
		e->regs |= m.def[i].is_mem ? 0 : UINT64_C(1) << m.def[i].reg;
	e->control = controls(&m);
	find_saves(&m, e);
	return e;
}
