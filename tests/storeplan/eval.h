// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A judge's arithmetic: what an instruction that storeplan/ calls exact makes of values,
 * and how it is undone, written down a second time and without a look at the plan.
 */
#ifndef TESTS_STOREPLAN_EVAL_H
#define TESTS_STOREPLAN_EVAL_H

#include <Zydis/Zydis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "storeplan/sp_steps.h"

struct val {
	uint64_t lo, hi;
};

struct eval {
	const struct sp_insn *insn;
	const struct sp_step *step;
	ZydisDecodedInstruction d;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
	/** The value of a location; before the instruction, or (undoing) behind it. */
	struct val (*get)(void *ctx, int location);
	/** Constant memory. */
	void (*constant)(void *ctx, uint64_t addr, uint8_t *to, size_t size);
	void *ctx;
	uint64_t bias; ///< between addresses in the file and in the run
};

#define F_CF 1u
#define F_PF 4u
#define F_ZF 0x40u
#define F_SF 0x80u
#define F_OF 0x800u

static inline void eval_impossible(const struct eval *e, const char *what)
{
	fprintf(stderr, "the judge has no rule for %s at %#llx (%s)\n",
		ZydisMnemonicGetString(e->d.mnemonic), (unsigned long long)e->insn->at,
		what);
	exit(3);
}

static inline uint64_t cut(uint64_t v, unsigned bits)
{
	return bits >= 64 ? v : v & ((1ull << bits) - 1);
}

static inline int64_t extend(uint64_t v, unsigned bits)
{
	return bits >= 64 ? (int64_t)v : (int64_t)(v << (64 - bits)) >> (64 - bits);
}

static inline int location_of(ZydisRegister r)
{
	ZydisRegister whole =
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);

	if (ZydisRegisterGetClass(whole) == ZYDIS_REGCLASS_GPR64)
		return ZydisRegisterGetId(whole);
	return SP_XMM + ZydisRegisterGetId(whole);
}

static inline bool is_high(ZydisRegister r)
{
	return r == ZYDIS_REGISTER_AH || r == ZYDIS_REGISTER_BH ||
	       r == ZYDIS_REGISTER_CH || r == ZYDIS_REGISTER_DH;
}

static inline uint64_t eval_agen(const struct eval *e, const ZydisDecodedOperand *op)
{
	uint64_t a = op->mem.disp.value;

	if (op->mem.base == ZYDIS_REGISTER_RIP)
		return a + e->insn->at + e->insn->len + e->bias;
	if (op->mem.base != ZYDIS_REGISTER_NONE)
		a += e->get(e->ctx, location_of(op->mem.base)).lo;
	if (op->mem.index != ZYDIS_REGISTER_NONE)
		a += e->get(e->ctx, location_of(op->mem.index)).lo * op->mem.scale;
	return a;
}

static inline int memory_number(const struct eval *e, const ZydisDecodedOperand *op)
{
	int n = 0;

	for (const ZydisDecodedOperand *o = e->op; o < op; o++)
		n += o->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		     o->mem.type != ZYDIS_MEMOP_TYPE_AGEN;
	return n;
}

static inline struct val eval_operand(const struct eval *e, int n)
{
	const ZydisDecodedOperand *op = &e->op[n];
	struct val v = {};

	switch (op->type) {
	case ZYDIS_OPERAND_TYPE_IMMEDIATE:
		v.lo = op->imm.value.u;
		return v;
	case ZYDIS_OPERAND_TYPE_REGISTER:
		v = e->get(e->ctx, location_of(op->reg.value));
		if (location_of(op->reg.value) < SP_GPRS)
			v.lo = cut(is_high(op->reg.value) ? v.lo >> 8 : v.lo, op->size);
		return v;
	case ZYDIS_OPERAND_TYPE_MEMORY: {
		int m = memory_number(e, op);

		if (op->mem.type == ZYDIS_MEMOP_TYPE_AGEN) {
			v.lo = eval_agen(e, op);
			return v;
		}
		if (e->step->slot[m] != SP_NONE)
			v = e->get(e->ctx, e->step->slot[m]);
		else
			e->constant(e->ctx, e->insn->mem[m].disp, (uint8_t *)&v,
				    e->insn->mem[m].size);
		if (op->size <= 64)
			v = (struct val){ cut(v.lo, op->size), 0 };
		return v;
	}
	default:
		eval_impossible(e, "operand");
		return v;
	}
}

static inline unsigned result_flags(uint64_t r, unsigned bits)
{
	return (cut(r, bits) ? 0 : F_ZF) | (r >> (bits - 1) & 1 ? F_SF : 0) |
	       (__builtin_parity(r & 0xff) ? 0 : F_PF);
}

static inline bool condition(unsigned cc, uint64_t f)
{
	bool cf = f & F_CF, zf = f & F_ZF, sf = f & F_SF, of = f & F_OF, pf = f & F_PF;
	const bool table[8] = { of, cf, zf, cf || zf, sf, pf, sf != of, zf || sf != of };

	return table[cc >> 1] ^ (cc & 1);
}

/** The instruction's result for its first operand, cut to that operand's size; and its
 * flags. */
static inline struct val eval_result(const struct eval *e, uint64_t *flags)
{
	unsigned bits = e->op[0].size;
	struct val a = {}, b = {}, r = {};
	uint64_t f = 0;

#define A() (a = eval_operand(e, 0))
#define B() (b = eval_operand(e, 1))
	switch (e->d.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVDQU:
		r = B();
		break;
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
		r.lo = cut(B().lo, bits < e->op[1].size ? bits : e->op[1].size);
		if (e->d.mnemonic == ZYDIS_MNEMONIC_MOVD ||
		    e->d.mnemonic == ZYDIS_MNEMONIC_MOVSS)
			r.lo = cut(r.lo, 32);
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		r.lo = extend(B().lo, e->op[1].size);
		break;
	case ZYDIS_MNEMONIC_ADD:
		A(), B();
		r.lo = cut(a.lo + b.lo, bits);
		b.lo = cut(b.lo, bits);
		f = result_flags(r.lo, bits) | (r.lo < a.lo ? F_CF : 0) |
		    ((~(a.lo ^ b.lo) & (a.lo ^ r.lo)) >> (bits - 1) & 1 ? F_OF : 0);
		break;
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_CMP:
		if (e->op[0].type == e->op[1].type &&
		    e->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    e->op[0].reg.value == e->op[1].reg.value) {
			f = F_ZF | F_PF;
			break;
		}
		A(), B();
		b.lo = cut(b.lo, bits);
		r.lo = cut(a.lo - b.lo, bits);
		f = result_flags(r.lo, bits) | (a.lo < b.lo ? F_CF : 0) |
		    (((a.lo ^ b.lo) & (a.lo ^ r.lo)) >> (bits - 1) & 1 ? F_OF : 0);
		break;
	case ZYDIS_MNEMONIC_NEG:
		A();
		r.lo = cut(-a.lo, bits);
		f = result_flags(r.lo, bits) | (a.lo ? F_CF : 0) |
		    ((a.lo & r.lo) >> (bits - 1) & 1 ? F_OF : 0);
		break;
	case ZYDIS_MNEMONIC_NOT:
		r.lo = ~A().lo;
		break;
	case ZYDIS_MNEMONIC_INC:
		r.lo = A().lo + 1;
		break;
	case ZYDIS_MNEMONIC_DEC:
		r.lo = A().lo - 1;
		break;
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_TEST:
		A(), B();
		r.lo = cut(a.lo & b.lo, bits);
		f = result_flags(r.lo, bits);
		break;
	case ZYDIS_MNEMONIC_OR:
		A(), B();
		r.lo = cut(a.lo | b.lo, bits);
		f = result_flags(r.lo, bits);
		break;
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
		if (e->op[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    e->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    e->op[0].reg.value == e->op[1].reg.value) {
			f = F_ZF | F_PF;
			break;
		}
		A(), B();
		r = (struct val){ a.lo ^ b.lo, a.hi ^ b.hi };
		if (bits <= 64) {
			r.lo = cut(r.lo, bits);
			f = result_flags(r.lo, bits);
		}
		break;
	case ZYDIS_MNEMONIC_SHL:
		r.lo = A().lo << (B().lo & (bits == 64 ? 63 : 31));
		break;
	case ZYDIS_MNEMONIC_SHR:
		r.lo = A().lo >> (B().lo & (bits == 64 ? 63 : 31));
		break;
	case ZYDIS_MNEMONIC_SAR:
		r.lo = extend(A().lo, bits) >> (B().lo & (bits == 64 ? 63 : 31));
		break;
	case ZYDIS_MNEMONIC_IMUL:
		r.lo = e->d.operand_count_visible == 3 ? B().lo * eval_operand(e, 2).lo :
							 A().lo * B().lo;
		break;
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
		r.lo = extend(e->get(e->ctx, 0).lo, bits / 2);
		break;
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		r.lo = extend(e->get(e->ctx, 0).lo, bits) >> 63;
		break;
	case ZYDIS_MNEMONIC_PUNPCKLQDQ:
		r.lo = A().lo;
		r.hi = B().lo;
		break;
	default:
		if (e->d.meta.category == ZYDIS_CATEGORY_SETCC)
			r.lo = condition(e->d.opcode & 15, e->get(e->ctx, SP_FLAGS).lo);
		else if (e->d.meta.category == ZYDIS_CATEGORY_CMOV)
			r = condition(e->d.opcode & 15, e->get(e->ctx, SP_FLAGS).lo) ?
				    B() :
				    A();
		else
			eval_impossible(e, "result");
	}
	if (flags)
		*flags = f;
	if (bits <= 64)
		r = (struct val){ cut(r.lo, bits), 0 };
	return r;
}

/** By how much a string instruction moves its pointers. */
static inline uint64_t string_bytes(const struct eval *e)
{
	uint64_t n = e->insn->is_rep ? e->get(e->ctx, 1).lo : 1;

	return n * e->insn->mem[0].size;
}

static inline bool is_string_move(const struct eval *e)
{
	return e->d.meta.category == ZYDIS_CATEGORY_STRINGOP;
}

/** What location @p l holds behind the instruction. */
static inline struct val eval_forward(const struct eval *e, int l)
{
	const ZydisDecodedOperand *op = &e->op[0];
	struct val r, old;
	uint64_t flags;

	if (is_string_move(e))
		return (struct val){ l == 1 ? 0 : e->get(e->ctx, l).lo + string_bytes(e),
				     0 };
	switch (e->d.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
		if (l == CAP_RSP)
			return (struct val){ e->get(e->ctx, l).lo - 8, 0 };
		return eval_operand(e, 0);
	case ZYDIS_MNEMONIC_POP:
		if (l == CAP_RSP)
			return (struct val){ e->get(e->ctx, l).lo + 8, 0 };
		return e->get(e->ctx, e->step->slot[0]);
	case ZYDIS_MNEMONIC_LEAVE:
		return (struct val){ e->get(e->ctx, CAP_RBP).lo + 8, 0 };
	case ZYDIS_MNEMONIC_XCHG:
		if (e->op[0].size < 32)
			eval_impossible(e, "narrow exchange");
		return eval_operand(e, location_of(e->op[0].reg.value) == l ? 1 : 0);
	default:
		break;
	}
	r = eval_result(e, &flags);
	if (l == SP_FLAGS)
		return (struct val){ flags, 0 };
	if (l >= SP_SLOT || l >= SP_XMM || op->size >= 32 ||
	    op->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return r;
	old = e->get(e->ctx, l);
	if (is_high(op->reg.value))
		r.lo = (old.lo & ~0xff00ull) | r.lo << 8;
	else
		r.lo = (old.lo & ~cut(~0ull, op->size)) | r.lo;
	return r;
}

/** What location @p l held before it; get() says what is behind it. */
static inline struct val eval_backward(const struct eval *e, int l)
{
	const ZydisDecodedOperand *op = &e->op[0];
	struct val r = {}, dst = {};

	if (is_string_move(e))
		return (struct val){ e->get(e->ctx, l).lo - e->insn->mem[0].size, 0 };
	if (e->d.mnemonic == ZYDIS_MNEMONIC_PUSH)
		return l == CAP_RSP ? (struct val){ e->get(e->ctx, l).lo + 8, 0 } :
				      e->get(e->ctx, e->step->slot[0]);
	if (e->d.mnemonic == ZYDIS_MNEMONIC_POP)
		return l == CAP_RSP ? (struct val){ e->get(e->ctx, l).lo - 8, 0 } :
				      e->get(e->ctx, location_of(op->reg.value));
	dst = e->get(e->ctx, op->type == ZYDIS_OPERAND_TYPE_REGISTER ?
				     location_of(op->reg.value) :
				     e->step->slot[0]);
	switch (e->d.mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		r.lo = dst.lo - e->op[1].mem.disp.value;
		return r;
	case ZYDIS_MNEMONIC_ADD:
		r.lo = dst.lo - eval_operand(e, 1).lo;
		return r;
	case ZYDIS_MNEMONIC_SUB:
		r.lo = dst.lo + eval_operand(e, 1).lo;
		return r;
	case ZYDIS_MNEMONIC_XOR:
		r.lo = dst.lo ^ eval_operand(e, 1).lo;
		return r;
	case ZYDIS_MNEMONIC_INC:
		r.lo = dst.lo - 1;
		return r;
	case ZYDIS_MNEMONIC_DEC:
		r.lo = dst.lo + 1;
		return r;
	case ZYDIS_MNEMONIC_NEG:
		r.lo = -dst.lo;
		return r;
	case ZYDIS_MNEMONIC_NOT:
		r.lo = ~dst.lo;
		return r;
	default: // copies
		return dst;
	}
}

#endif
