// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Straight-line sequences that do not fault: before an instance, `mov reg, imm64` lets its
 * operands lie in the scratch memory, and what must not be random (a divisor, a control
 * word, a repeat count) is set. The added instructions are part of the test.
 */
#ifndef TESTS_CPU_BUILD_H
#define TESTS_CPU_BUILD_H

#include <assert.h>
#include <cpuid.h>

#include "tests/decode/cpu_forms.h"
#include "tests/decode/cpu_native.h"

#define SEQ_STEPS 512

struct seq_step {
	uint16_t at;
	uint8_t len;
	bool is_rep, is_pushf;
	int item; ///< which of the caller's instances; -1: added
	/** Where in memory it leaves pointers that cpu_loses_pointers() tells of: addresses. */
	uint64_t pointers, pointers_end;
};

struct seq {
	uint8_t bytes[CPU_CODE_BYTES / 2];
	size_t size;
	struct seq_step step[SEQ_STEPS];
	int n_steps;
	uint64_t *seed;
};

/* What one instance needs. */
struct seq_needs {
	bool is_set[16];
	uint64_t value[16];
	int64_t disp; ///< new displacement, when has_disp
	bool has_disp, is_rip;
	uint64_t target;  ///< of its last memory operand
	uint32_t word[4]; ///< first words there, when n_words
	int n_words;
	int index_vec; ///< vector register to load with small indices; -1
	bool has_q_index;
};

static inline void seq_add(struct seq *s, const void *bytes, int len, int item)
{
	struct seq_step *step = &s->step[s->n_steps++];

	assert(s->n_steps < SEQ_STEPS && s->size + len + 16 < sizeof(s->bytes));
	*step = (struct seq_step){ .at = s->size, .len = len, .item = item };
	memcpy(s->bytes + s->size, bytes, len);
	s->size += len;
}

static inline uint32_t seq_below(struct seq *s, uint32_t n)
{
	return (cpu_random(s->seed) >> 33) % n;
}

static inline int seq_gpr(ZydisRegister r)
{
	ZydisRegister full =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	return ZydisRegisterGetClass(full) == ZYDIS_REGCLASS_GPR64 ?
		       ZydisRegisterGetId(full) :
		       -1;
}

static inline void needs_reg(struct seq_needs *n, int reg, uint64_t value)
{
	if (reg < 0 || n->is_set[reg])
		return;
	n->is_set[reg] = true;
	n->value[reg] = value;
}

/* Where an operand shall lie: whole vectors must be aligned, integers need not be, but
 * a locked one stays within a cache line. */
static inline uint64_t seq_target(struct seq *s, const ZydisDecodedInstruction *d,
				  const ZydisDecodedOperand *ops)
{
	uint64_t at = CPU_MIDDLE + 64 * seq_below(s, 32);

	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
		return CPU_IMAGES;
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FLDENV:
		return CPU_IMAGES + 0xc00;
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		return at;
	default:
		break;
	}
	for (int i = 0; i < d->operand_count; i++) {
		if (ops[i].size > 64 && ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return at;
		if (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    seq_gpr(ops[i].reg.value) < 0 &&
		    ZydisRegisterGetClass(ops[i].reg.value) != ZYDIS_REGCLASS_FLAGS)
			return at;
	}
	return at + (seq_below(s, 3) ? 0 : seq_below(s, 56));
}

static inline void needs_mem(struct seq *s, struct seq_needs *n,
			     const ZydisDecodedInstruction *d,
			     const ZydisDecodedOperand *ops,
			     const ZydisDecodedOperand *op)
{
	uint64_t target = seq_target(s, d, ops), want;
	int base = seq_gpr(op->mem.base), index = seq_gpr(op->mem.index);
	int64_t disp = op->mem.disp.value;
	bool is_fs = op->mem.segment == ZYDIS_REGISTER_FS ||
		     op->mem.segment == ZYDIS_REGISTER_GS;

	n->target = target;
	if (op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && base == CAP_RSP) {
		if (d->mnemonic == ZYDIS_MNEMONIC_LEAVE)
			base = CAP_RBP;
		n->target = CPU_STACK + 8 * seq_below(s, 16);
		needs_reg(n, base, n->target);
		return;
	}
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		n->index_vec = ZydisRegisterGetId(op->mem.index);
		n->has_q_index = strchr(ZydisMnemonicGetString(d->mnemonic), 'q') != NULL;
		needs_reg(n, base, target - disp);
		return;
	}
	if (op->mem.base == ZYDIS_REGISTER_RIP) {
		n->is_rip = true;
		return;
	}
	want = is_fs ? target - CPU_MIDDLE : target;
	if (base < 0 && index < 0) {
		// A thread's own data lies where the displacement says, if that is near.
		n->has_disp = !is_fs || disp < -0x800 || disp > 0x1000;
		n->disp = want;
		if (!n->has_disp)
			n->target = CPU_FS + disp;
		return;
	}
	if (base < 0) {
		uint64_t i = seq_below(s, 16);

		needs_reg(n, index, i);
		n->has_disp = true;
		n->disp = want - n->value[index] * op->mem.scale;
		return;
	}
	if (base == index) {
		uint64_t times = 1 + op->mem.scale;

		// The nearest aligned address that this sum can make.
		for (int i = 0; i < 64 * 9 && (want - disp) % times; i++)
			want += op->size > 64 ? 64 : 1;
		needs_reg(n, base, (want - disp) / times);
		return;
	}
	if (index >= 0)
		needs_reg(n, index, (int64_t)seq_below(s, 32) - (is_fs ? 0 : 16));
	// Strings that overlap.
	if (base == CAP_RDI && n->is_set[CAP_RSI] && !seq_below(s, 3))
		want = n->value[CAP_RSI] + seq_below(s, 33) - 16;
	needs_reg(n, base,
		  want - disp - (index >= 0 ? n->value[index] * op->mem.scale : 0));
}

static inline void needs_words(struct seq_needs *n, uint32_t a, int count)
{
	n->word[0] = a;
	n->n_words = count;
}

/* Operands that would trap, or never be equal. */
static inline void needs_operands(struct seq *s, struct seq_needs *n,
				  const ZydisDecodedInstruction *d,
				  const ZydisDecodedOperand *ops, uint32_t some)
{
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_DIV:
	case ZYDIS_MNEMONIC_IDIV:
		if (ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER)
			needs_reg(n, seq_gpr(ops[0].reg.value), some | 0x0101);
		else
			needs_words(n, some | 1, 1);
		needs_reg(n, CAP_RAX, seq_below(s, 128));
		needs_reg(n, CAP_RDX, 0);
		break;
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER)
			needs_reg(n, seq_gpr(ops[1].reg.value),
				  (int64_t)seq_below(s, 16384) - 8192);
		break;
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_CMPXCHG8B:
	case ZYDIS_MNEMONIC_CMPXCHG16B:
		if (seq_below(s, 2))
			break;
		needs_reg(n, CAP_RAX, some);
		needs_reg(n, CAP_RDX, 0);
		if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
			needs_words(n, some, ops[0].size < 32 ? 1 : ops[0].size / 32);
		else
			needs_reg(n, seq_gpr(ops[0].reg.value), some);
		break;
	default:
		break;
	}
}

/* Values of control registers: not each is allowed. */
static inline void needs_control(struct seq *s, struct seq_needs *n,
				 const ZydisDecodedInstruction *d,
				 const ZydisDecodedOperand *ops, uint32_t some)
{
	if (dec_insn_saves(d->mnemonic) == DEC_INSN_IMAGE_EXTENDED ||
	    dec_insn_restores(d->mnemonic) == DEC_INSN_IMAGE_EXTENDED) {
		needs_reg(n, CAP_RAX, seq_below(s, 2) ? 0xee : some & 0xe7);
		needs_reg(n, CAP_RDX, 0);
	}
	switch (d->mnemonic) {
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		needs_words(n, 0x1f80 | (some & 0xe03f), 1);
		break;
	case ZYDIS_MNEMONIC_FLDCW:
		needs_words(n, 0x007f | (some & 0xf00), 1);
		break;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		needs_words(n, 0x202 | (some & CPU_FLAGS), 1);
		break;
	case ZYDIS_MNEMONIC_RDPKRU:
	case ZYDIS_MNEMONIC_XGETBV:
		needs_reg(n, CAP_RCX, 0);
		break;
	case ZYDIS_MNEMONIC_WRPKRU:
		needs_reg(n, CAP_RAX, some & ~3u);
		needs_reg(n, CAP_RCX, 0);
		needs_reg(n, CAP_RDX, 0);
		break;
	case ZYDIS_MNEMONIC_WRGSBASE:
		needs_reg(n, seq_gpr(ops[0].reg.value), CPU_GS + 8 * seq_below(s, 8));
		break;
	case ZYDIS_MNEMONIC_WRFSBASE:
		needs_reg(n, seq_gpr(ops[0].reg.value), CPU_FS + 8 * seq_below(s, 8));
		break;
	case ZYDIS_MNEMONIC_ENTER:
		needs_reg(n, CAP_RBP, CPU_STACK);
		break;
	default:
		break;
	}
}

/* What must not be left to chance. */
static inline void needs_special(struct seq *s, struct seq_needs *n,
				 const ZydisDecodedInstruction *d,
				 const ZydisDecodedOperand *ops)
{
	uint32_t some = seq_below(s, 0x7fffffff);

	if (d->attributes &
	    (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE))
		needs_reg(n, CAP_RCX, seq_below(s, 12));
	needs_operands(s, n, d, ops, some);
	needs_control(s, n, d, ops, some);
}

static inline void seq_add_mov(struct seq *s, int reg, uint64_t value)
{
	uint8_t b[10] = { 0x48 | reg >> 3, 0xb8 | (reg & 7) };

	memcpy(b + 2, &value, 8);
	seq_add(s, b, sizeof(b), -1);
}

/* vmovdqu32 zmm (EVEX) or vmovdqu ymm (VEX), from the constants: indices -8..7. */
static inline void seq_add_indices(struct seq *s, const struct seq_needs *n, bool is_evex)
{
	uint64_t from = CPU_CONST + (n->has_q_index ? 64 : 0) + 128 * seq_below(s, 4);
	int v = n->index_vec, len = is_evex ? 10 : 8;
	int32_t rel = from - (CPU_CODE + s->size + len);
	uint8_t evex[10] = {
		0x62, 0x61 | (v < 8 || (v >= 16 && v < 24)) << 7 | (v < 16) << 4,
		0x7e, 0x48,
		0x6f, 5 | (v & 7) << 3
	};
	uint8_t vex[8] = { 0xc5, 0x7e | (v < 8) << 7, 0x6f, 5 | (v & 7) << 3 };

	memcpy((is_evex ? evex : vex) + len - 4, &rel, 4);
	seq_add(s, is_evex ? evex : vex, len, -1);
}

/** Addresses, operand and opcode of the last x87 instruction. AMD's processors keep them only
 * while an exception is pending, and forget them when a state is restored, which any interrupt
 * does (APM volume 2, 11.4.4): nothing can be compared with them there. */
static inline bool cpu_loses_pointers(void)
{
	static int loses = -1;
	uint32_t a, b, c, d;

	if (loses < 0) {
		__cpuid(0, a, b, c, d);
		loses = b != signature_INTEL_ebx;
	}
	return loses;
}

/* Where @p d, which saves an image at @p target, leaves them. They are zeroed right behind it,
 * before anything reads them. */
static inline void seq_drop_pointers(struct seq *s, const ZydisDecodedInstruction *d,
				     uint64_t target)
{
	bool is_x87 = dec_insn_saves(d->mnemonic) == DEC_INSN_IMAGE_X87;
	uint32_t from = is_x87 && d->operand_width != 16 ? 12 : 6;
	uint32_t to = !is_x87 ? 24 : d->operand_width == 16 ? 14 : 28;
	struct seq_step *step = &s->step[s->n_steps - 1];

	step->pointers = target + from;
	step->pointers_end = target + to;
	for (uint32_t at = from; at < to; at += 2) {
		// mov word [disp32], 0
		uint8_t b[10] = { 0x66, 0xc7, 0x04, 0x25 };
		uint32_t addr = target + at;

		memcpy(b + 4, &addr, 4);
		seq_add(s, b, sizeof(b), -1);
	}
}

/** Append @p bytes, an instance, with what it needs before it. */
static inline void seq_add_instance(struct seq *s, const uint8_t *bytes, int len,
				    int item)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct seq_needs n = { .index_vec = -1 };
	ZydisDecodedInstruction d;
	struct seq_step *step;
	uint8_t *at;

	if (!forms_decode(bytes, len, &d, ops))
		abort();
	for (int i = 0; i < d.operand_count; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			needs_mem(s, &n, &d, ops, &ops[i]);
	}
	needs_special(s, &n, &d, ops);
	for (int i = 0; i < n.n_words; i++) {
		uint8_t b[11] = { 0xc7, 0x04, 0x25 }; // mov dword [disp32], imm32
		uint32_t to = n.target + 4 * i;

		memcpy(b + 3, &to, 4);
		memcpy(b + 7, &n.word[i], 4);
		seq_add(s, b, sizeof(b), -1);
	}
	if (n.index_vec >= 0)
		seq_add_indices(s, &n, d.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX);
	for (int r = 0; r < 16; r++) {
		if (n.is_set[r])
			seq_add_mov(s, r, n.value[r]);
	}
	if (n.is_rip) {
		n.has_disp = true;
		n.disp = n.target - (CPU_CODE + s->size + len);
	}
	seq_add(s, bytes, len, item);
	step = &s->step[s->n_steps - 1];
	at = s->bytes + step->at;
	if (n.has_disp && d.raw.disp.size >= 32)
		memcpy(at + d.raw.disp.offset, &n.disp, d.raw.disp.size / 8);
	step->is_rep = d.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
				       ZYDIS_ATTRIB_HAS_REPNE);
	step->is_pushf = d.mnemonic == ZYDIS_MNEMONIC_PUSHF ||
			 d.mnemonic == ZYDIS_MNEMONIC_PUSHFQ;
	if (dec_insn_saves(d.mnemonic) != DEC_INSN_IMAGE_NONE && cpu_loses_pointers())
		seq_drop_pointers(s, &d, n.target);
}

#endif
