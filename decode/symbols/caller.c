// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From a call under way to the one around it, as a table of call frame information has it: enough for one who walks
 * the stack of compiled code often, and has no room for DWARF.
 */
#include <dwarf.h>

#include "decode/symbols/symbols_int.h"

// DWARF's numbers (psABI, figure 3.36).
enum { DWARF_RBP = 6, DWARF_RETURN = 16 };

enum kept {
	KEPT_BELOW,   ///< the caller's rsp
	KEPT_AS_IS,   ///< in the register
	KEPT_NOWHERE, ///< there is none
	KEPT_OTHERWISE,
};

/* Where the caller's @p reg is; @p words: how far below its rsp. */
static enum kept kept(Dwarf_Frame *frame, int reg, uint8_t *words)
{
	Dwarf_Op *ops, some[3];
	size_t n;
	int64_t bytes;

	*words = 0;
	if (dwarf_frame_register(frame, reg, some, &ops, &n))
		return KEPT_OTHERWISE;
	if (!n)
		return ops ? KEPT_NOWHERE : KEPT_AS_IS;
	if (n != 2 || ops[0].atom != DW_OP_call_frame_cfa ||
	    ops[1].atom != DW_OP_plus_uconst)
		return KEPT_OTHERWISE;
	bytes = -(int64_t)ops[1].number;
	*words = bytes / 8;
	return bytes > 0 && bytes == 8 * *words ? KEPT_BELOW : KEPT_OTHERWISE;
}

static bool read_frame(Dwarf_Frame *frame, struct dec_caller *ret)
{
	uint8_t returns;
	enum kept rbp = kept(frame, DWARF_RBP, &ret->rbp_words),
		  where = kept(frame, DWARF_RETURN, &returns);
	Dwarf_Op *ops;
	size_t n;
	int reg;

	ret->is_none = where == KEPT_NOWHERE;
	if (ret->is_none)
		return true;
	if (where != KEPT_BELOW || returns != 1 || rbp > KEPT_AS_IS ||
	    dwarf_frame_cfa(frame, &ops, &n) || n != 1)
		return false;
	reg = dec_sym_op_breg(&ops[0], &ret->bytes);
	ret->reg = reg;
	return reg == CAP_RSP || reg == CAP_RBP;
}

bool dec_symbols_caller(struct dec_symbols *s, uint64_t return_rip,
			struct dec_caller *ret)
{
	const struct dec_sym_mapping *m = dec_sym_mapping_of(s, return_rip - 1);
	struct dec_caller caller = {};
	Dwarf_Frame *frame = NULL;
	uint64_t bias;
	bool is_known;

	if (m && m->unit->mod)
		frame = dec_sym_frame(m->unit, return_rip - 1 - m->bias, &bias);
	if (!frame)
		return false;
	is_known = read_frame(frame, &caller);
	free(frame);
	if (is_known)
		*ret = caller;
	return is_known;
}
