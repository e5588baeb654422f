// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What an instance of an instruction used and defined, as a set of numbers (paper 003, Figure 2.1):
 * integers with their sign, and floating-point numbers as integers of the same order. Addresses
 * mean nothing in other runs, and are left out.
 */
#include <string.h>

#include "decode/x86/zydis.h"
#include "suppress-hw/rank/rank_int.h"

#define SETS_MAX (1u << 18)

/* Of the bytes of a number, in the order of what they stand for. */
static int64_t ordered(const uint8_t *bytes, uint32_t size, bool is_float)
{
	uint64_t v = 0;
	int shift = 64 - 8 * (int)size;
	int64_t n;

	memcpy(&v, bytes, size);
	n = (int64_t)(v << shift) >> shift;
	return is_float && n < 0 ? INT64_MIN - n : n;
}

static const struct dec_ref *ref_of(const struct dec_step *step,
				    const struct rank_operand *o)
{
	for (size_t i = 0; i < step->n_refs; i++) {
		const struct dec_ref *r = &step->refs[i];

		if (r->is_def == o->is_def && r->is_mem == o->is_mem && r->has_value &&
		    (o->is_mem || r->reg == o->reg))
			return r;
	}
	return NULL;
}

static bool is_number(const ZydisDecodedOperand *op, uint32_t *size, bool *is_float)
{
	*is_float = op->element_type == ZYDIS_ELEMENT_TYPE_FLOAT32 ||
		    op->element_type == ZYDIS_ELEMENT_TYPE_FLOAT64;
	*size = (*is_float ? op->element_size : op->size) / 8;
	return *size == 1 || *size == 2 || *size == 4 || *size == 8;
}

/** A set that is being made. */
struct making {
	const struct dec_step *step;
	struct rank_set *set;
	struct rank_operands *operands;
	uint8_t n_uses;
};

static void put(struct making *m, uint8_t role, int64_t value, uint32_t size,
		bool is_float)
{
	if (role >= RANK_ROLES || m->set->has & 1u << role ||
	    (!is_float && rank_is_address((uint64_t)value, (uint8_t)size)))
		return;
	m->set->has |= 1u << role;
	m->set->value[role] = value;
}

static uint8_t next_use(struct making *m)
{
	uint8_t role = RANK_USE1 + m->n_uses++;

	return role < RANK_ROLES ? role : RANK_ROLES;
}

static void add(struct making *m, const ZydisDecodedOperand *op, bool is_def)
{
	bool is_mem = op->type == ZYDIS_OPERAND_TYPE_MEMORY, is_float;
	struct rank_operand o = { .is_mem = is_mem, .is_def = is_def };
	const struct dec_ref *ref;
	uint32_t size;

	o.reg = is_mem ? DEC_REG_NONE : dec_insn_reg(op->reg.value);
	o.role = is_def ? RANK_DEF : next_use(m);
	if (!is_number(op, &size, &is_float) || (!is_mem && o.reg >= DEC_REG_K) ||
	    (!is_mem && o.reg == CAP_RSP))
		return;
	ref = ref_of(m->step, &o);
	if (ref && ref->size >= size)
		put(m, o.role, ordered(ref->value, size, is_float), size, is_float);
	if (m->operands->n < RANK_OPERANDS)
		m->operands->of[m->operands->n++] = o;
}

static void add_use(struct making *m, const ZydisDecodedOperand *op)
{
	if (op->type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		put(m, next_use(m), op->imm.value.s, 8, false);
	else if (op->type == ZYDIS_OPERAND_TYPE_MEMORY ||
		 op->type == ZYDIS_OPERAND_TYPE_REGISTER)
		add(m, op, false);
}

/* What is loaded is a use, what is stored a definition: there is nothing to compare in a copy. */
static bool is_copy(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_MOV || m == ZYDIS_MNEMONIC_MOVZX ||
	       m == ZYDIS_MNEMONIC_MOVSX || m == ZYDIS_MNEMONIC_MOVSXD ||
	       m == ZYDIS_MNEMONIC_MOVSD || m == ZYDIS_MNEMONIC_MOVSS ||
	       m == ZYDIS_MNEMONIC_MOVQ || m == ZYDIS_MNEMONIC_MOVD;
}

static void add_copy(struct making *m, const ZydisDecodedOperand *ops)
{
	if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY)
		add(m, &ops[0], true);
	else if (ops[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
		add(m, &ops[1], false);
	else if (ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE)
		put(m, RANK_DEF, ops[1].imm.value.s, 8, false);
}

/* `test r, r' compares with 0. */
static bool is_test(const ZydisDecodedInstruction *d, const ZydisDecodedOperand *ops)
{
	return d->mnemonic == ZYDIS_MNEMONIC_TEST &&
	       ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       ops[0].reg.value == ops[1].reg.value;
}

static void add_all(struct making *m, const ZydisDecodedInstruction *d,
		    const ZydisDecodedOperand *ops)
{
	for (int i = 0; i < d->operand_count; i++)
		if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ &&
		    ops[i].visibility != ZYDIS_OPERAND_VISIBILITY_HIDDEN) {
			add_use(m, &ops[i]);
			if (is_test(d, ops)) {
				put(m, next_use(m), 0, 8, false);
				return;
			}
		}
	for (int i = 0; i < d->operand_count; i++)
		if (ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY ||
		     (ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		      dec_insn_reg(ops[i].reg.value) < DEC_REG_K))) {
			add(m, &ops[i], true);
			return;
		}
}

void rank_set_make(const struct dec_step *step, uint32_t instruction,
		   struct rank_set *ret, struct rank_operands *operands)
{
	struct making m = { step, ret, operands, 0 };
	ZydisDecodedInstruction d;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];

	*ret = (struct rank_set){ .instruction = instruction };
	operands->n = 0;
	if (step->insn->flow != DEC_FLOW_NEXT ||
	    !dec_insn_zydis(step->insn->bytes, step->insn->len, &d, ops))
		return;
	if (is_copy(d.mnemonic))
		add_copy(&m, ops);
	else if (d.mnemonic != ZYDIS_MNEMONIC_PUSH && d.mnemonic != ZYDIS_MNEMONIC_POP &&
		 d.mnemonic != ZYDIS_MNEMONIC_LEA)
		add_all(&m, &d, ops);
}

uint8_t rank_set_role(const struct rank_operands *operands, bool is_def, bool is_mem,
		      uint8_t reg)
{
	for (size_t i = 0; i < operands->n; i++) {
		const struct rank_operand *o = &operands->of[i];

		if (o->is_def == is_def && o->is_mem == is_mem &&
		    (is_mem || o->reg == reg))
			return o->role;
	}
	return RANK_ROLES;
}

struct err *rank_set_keep(struct rank_session *s, const struct rank_set *set,
			  uint32_t *ret)
{
	uint64_t h = CAP_SIGNATURE_SEED;
	const uint64_t *known;
	struct rank_set *made;

	h = (h ^ ((uint64_t)set->instruction << 16 | set->has << 2 | set->is_failed << 1 |
		  set->is_branch)) *
	    CAP_SIGNATURE_PRIME;
	for (int i = 0; i < RANK_ROLES; i++) {
		h = (h ^ (uint64_t)set->value[i]) * CAP_SIGNATURE_PRIME;
		h ^= h >> 29;
	}
	*ret = UINT32_MAX;
	known = map_get(&s->set_of, h);
	if (known) {
		*ret = *known;
		return NULL;
	}
	if (s->ret->sets.size >= SETS_MAX)
		return NULL;
	made = vec_push(&s->ret->sets);
	if (!made || map_put(&s->set_of, h, s->ret->sets.size - 1))
		return &err_nomem;
	*made = *set;
	*ret = s->ret->sets.size - 1;
	return NULL;
}
