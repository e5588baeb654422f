// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One instruction at a time: where the result of an allocation goes, and of which type the
 * place is. Operand forms are those that gcc and clang make of assignments.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/flow.h"

/* ---- operands ---------------------------------------------------------------------- */

/** The number of general register @p r of any width, or -1. */
static int gpr_of(ZydisRegister r)
{
	uint8_t n = dec_insn_gpr(r);

	return n == DEC_REG_NONE ? -1 : n;
}

/** Is @p m on the stack? With an index, in an array that begins at @p ret. */
static bool is_on_stack(const ZydisDecodedOperandMem *m, struct dec_sym_spot *ret)
{
	if (m->base != ZYDIS_REGISTER_RBP && m->base != ZYDIS_REGISTER_RSP)
		return false;
	*ret = (struct dec_sym_spot){ .kind = DEC_SPOT_STACK,
				      .reg = gpr_of(m->base),
				      .disp = m->disp.has_displacement ? m->disp.value :
									 0 };
	return true;
}

static bool is_stack_slot(const ZydisDecodedOperandMem *m, struct dec_sym_spot *ret)
{
	return m->index == ZYDIS_REGISTER_NONE && is_on_stack(m, ret);
}

/** The address operand @p m as a value, as far as it is known. */
static struct flow_value address_of(const struct flow_path *p, uint64_t next,
				    const ZydisDecodedOperandMem *m)
{
	int64_t disp = m->disp.has_displacement ? m->disp.value : 0;
	struct flow_value v = { 0 };

	if (m->base == ZYDIS_REGISTER_RIP)
		return (struct flow_value){ .has_addr = true,
					    .addr = next + (uint64_t)disp };
	if (m->segment == ZYDIS_REGISTER_FS || m->segment == ZYDIS_REGISTER_GS)
		return v;
	if (m->base == ZYDIS_REGISTER_NONE) {
		// Non-PIE: [0x404060], or table[i] as [0x404060 + i*8]; not [i*8 + 0].
		v.has_addr = disp >= 0x10000;
	} else if (gpr_of(m->base) >= 0) {
		v = p->reg[gpr_of(m->base)];
		// [i*8 + table] and [table + i*8] are the same at scale 1.
		if (!v.has_type && !v.has_addr && m->scale == 1 && gpr_of(m->index) >= 0)
			v = p->reg[gpr_of(m->index)];
		v.is_result = false;
	}
	v.addr += (uint64_t)disp;
	v.off += disp;
	v.has_index |= m->index != ZYDIS_REGISTER_NONE;
	return v;
}

/** The type of the pointer or scalar that lies at address @p at. */
static bool type_at(struct dec_sym_unit *u, uint64_t pc, const struct flow_value *at,
		    Dwarf_Die *ret)
{
	Dwarf_Die object = at->to;
	uint64_t distance = (uint64_t)at->off;
	bool in_array;

	if (at->has_addr) {
		struct dec_sym_spot spot = { .kind = DEC_SPOT_GLOBAL, .addr = at->addr };

		// A loop that steps before it stores: *p++ = malloc(n).
		if (at->has_index && at->off < 0)
			spot.addr -= (uint64_t)at->off;

		if (!dec_sym_var_at(u, pc, &spot, &object, &distance))
			return false;
	} else if (!at->has_type || (at->off < 0 && !at->has_index)) {
		return false;
	}
	if (dec_sym_part_at(&object, distance, ret, &in_array) &&
	    (in_array || !at->has_index))
		return true;
	// x->child[i] with the array's offset folded into i.
	return at->has_index && dec_sym_only_pointer_array(&object, ret);
}

/** The type of the 8 bytes that operand @p m names. */
static bool type_of_operand(struct dec_sym_unit *u, const struct flow_path *p,
			    uint64_t next, const ZydisDecodedOperandMem *m,
			    Dwarf_Die *ret)
{
	struct dec_sym_spot spot;
	struct flow_value at;

	if (is_on_stack(m, &spot)) {
		Dwarf_Die type;
		uint64_t distance;
		bool in_array;

		if (dec_sym_var_at(u, p->pc, &spot, &type, &distance))
			return dec_sym_part_at(&type, distance, ret, &in_array) &&
			       (in_array || m->index == ZYDIS_REGISTER_NONE);
	}
	at = address_of(p, next, m);
	return type_at(u, p->pc, &at, ret);
}

/* ---- one instruction ------------------------------------------------------------------ */

static int find_slot(const struct flow_path *p, const struct dec_sym_spot *spot)
{
	for (int i = 0; i < p->n_slots; i++) {
		if (p->slot[i].reg == spot->reg && p->slot[i].disp == spot->disp)
			return i;
	}
	return -1;
}

static void drop_slot(struct flow_path *p, int i)
{
	p->slot[i] = p->slot[--p->n_slots];
}

/** mov [m], reg: the result is kept somewhere, or a slot that kept it is overwritten. */
static void step_store(struct dec_sym_unit *u, struct flow_path *p, uint64_t next,
		       const ZydisDecodedOperandMem *m, bool is_result, flow_note_fn note,
		       void *ctx)
{
	struct dec_sym_spot spot;
	Dwarf_Die type;

	if (is_stack_slot(m, &spot)) {
		int i = find_slot(p, &spot);

		if (i >= 0 && !is_result)
			drop_slot(p, i);
		else if (i < 0 && is_result && p->n_slots < SLOTS_MAX)
			p->slot[p->n_slots++] = spot;
	}
	if (is_result && type_of_operand(u, p, next, m, &type))
		note(ctx, &type);
}

/** mov reg, [m]: what the register holds now. */
static struct flow_value step_load(struct dec_sym_unit *u, struct flow_path *p,
				   uint64_t next, const ZydisDecodedOperandMem *m)
{
	struct flow_value v = { 0 };
	struct dec_sym_spot spot;
	Dwarf_Die type;

	if (is_stack_slot(m, &spot) && find_slot(p, &spot) >= 0)
		v.is_result = true;
	if (type_of_operand(u, p, next, m, &type) &&
	    dwarf_tag(&type) == DW_TAG_pointer_type)
		v.has_type = dec_sym_type_of(&type, &v.to, NULL);
	return v;
}

/** What a register knows when its variable, in place since before the call, is asked. */
static void learn_base(struct dec_sym_unit *u, struct flow_path *p,
		       const ZydisDecodedOperandMem *m)
{
	int r = m->base == ZYDIS_REGISTER_NONE ? -1 : gpr_of(m->base);
	struct dec_sym_spot spot = { .kind = DEC_SPOT_REG, .reg = r };
	uint64_t distance;
	Dwarf_Die type;

	if (r < 0 || p->reg[r].has_type || p->reg[r].has_addr || p->reg[r].is_result ||
	    !dec_sym_var_at(u, p->pc, &spot, &type, &distance) ||
	    dwarf_tag(&type) != DW_TAG_pointer_type)
		return;
	p->reg[r].off = 0;
	p->reg[r].has_type = dec_sym_type_of(&type, &p->reg[r].to, NULL);
}

/** Forget every register that the instruction writes. */
static void step_clobber(struct flow_path *p, const ZydisDecodedInstruction *in,
			 const ZydisDecodedOperand *ops)
{
	for (int i = 0; i < in->operand_count; i++) {
		int r;

		if (ops[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
		    !(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		r = gpr_of(ops[i].reg.value);
		if (r < 0)
			continue;
		p->reg[r] = (struct flow_value){ 0 };
		// Slots named by a register that moves are lost.
		for (int k = p->n_slots; k > 0; k--) {
			if (p->slot[k - 1].reg == r)
				drop_slot(p, k - 1);
		}
	}
}

/** add reg, x on a known address: still in the same object. */
static struct flow_value step_add(const struct flow_path *p,
				  const ZydisDecodedOperand *ops)
{
	struct flow_value v = p->reg[gpr_of(ops[0].reg.value)];

	v.is_result = false;
	if (ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		v.off += ops[1].imm.value.s;
		v.addr += (uint64_t)ops[1].imm.value.s;
		return v;
	}
	if (ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER && !v.has_type && !v.has_addr) {
		int other = gpr_of(ops[1].reg.value);

		// -O0 computes `index*8`, then adds the pointer to it.
		if (other >= 0)
			v = p->reg[other];
		v.is_result = false;
	}
	v.has_index = true;
	return v;
}

void dec_flow_step(struct dec_sym_unit *u, struct flow_path *p,
		   const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
		   flow_note_fn note, void *ctx)
{
	uint64_t next = p->pc + in->length;
	int dst = ops[0].type == ZYDIS_OPERAND_TYPE_REGISTER && ops[0].size == 64 ?
			  gpr_of(ops[0].reg.value) :
			  -1;
	struct flow_value v = { 0 };
	bool is_set = false;

	for (int i = 0; i < in->operand_count_visible; i++) {
		if (ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			learn_base(u, p, &ops[i].mem);
	}
	switch (in->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (ops[0].type == ZYDIS_OPERAND_TYPE_MEMORY) {
			int src = ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER ?
					  gpr_of(ops[1].reg.value) :
					  -1;

			step_store(u, p, next, &ops[0].mem,
				   src >= 0 && ops[0].size == 64 && p->reg[src].is_result,
				   note, ctx);
			return;
		}
		is_set = dst >= 0;
		if (is_set && ops[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
			v = step_load(u, p, next, &ops[1].mem);
		else if (is_set && ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
			 gpr_of(ops[1].reg.value) >= 0)
			v = p->reg[gpr_of(ops[1].reg.value)];
		break;
	case ZYDIS_MNEMONIC_LEA:
		is_set = dst >= 0;
		if (is_set)
			v = address_of(p, next, &ops[1].mem);
		break;
	case ZYDIS_MNEMONIC_ADD:
		is_set = dst >= 0;
		if (is_set)
			v = step_add(p, ops);
		break;
	default:
		break;
	}
	step_clobber(p, in, ops);
	if (is_set && dst != CAP_RSP)
		p->reg[dst] = v;
}

bool dec_flow_has_result(const struct flow_path *p)
{
	for (int r = 0; r < CAP_GPRS; r++) {
		if (p->reg[r].is_result)
			return true;
	}
	return p->n_slots > 0;
}

// rbx, rbp, rsp and r12 to r15 are the callee's to keep.
static bool is_preserved(int r)
{
	return r == CAP_RBX || r == CAP_RBP || r == CAP_RSP || r >= CAP_R12;
}

void dec_flow_call(struct flow_path *p)
{
	for (int r = 0; r < CAP_GPRS; r++)
		if (!is_preserved(r))
			p->reg[r] = (struct flow_value){ 0 };
}

/* ---- a function's registers --------------------------------------------------------------- */

/** lea reg, [rip + x]; mov reg, x; mov reg, another: which address does it get, if any? */
static void taken_address(const struct flow_kept *k, uint64_t pc,
			  const ZydisDecodedInstruction *in,
			  const ZydisDecodedOperand *ops, struct flow_event *ret)
{
	int from;

	ret->pc = pc;
	ret->addr = 0;
	if (in->mnemonic == ZYDIS_MNEMONIC_LEA && ops[1].mem.base == ZYDIS_REGISTER_RIP)
		ret->addr = pc + in->length + (uint64_t)ops[1].mem.disp.value;
	if (in->mnemonic != ZYDIS_MNEMONIC_MOV)
		return;
	if (ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && ops[1].imm.value.u >= 0x10000)
		ret->addr = ops[1].imm.value.u;
	from = ops[1].type == ZYDIS_OPERAND_TYPE_REGISTER && ops[1].size == 64 ?
		       gpr_of(ops[1].reg.value) :
		       -1;
	if (from >= 0 && k->now[from].addr) {
		ret->addr = k->now[from].addr;
		ret->pc = k->now[from].pc;
	}
}

/** add reg, x; sub reg, x; lea reg, [reg + x] */
static bool is_step(int r, const ZydisDecodedInstruction *in,
		    const ZydisDecodedOperand *ops)
{
	if (in->mnemonic == ZYDIS_MNEMONIC_LEA)
		return gpr_of(ops[1].mem.base) == r &&
		       ops[1].mem.index == ZYDIS_REGISTER_NONE;
	return (in->mnemonic == ZYDIS_MNEMONIC_ADD ||
		in->mnemonic == ZYDIS_MNEMONIC_SUB) &&
	       ops[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

static struct err *add_event(struct flow_kept *k, const struct flow_event *e)
{
	return vec_add(&k->events, *e);
}

struct err *dec_flow_keep(struct flow_kept *k, uint64_t pc,
			  const ZydisDecodedInstruction *in,
			  const ZydisDecodedOperand *ops, uint64_t target)
{
	struct flow_event e = { FLOW_BRANCH, 0, pc, target };
	struct err *err = NULL;

	if (target && in->meta.category != ZYDIS_CATEGORY_CALL)
		return add_event(k, &e);
	for (int i = 0; i < in->operand_count && !err; i++) {
		int r = ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER ?
				gpr_of(ops[i].reg.value) :
				-1;

		// What a push and a pop do to rsp, calls do, too.
		if (r < 0 || r == CAP_RSP ||
		    !(ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
			continue;
		e = (struct flow_event){ FLOW_LOSE, r, pc, 0 };
		if (i == 0)
			taken_address(k, pc, in, ops, &e);
		if (e.addr)
			e.kind = FLOW_SET;
		else if (i == 0 && is_step(r, in, ops))
			e.kind = FLOW_STEP;
		k->now[r].addr = e.addr;
		k->now[r].pc = e.pc;
		if (is_preserved(r))
			err = add_event(k, &e);
	}
	return err;
}

/** Is what @p set gave its register still there at @p at, but for steps, however the code
 * between them is come to? */
static bool is_kept(const struct flow_kept *k, const struct flow_event *set, uint64_t at,
		    bool *is_stepped)
{
	uint64_t lost = UINT64_MAX;

	*is_stepped = false;
	for (size_t i = k->events.size; i > 0; i--) {
		const struct flow_event *e = &k->events.data[i - 1];

		if (e->kind == FLOW_BRANCH || e->reg != set->reg || e == set)
			continue;
		*is_stepped |= e->kind == FLOW_STEP && e->pc > set->pc;
		if (e->kind != FLOW_STEP && e->pc >= at)
			lost = e->pc;
	}
	// Back from behind, where it may be another, or past what set it.
	return !vec_find(&k->events, e,
			 e->kind == FLOW_BRANCH && e->addr > set->pc && e->addr < at &&
				 (e->pc < set->pc || e->pc > lost));
}

void dec_flow_recall(struct flow_path *p, const struct flow_kept *k, uint64_t return_addr)
{
	const struct flow_event *last[CAP_GPRS] = { NULL };

	for (size_t i = 0; i < k->events.size && k->events.data[i].pc < return_addr; i++)
		if (k->events.data[i].kind == FLOW_SET ||
		    k->events.data[i].kind == FLOW_LOSE)
			last[k->events.data[i].reg] = &k->events.data[i];
	for (int r = 0; r < CAP_GPRS; r++) {
		struct flow_value *v = &p->reg[r];
		bool is_stepped;

		if (last[r] && last[r]->kind == FLOW_SET && !v->is_result &&
		    !v->has_type && !v->has_addr &&
		    is_kept(k, last[r], return_addr, &is_stepped))
			*v = (struct flow_value){ .has_addr = true,
						  .has_index = is_stepped,
						  .addr = last[r]->addr };
	}
}
