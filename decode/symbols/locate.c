// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * DWARF's location expressions, as far as compilers write them for variables of C and C++.
 */
#include <dwarf.h>
#include <string.h>

#include "decode/symbols/frame_int.h"

#define STACK_MAX 16

struct locator {
	const struct dec_sym_frame *at;
	Dwarf_Attribute *location;
	uint64_t stack[STACK_MAX];
	int n;
};

static bool push(struct locator *l, uint64_t value)
{
	if (l->n == STACK_MAX)
		return false;
	l->stack[l->n++] = value;
	return true;
}

/* What register @p reg (enum cap_gpr, -1: none of these) holds, plus @p disp. */
static bool push_reg(struct locator *l, int reg, int64_t disp)
{
	return reg >= 0 && push(l, l->at->frame->gpr[reg] + disp);
}

static bool push_frame_base(struct locator *l, int64_t disp)
{
	int64_t base = 0;
	int reg = l->at->function ? dec_sym_frame_base(l->at->unit, l->at->function,
						       l->at->pc, &base) :
				    -1;

	return push_reg(l, reg, base + disp);
}

/* What a register held when the function was entered, though it holds something else now. */
static bool push_entry(struct locator *l, const Dwarf_Op *op)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	int reg;

	if (!l->at->frame->has_entry || dwarf_getlocation_attr(l->location, op, &attr) ||
	    dwarf_getlocation(&attr, &ops, &n) || n != 1)
		return false;
	reg = dec_sym_op_reg(&ops[0]);
	return reg >= 0 && push(l, l->at->frame->entry[reg]);
}

static bool binary(struct locator *l, uint8_t atom)
{
	uint64_t b;

	if (l->n < 2)
		return false;
	b = l->stack[--l->n];
	switch (atom) {
	case DW_OP_plus:
		l->stack[l->n - 1] += b;
		return true;
	case DW_OP_minus:
		l->stack[l->n - 1] -= b;
		return true;
	case DW_OP_and:
		l->stack[l->n - 1] &= b;
		return true;
	case DW_OP_shl:
		l->stack[l->n - 1] <<= b & 63;
		return true;
	default:
		return false;
	}
}

static bool dereference(struct locator *l)
{
	const struct dec_frame *f = l->at->frame;

	return l->n && f->read(f->ctx, l->stack[l->n - 1], &l->stack[l->n - 1], 8);
}

static bool evaluate(struct locator *l, const Dwarf_Op *op)
{
	int64_t disp = 0;
	uint64_t addr;

	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return push(l, op->atom - DW_OP_lit0);
	if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		return push(l, op->number);
	switch (op->atom) {
	case DW_OP_fbreg:
		return push_frame_base(l, (int64_t)op->number);
	case DW_OP_call_frame_cfa: {
		int reg = dec_sym_cfa_at(l->at->unit, l->at->pc, &disp);

		return push_reg(l, reg, disp);
	}
	case DW_OP_addr:
	case DW_OP_addrx:
		return dec_sym_op_addr(l->location, op, &addr) &&
		       push(l, addr + l->at->unit->debug_bias + l->at->bias);
	case DW_OP_plus_uconst:
		return l->n && (l->stack[l->n - 1] += op->number, true);
	case DW_OP_entry_value:
	case DW_OP_GNU_entry_value:
		return push_entry(l, op);
	case DW_OP_deref:
		return dereference(l);
	case DW_OP_form_tls_address:
	case DW_OP_GNU_push_tls_address:
		return l->n && l->at->thread &&
		       (l->stack[l->n - 1] += l->at->thread, true);
	case DW_OP_nop:
		return true;
	default:
		if (dec_sym_op_breg(op, &disp) < 0)
			return binary(l, op->atom);
		if (l->at->is_stack_vague && dec_sym_op_breg(op, &disp) == CAP_RSP)
			return false;
		if (l->at->is_before_frame && dec_sym_op_breg(op, &disp) == CAP_RBP)
			return false;
		return push_reg(l, dec_sym_op_breg(op, &disp), disp);
	}
}

/* Where location @p attr, of @p ops, says that something is. */
static void locate_ops(const struct dec_sym_frame *at, Dwarf_Attribute *attr,
		       const Dwarf_Op *ops, size_t n, struct dec_sym_location *ret)
{
	struct locator l = { .at = at, .location = attr };

	*ret = (struct dec_sym_location){ .kind = DEC_SYM_NOWHERE };
	if (n == 1 && dec_sym_op_reg(&ops[0]) >= 0) {
		ret->reg = dec_sym_op_reg(&ops[0]);
		ret->value = at->frame->gpr[ret->reg];
		ret->kind = DEC_SYM_REG;
		return;
	}
	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom == DW_OP_stack_value && i + 1 == n) {
			ret->kind = l.n ? DEC_SYM_VALUE : DEC_SYM_NOWHERE;
			break;
		}
		if (!evaluate(&l, &ops[i]))
			return;
		if (i + 1 == n)
			ret->kind = l.n ? DEC_SYM_AT : DEC_SYM_NOWHERE;
	}
	ret->value = l.n ? l.stack[l.n - 1] : 0;
	// A value that is a register's, unchanged, is that register.
	if (ret->kind == DEC_SYM_VALUE && n == 2) {
		int64_t disp = 0;
		int reg = dec_sym_op_breg(&ops[0], &disp);

		if (reg >= 0 && !disp) {
			ret->kind = DEC_SYM_REG;
			ret->reg = reg;
		}
	}
}

void dec_sym_locate(const struct dec_sym_frame *at, Dwarf_Die *variable,
		    struct dec_sym_location *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	*ret = (struct dec_sym_location){ .kind = DEC_SYM_NOWHERE };
	if (dwarf_attr_integrate(variable, DW_AT_const_value, &attr)) {
		Dwarf_Sword value;

		if (dwarf_formsdata(&attr, &value) == 0)
			*ret = (struct dec_sym_location){ .kind = DEC_SYM_VALUE,
							  .value = (uint64_t)value };
		return;
	}
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, at->pc - at->unit->debug_bias, &ops, &n, 1) !=
		    1 ||
	    !n)
		return;
	locate_ops(at, &attr, ops, n, ret);
}

/* Read what is at @p l into @p buf. */
static bool read_at(const struct dec_frame *f, const struct dec_sym_location *l,
		    void *buf, size_t size)
{
	if (l->kind == DEC_SYM_AT)
		return f->read && f->read(f->ctx, l->value, buf, size);
	if (l->kind == DEC_SYM_NOWHERE || size > sizeof(l->value))
		return false;
	memcpy(buf, &l->value, size);
	return true;
}

bool dec_sym_read(const struct dec_sym_frame *at, Dwarf_Die *variable, void *buf,
		  size_t size)
{
	struct dec_sym_location l;
	Dwarf_Attribute attr;
	size_t n, from = 0, done = 0;
	Dwarf_Op *ops;

	dec_sym_locate(at, variable, &l);
	if (l.kind != DEC_SYM_NOWHERE)
		return read_at(at->frame, &l, buf, size);
	if (!dwarf_attr_integrate(variable, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, at->pc - at->unit->debug_bias, &ops, &n, 1) !=
		    1)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (ops[i].atom != DW_OP_piece)
			continue;
		if (ops[i].number > size - done)
			return false;
		locate_ops(at, &attr, ops + from, i - from, &l);
		if (!read_at(at->frame, &l, (char *)buf + done, ops[i].number))
			return false;
		done += ops[i].number;
		from = i + 1;
	}
	return done == size;
}
