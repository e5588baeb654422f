// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Local variables that are in registers, or now here and now there. DWARF says where they are by
 * address of the code, not when they change. So they are to be looked at where what DWARF says
 * changes, behind each instruction that writes to where it says they are, and wherever a jump
 * may come from somewhere else: in between they hold what they held.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#define LOG_ROOM "decode"
#include "decode/symbols/frame_int.h"
#include "decode/symbols/variable_int.h"
#include "decode/x86/insn.h"

// Of a function with more bytes of code nothing is looked at.
#define CODE_BYTES_MAX (1u << 20)

struct dec_var_moving {
	struct dec_sym_unit *unit;
	Dwarf_Die variable, function; ///< function: the concrete one
};

/** Where the variable is while the code runs at DWARF's [lo, hi). */
struct stretch {
	Dwarf_Addr lo, hi;
	uint16_t gprs;	///< it depends on them
	bool is_memory; ///< .. and on memory
};

struct looking {
	struct dec_var_path *p;
	Dwarf_Die *scope;
	struct dec_var_moving *moving;
	VEC(struct stretch) stretches;
	struct map targets; ///< of direct jumps
	bool has_switch;    ///< jumps go where only a register tells
	VEC(struct dec_insn) insns;
	uint64_t entry;
	int n; ///< sites
	dec_var_sites *ret;
};

/* ---- where it is ---------------------------------------------------------------------- */

static struct stretch stretch_of(Dwarf_Addr lo, Dwarf_Addr hi, const Dwarf_Op *ops,
				 size_t n)
{
	struct stretch s = { lo, hi, 0, n > 0 };
	int64_t disp;

	for (size_t i = 0; i < n; i++) {
		int reg = dec_sym_op_reg(&ops[i]);

		if (reg < 0)
			reg = dec_sym_op_breg(&ops[i], &disp);
		// The frame base moves only where what is said of the frame does.
		if (reg >= 0 && reg != CAP_RSP)
			s.gprs |= 1u << reg;
		if (dec_sym_op_reg(&ops[i]) >= 0 || ops[i].atom == DW_OP_stack_value)
			s.is_memory = false;
	}
	for (size_t i = 0; i < n; i++)
		s.is_memory |= ops[i].atom == DW_OP_deref || ops[i].atom == DW_OP_piece;
	return s;
}

/** What the location says, of the whole scope unless it is a list. */
static int find_stretches(struct looking *l)
{
	Dwarf_Addr base, lo, hi;
	Dwarf_Attribute attr;
	Dwarf_Op *ops = NULL;
	ptrdiff_t at = 0;
	size_t n = 0;

	if (dwarf_attr_integrate(&l->moving->variable, DW_AT_location, &attr) &&
	    dwarf_getlocation(&attr, &ops, &n) != 0) {
		while ((at = dwarf_getlocations(&attr, at, &base, &lo, &hi, &ops, &n)) >
		       0)
			if (n && vec_add(&l->stretches, stretch_of(lo, hi, ops, n)))
				return -1;
		return 0;
	}
	while ((at = dwarf_ranges(l->scope, at, &base, &lo, &hi)) > 0)
		if (vec_add(&l->stretches, stretch_of(lo, hi, ops, n)))
			return -1;
	return 0;
}

/** @return the first that holds @p pc, or NULL: it is nowhere. */
static const struct stretch *stretch_at(const struct looking *l, uint64_t pc)
{
	return vec_find(&l->stretches, s, pc >= s->lo && pc < s->hi);
}

/* ---- the code ------------------------------------------------------------------------- */

static int decode(struct looking *l, uint64_t lo, uint64_t hi)
{
	_cleanup_free_ uint8_t *bytes = hi - lo < CODE_BYTES_MAX ? malloc(hi - lo) : NULL;
	size_t n = bytes ? dec_sym_unit_read(l->p->unit, lo, bytes, hi - lo) : 0;

	for (size_t at = 0; at < n;) {
		struct dec_insn insn;

		if (!dec_insn_decode(bytes + at, n - at, lo + at, &insn))
			break;
		if (vec_add(&l->insns, insn))
			return -1;
		if ((insn.flow == DEC_FLOW_JMP || insn.flow == DEC_FLOW_JCC ||
		     insn.flow == DEC_FLOW_JRCX) &&
		    map_put(&l->targets, insn.target, 1))
			return -1;
		l->has_switch |= insn.flow == DEC_FLOW_JMP_IND;
		at += insn.len;
	}
	return 0;
}

static bool is_call(const struct dec_insn *i)
{
	return i->flow == DEC_FLOW_CALL || i->flow == DEC_FLOW_CALL_IND;
}

/** While a call is under way its return address less one is asked of: what the callee may
 * change is not there. */
static uint64_t asked_of(const struct dec_insn *i)
{
	return i->rip + (is_call(i) ? i->len - 1 : 0);
}

static bool may_write(const struct dec_insn *i, const struct stretch *s)
{
	if (i->gpr_written & s->gprs)
		return true;
	for (int m = 0; m < i->n_mem && s->is_memory; m++)
		if (i->mem[m].is_write)
			return true;
	return s->is_memory && (is_call(i) || i->is_slow_value);
}

/** Is it to be looked at before instruction @p i, behind @p before (NULL: elsewhere)? */
static bool is_look(const struct looking *l, const struct dec_insn *i,
		    const struct dec_insn *before)
{
	uint64_t bias = l->p->unit->debug_bias;
	const struct stretch *now = stretch_at(l, asked_of(i) - bias);

	if (!before || i->rip == l->entry || l->has_switch ||
	    map_get(&l->targets, i->rip))
		return true;
	return now != stretch_at(l, asked_of(before) - bias) ||
	       (now && may_write(before, now)) || before->flow == DEC_FLOW_JMP ||
	       before->flow == DEC_FLOW_RET || before->flow == DEC_FLOW_TRAP;
}

static int add_looks(struct looking *l)
{
	uint64_t bias = l->p->unit->debug_bias;

	for (size_t k = 0; k < l->insns.size; k++) {
		const struct dec_insn *i = &l->insns.data[k];
		const struct dec_insn *before = k ? i - 1 : NULL;
		struct dec_var_site site = { .unit = l->p->unit,
					     .addr = i->rip,
					     .moving = l->moving,
					     .pc = asked_of(i) };

		if (before && before->rip + before->len != i->rip)
			before = NULL;
		if (!is_look(l, i, before))
			continue;
		site.cfa_reg = dec_sym_cfa_at(l->p->unit, i->rip, &site.cfa_disp);
		if (site.cfa_reg < 0)
			continue;
		site.is_entry = i->rip == l->entry;
		site.is_within = dwarf_haspc(l->scope, site.pc - bias) == 1;
		if (vec_add(l->ret, site))
			return -1;
		l->n++;
	}
	return 0;
}

static int look_through(struct looking *l)
{
	uint64_t bias = l->p->unit->debug_bias;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	if (find_stretches(l))
		return -1;
	if (!l->stretches.size ||
	    !dec_sym_entry_pc(l->p->unit, &l->moving->function, &l->entry))
		return 0;
	while ((at = dwarf_ranges(&l->moving->function, at, &base, &lo, &hi)) > 0)
		if (decode(l, lo + bias, hi + bias))
			return -1;
	return add_looks(l);
}

int dec_var_add_moving(struct dec_symbols *s, struct dec_var_path *p, dec_var_sites *ret)
{
	struct looking l = { .p = p, .scope = &p->die[p->n - 2], .ret = ret };
	int function = p->function, err;

	while (function >= 0 && dwarf_tag(&p->die[function]) != DW_TAG_subprogram)
		function--;
	if (function < 0)
		return 0;
	l.moving = arena_alloc(&s->arena, sizeof(*l.moving));
	if (!l.moving)
		return -1;
	*l.moving =
		(struct dec_var_moving){ p->unit, p->die[p->n - 1], p->die[function] };
	err = look_through(&l);
	vec_deinit(&l.stretches);
	vec_deinit(&l.insns);
	map_deinit(&l.targets);
	return err ? err : l.n;
}

/* ---- there ------------------------------------------------------------------------------ */

bool dec_symbols_site_value(struct dec_symbols *s, const struct dec_var_site *site,
			    const struct dec_frame *f, void *buf, uint64_t size)
{
	struct dec_var_moving m = *site->moving;
	struct dec_sym_frame at = { .frame = f,
				    .unit = m.unit,
				    .pc = site->pc,
				    .bias = f->rip - site->addr,
				    .function = &m.function };

	at.thread = m.unit == s->exe ? dec_symbols_threads_own(s, f->fs_base) : 0;
	// Of a constant DWARF says no more than its scope.
	return site->is_within && dec_sym_read(&at, &m.variable, buf, size);
}
