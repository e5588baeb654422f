// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From a register, a stack slot or a static address at one instruction to the variable
 * that DWARF says lives there.
 */
#include <dwarf.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/symbols_int.h"

#define MAX_ROWS 64 // kinds of rows in the call frame information of a function

/* DWARF's register number to ours, or -1. */
static int reg_of(unsigned dwarf_reg)
{
	// System V psABI, figure 3.36: the first eight are not in encoding order.
	static const int low[8] = { CAP_RAX, CAP_RDX, CAP_RCX, CAP_RBX,
				    CAP_RSI, CAP_RDI, CAP_RBP, CAP_RSP };

	if (dwarf_reg < 8)
		return low[dwarf_reg];
	return dwarf_reg < CAP_GPRS ? (int)dwarf_reg : -1;
}

int dec_sym_op_reg(const Dwarf_Op *op)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return reg_of(op->atom - DW_OP_reg0);
	return op->atom == DW_OP_regx ? reg_of((unsigned)op->number) : -1;
}

int dec_sym_op_breg(const Dwarf_Op *op, int64_t *disp)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*disp = (int64_t)op->number;
		return reg_of(op->atom - DW_OP_breg0);
	}
	if (op->atom == DW_OP_bregx) {
		*disp = (int64_t)op->number2;
		return reg_of((unsigned)op->number);
	}
	return -1;
}

Dwarf_Frame *dec_sym_frame(struct dec_sym_unit *u, uint64_t pc, uint64_t *bias)
{
	Dwarf_CFI *cfi = dwfl_module_eh_cfi(u->mod, bias);
	Dwarf_Frame *frame = NULL;

	if (!cfi)
		cfi = dwfl_module_dwarf_cfi(u->mod, bias);
	return cfi && !dwarf_cfi_addrframe(cfi, pc - *bias, &frame) ? frame : NULL;
}

/* The CFA at @p pc as register + *@p disp, and so until *@p end. @return -1: unknown. */
static int cfa_until(struct dec_sym_unit *u, uint64_t pc, int64_t *disp, uint64_t *end)
{
	Dwarf_Addr bias, start, next;
	Dwarf_Frame *frame = dec_sym_frame(u, pc, &bias);
	bool is_signal;
	Dwarf_Op *ops;
	size_t n;
	int reg = -1;

	*end = pc + 1;
	if (!frame)
		return -1;
	if (dwarf_frame_cfa(frame, &ops, &n) == 0 && n == 1)
		reg = dec_sym_op_breg(&ops[0], disp);
	if (dwarf_frame_info(frame, &start, &next, &is_signal) >= 0 && next + bias > pc)
		*end = next + bias;
	free(frame);
	return reg;
}

int dec_sym_cfa_at(struct dec_sym_unit *u, uint64_t pc, int64_t *disp)
{
	uint64_t end;

	return cfa_until(u, pc, disp, &end);
}

/* How far the CFA is from rsp where line information has @p function's prologue end. @return 0: it does not say, or there is
 * no frame yet, as where the function may return without one. */
static int64_t framed_size(struct dec_sym_unit *u, Dwarf_Die *function)
{
	Dwarf_Addr *ends = NULL;
	int64_t disp = 0;
	int reg = -1;

	if (dwarf_entry_breakpoints(function, &ends) > 0)
		reg = dec_sym_cfa_at(u, ends[0] + u->debug_bias, &disp);
	free(ends);
	return reg == CAP_RSP && disp > 8 ? disp : 0;
}

/* .. in most of its code, but for what has no frame yet: in the rest arguments were pushed for a call, but that is
 * most of what checks much. @return 0: nowhere. */
static int64_t usual_size(struct dec_sym_unit *u, Dwarf_Die *function)
{
	struct {
		int64_t disp;
		uint64_t bytes;
	} rows[MAX_ROWS], *most = NULL;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	int n = 0, i;

	while ((at = dwarf_ranges(function, at, &base, &lo, &hi)) > 0) {
		uint64_t end;

		for (uint64_t pc = lo + u->debug_bias; pc < hi + u->debug_bias;
		     pc = end) {
			int64_t disp = 0;

			if (cfa_until(u, pc, &disp, &end) != CAP_RSP || disp <= 8)
				continue;
			for (i = 0; i < n && rows[i].disp != disp; i++)
				;
			if (i == MAX_ROWS)
				continue;
			if (i == n)
				rows[n++] = (typeof(*rows)){ .disp = disp };
			rows[i].bytes += end - pc;
		}
	}
	for (i = 0; i < n; i++)
		if (!most || rows[i].bytes > most->bytes)
			most = &rows[i];
	return most ? most->disp : 0;
}

/* clang: the frame base is rsp itself, but does not mean what it is while arguments are pushed. */
static int64_t pushed_at(struct dec_sym_unit *u, Dwarf_Die *function, uint64_t pc)
{
	int64_t disp;

	if (dec_sym_cfa_at(u, pc, &disp) != CAP_RSP)
		return 0;
	if (u->framed != function->addr) {
		u->framed = function->addr;
		u->frame_size = framed_size(u, function);
		if (!u->frame_size)
			u->frame_size = usual_size(u, function);
	}
	return u->frame_size && disp > u->frame_size ? disp - u->frame_size : 0;
}

int dec_sym_frame_base(struct dec_sym_unit *u, Dwarf_Die *function, uint64_t pc,
		       int64_t *disp)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;
	int reg;

	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) ||
	    dwarf_getlocation_addr(&attr, pc - u->debug_bias, &ops, &n, 1) != 1 || n != 1)
		return -1;
	if (ops[0].atom == DW_OP_call_frame_cfa)
		return dec_sym_cfa_at(u, pc, disp);
	reg = dec_sym_op_reg(&ops[0]); // clang: the frame base is rbp itself
	if (reg < 0)
		return dec_sym_op_breg(&ops[0], disp);
	*disp = reg == CAP_RSP ? pushed_at(u, function, pc) : 0;
	return reg;
}

/** @return whether an object of @p bytes at register @p reg + @p at covers the slot. */
static bool covers_slot(const struct dec_sym_spot *spot, int reg, int64_t at,
			uint64_t bytes, uint64_t *distance)
{
	if (spot->kind != DEC_SPOT_STACK || reg != spot->reg || spot->disp < at)
		return false;
	*distance = (uint64_t)(spot->disp - at);
	return *distance < bytes;
}

bool dec_sym_op_addr(Dwarf_Attribute *location, const Dwarf_Op *op, uint64_t *ret)
{
	Dwarf_Attribute attr;

	if (op->atom == DW_OP_addr) {
		*ret = op->number;
		return true;
	}
	return op->atom == DW_OP_addrx &&
	       dwarf_getlocation_attr(location, op, &attr) == 0 &&
	       dwarf_formaddr(&attr, ret) == 0;
}

/** @return whether location @p ops, of an object of @p bytes, covers @p spot. */
static bool covers(struct dec_sym_unit *u, Dwarf_Die *function, uint64_t pc,
		   Dwarf_Attribute *location, const Dwarf_Op *ops, size_t n,
		   uint64_t bytes, const struct dec_sym_spot *spot, uint64_t *distance)
{
	int64_t disp = 0;
	uint64_t addr;
	int reg;

	*distance = 0;
	if (n == 2 && ops[1].atom == DW_OP_stack_value && spot->kind == DEC_SPOT_REG)
		return dec_sym_op_breg(&ops[0], &disp) == spot->reg && disp == 0;
	if (n != 1)
		return false;
	switch (ops[0].atom) {
	case DW_OP_fbreg:
		reg = function ? dec_sym_frame_base(u, function, pc, &disp) : -1;
		return reg >= 0 && covers_slot(spot, reg, disp + (int64_t)ops[0].number,
					       bytes, distance);
	case DW_OP_addr:
	case DW_OP_addrx:
		if (spot->kind != DEC_SPOT_GLOBAL ||
		    !dec_sym_op_addr(location, &ops[0], &addr) ||
		    spot->addr < addr + u->debug_bias)
			return false;
		*distance = spot->addr - (addr + u->debug_bias);
		return *distance < bytes;
	default:
		reg = dec_sym_op_breg(&ops[0], &disp);
		if (reg >= 0)
			return covers_slot(spot, reg, disp, bytes, distance);
		return spot->kind == DEC_SPOT_REG && dec_sym_op_reg(&ops[0]) == spot->reg;
	}
}

/** Look for the spot among the variables that are children of @p scope. */
static bool find_in_scope(struct dec_sym_unit *u, Dwarf_Die *scope, Dwarf_Die *function,
			  uint64_t pc, const struct dec_sym_spot *spot, Dwarf_Die *type,
			  uint64_t *distance)
{
	Dwarf_Die die;

	if (dwarf_child(scope, &die) != 0)
		return false;
	do {
		int tag = dwarf_tag(&die);
		Dwarf_Attribute attr;
		Dwarf_Word bytes;
		Dwarf_Op *ops;
		size_t n;

		if (tag != DW_TAG_variable && tag != DW_TAG_formal_parameter)
			continue;
		if (!dwarf_attr_integrate(&die, DW_AT_location, &attr) ||
		    dwarf_getlocation_addr(&attr, pc - u->debug_bias, &ops, &n, 1) != 1 ||
		    !dec_sym_type_of(&die, type, NULL) ||
		    dwarf_aggregate_size(type, &bytes))
			continue;
		if (covers(u, function, pc, &attr, ops, n, bytes, spot, distance))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Keep the variables that are children of @p cu and have one place. */
static bool add_statics(struct dec_sym_unit *u, Dwarf_Die *cu)
{
	const void *last = NULL;
	Dwarf_Die die;
	bool is_any = dwarf_child(cu, &die) == 0;

	for (; is_any && dec_sym_is_next(&die, &last);
	     is_any = dwarf_siblingof(&die, &die) == 0) {
		struct dec_sym_static one;
		Dwarf_Attribute attr;
		Dwarf_Word bytes;
		Dwarf_Op *ops;
		size_t n;

		if (dwarf_tag(&die) != DW_TAG_variable ||
		    !dwarf_attr_integrate(&die, DW_AT_location, &attr) ||
		    dwarf_getlocation(&attr, &ops, &n) || n != 1 ||
		    !dec_sym_op_addr(&attr, &ops[0], &one.addr) ||
		    !dec_sym_type_of(&die, &one.type, NULL) ||
		    dwarf_aggregate_size(&one.type, &bytes))
			continue;
		one.addr += u->debug_bias;
		one.size = bytes;
		if (vec_add(&u->statics, one))
			return false;
	}
	return true;
}

/* The first variable of the unit outside of functions that covers @p addr. Thousands are asked for,
 * and there are thousands: they are read once. */
static bool static_at(struct dec_sym_unit *u, uint64_t addr, Dwarf_Die *type,
		      uint64_t *distance)
{
	const struct dec_sym_static *found;

	for (size_t i = 0; i < u->cus.size && !u->has_statics; i++)
		if (!add_statics(u, &u->cus.data[i].die))
			break;
	u->has_statics = true;
	found = vec_find(&u->statics, v, addr - v->addr < v->size);
	if (!found)
		return false;
	*type = found->type;
	*distance = addr - found->addr;
	return true;
}

bool dec_sym_var_at(struct dec_sym_unit *u, uint64_t pc, const struct dec_sym_spot *spot,
		    Dwarf_Die *type, uint64_t *distance)
{
	struct dec_sym_scopes sc;

	dec_sym_unit_scopes(u, pc, &sc);
	for (int i = sc.n; i > 0; i--) {
		if (find_in_scope(u, &sc.die[i - 1], &sc.die[0], pc, spot, type,
				  distance))
			return true;
	}
	if (spot->kind != DEC_SPOT_GLOBAL)
		return false;
	return static_at(u, spot->addr, type, distance);
}
