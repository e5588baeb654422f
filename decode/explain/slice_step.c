// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The sweep of a window: from its last instruction to its first. What is wanted is wanted
 * *behind* the instruction at hand; after it was handled, before it.
 */

#include "decode/explain/slice.h"
#include "decode/x86/zydis.h"

// What a step back costs. A value copied stays the same value; an address seldom is what
// is wrong; a branch may have nothing to do with it.
enum {
	COST_COPY = 1,
	COST_VALUE = 3,
	COST_ADDRESS = 40,
	COST_BRANCH = 60,
	COST_NEXT_BRANCH = 4, // behind another branch: they all lead here
};

static void slice_use_mem(struct slice *s, uint64_t addr, uint64_t size, uint32_t cost,
			  uint32_t parent, enum slice_edge edge)
{
	size_t shared = dec_history_shared_at(s->history, addr);

	if (cost > s->cap)
		return;
	if (shared != SIZE_MAX) {
		struct slice_want w = { .cost = cost, .parent = parent, .edge = edge };
		uint32_t n = dec_slice_node_add(s, SLICE_SHARED, &w,
						(struct slice_location){ .is_mem = true,
									 .addr = addr,
									 .size = size },
						s->nodes.data[parent].position);

		if (n != SLICE_NONE)
			s->nodes.data[n].event = shared;
	}
	dec_slice_want_mem(s, addr, size, cost, parent, edge);
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* xor eax, eax and its kin use nothing. */
static bool slice_is_zeroing(const struct dec_insn *insn)
{
	uint8_t op = insn->len >= 2 ? insn->bytes[insn->len - 2] : 0;
	uint64_t vec = insn->other_read & 0xffffffffu;

	if (insn->n_mem || !dec_insn_is_zeroing(insn->mnemonic))
		return false;
	if (vec)
		return __builtin_popcountll(vec) == 1;
	return __builtin_popcount(insn->gpr_read) == 1 &&
	       insn->gpr_read == insn->gpr_written && insn->len <= 3 &&
	       (op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b);
}

static bool slice_is_copy(const struct dec_insn *insn)
{
	return insn->is_plain_load || insn->store_reg != DEC_REG_NONE ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOV && !insn->n_mem) || insn->is_rep;
}

static bool slice_is_address(const struct dec_insn *insn, int reg)
{
	if (insn->is_rep && reg == CAP_RCX)
		return true;
	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].base == reg || insn->mem[i].index == reg)
			return insn->store_reg != reg;
	}
	return false;
}

/* Push, pop, call and the like move rsp by a constant: it stays wanted. */
static bool slice_only_moves(const struct dec_insn *insn, int reg)
{
	return reg == CAP_RSP && (insn->gpr_read & insn->gpr_written & 1u << CAP_RSP) &&
	       (insn->n_mem || insn->gpr_read == 1u << CAP_RSP);
}

/* A definition of @p n_bytes at @p def whose source lies at @p use, byte for byte: want
 * only what is wanted of it. */
static void slice_use_copied(struct slice *s, const struct slice_ref *use,
			     uint64_t def_addr, struct slice_location wanted,
			     uint32_t cost, uint32_t node)
{
	slice_use_mem(s, use->addr + (wanted.addr - def_addr), wanted.size, cost, node,
		      SLICE_VALUE);
}

static void slice_use(struct slice *s, const struct slice_step *step,
		      const struct slice_ref *r, const struct slice_ref *def,
		      uint32_t node)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	uint32_t cost = s->nodes.data[node].cost;
	struct slice_location location = s->nodes.data[node].location;
	bool is_address;

	if (!r->is_mem) {
		is_address = slice_is_address(insn, r->reg) || r->reg == DEC_REG_MXCSR;
		// The stack pointer is as it must be, or nothing works any more.
		if (is_address && r->reg == CAP_RSP)
			return;
		dec_slice_use_reg(s, r->reg,
				  cost + (is_address	      ? COST_ADDRESS :
					  slice_is_copy(insn) ? COST_COPY :
								COST_VALUE),
				  node, is_address ? SLICE_ADDRESS : SLICE_VALUE);
		return;
	}
	cost += slice_is_copy(insn) ? COST_COPY : COST_VALUE;
	if (location.is_mem && def && def->size == r->size)
		slice_use_copied(s, r, def->addr, location, cost, node);
	else
		slice_use_mem(s, r->addr, r->size < 64 ? r->size : 64, cost, node,
			      SLICE_VALUE);
}

/* Take what the step defines. @return the definition that is needed most, NULL: none is. */
static const struct slice_ref *slice_defs(struct slice *s, const struct slice_step *step,
					  uint32_t n_refs, struct slice_want *best,
					  struct slice_location *location)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	const struct slice_ref *which = NULL;

	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];
		uint32_t before = best->cost;

		if (!r->is_def)
			continue;
		if (r->is_mem)
			dec_slice_take_mem(s, r->addr, r->size, best, location);
		else if (!slice_only_moves(insn, r->reg))
			dec_slice_take_reg(s, r->reg, best, location);
		if (best->cost < before)
			which = r;
	}
	return which;
}

static void slice_insn(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	struct slice_want best = slice_unwanted, why;
	struct slice_location location = {};
	const struct slice_ref *def = slice_defs(s, step, n_refs, &best, &location);
	bool has_uses = false;
	uint32_t n;

	if (!def)
		return;
	n = dec_slice_node_add(s, SLICE_INSN, &best, location, step->position);
	if (n == SLICE_NONE)
		return;
	s->nodes.data[n].insn = step->insn;
	s->nodes.data[n].has_value = def->has_value;
	s->nodes.data[n].value = def->value;
	why = (struct slice_want){ .cost = best.cost + COST_BRANCH, .parent = n };
	dec_slice_cheaper(&s->at->branch[s->at->depth], &why);
	for (uint32_t i = 0; i < n_refs && !slice_is_zeroing(insn); i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def || (!r->is_mem && r->reg >= 64))
			continue;
		has_uses |= r->is_mem || r->reg != CAP_RSP;
		slice_use(s, step, r, def, n);
	}
	if (!has_uses)
		s->nodes.data[n].origin = SLICE_CONSTANT;
}

/* A branch that decides whether what is wanted behind it ran. */
static void slice_branch(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	struct slice_want *why = &s->at->branch[s->at->depth];
	struct slice_want want = *why;
	uint32_t n;

	if (want.cost > s->cap)
		return;
	want.edge = want.parent == SLICE_NONE ? SLICE_BEGIN : SLICE_BRANCH;
	n = dec_slice_node_add(s, SLICE_INSN, &want,
			       (struct slice_location){ .reg = DEC_REG_RIP, .size = 8 },
			       step->position);
	if (n == SLICE_NONE)
		return;
	s->nodes.data[n].insn = step->insn;
	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (!r->is_def && (r->is_mem || r->reg != CAP_RSP))
			slice_use(s, step, r, NULL, n);
	}
	*why = (struct slice_want){ .cost = want.cost + COST_NEXT_BRANCH, .parent = n };
}

/* Backward, a return leads into a call and a call out of it. */
static void slice_flow(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];

	switch (insn->flow) {
	case DEC_FLOW_RET:
		if (s->at->depth < SLICE_DEPTHS - 1)
			s->at->branch[++s->at->depth] = slice_unwanted;
		break;
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		if (s->at->depth) {
			struct slice_want inner = s->at->branch[s->at->depth];

			s->at->branch[s->at->depth--] = slice_unwanted;
			dec_slice_cheaper(&s->at->branch[s->at->depth], &inner);
		}
		if (insn->flow == DEC_FLOW_CALL_IND)
			slice_branch(s, step, n_refs);
		break;
	case DEC_FLOW_JCC:
	case DEC_FLOW_JRCX:
	case DEC_FLOW_JMP_IND:
		slice_branch(s, step, n_refs);
		break;
	default:
		break;
	}
}

/* One step of the thread at hand. */
static void slice_step(struct slice *s, size_t i)
{
	const struct slice_step *step = &s->steps.data[i];
	uint32_t end = i + 1 < s->steps.size ? s->steps.data[i + 1].first_ref :
					       s->refs.size;
	uint32_t n_refs = end - step->first_ref;
	enum dec_flow flow;

	if (step->insn == SLICE_NONE) {
		if (n_refs)
			dec_slice_bulk(s, i);
		return;
	}
	flow = s->insns.data[step->insn].flow;
	if (flow == DEC_FLOW_SYSCALL) {
		dec_slice_call(s, step, n_refs);
	} else if (flow == DEC_FLOW_TSC || flow == DEC_FLOW_CPUID) {
		dec_slice_special(s, step, n_refs);
	} else {
		slice_insn(s, step, n_refs);
		if (!s->block && flow != DEC_FLOW_NEXT)
			s->block = step->position + 1;
		slice_flow(s, step, n_refs);
	}
}

struct err *dec_slice_sweep(struct slice *s)
{
	for (size_t i = s->steps.size; i--;) {
		struct err *err = dec_slice_thread(s, s->steps.data[i].tid);

		if (err)
			return err;
		slice_step(s, i);
		dec_slice_restrain(s);
	}
	return NULL;
}
