// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The sweep of a window: from its last instruction to its first. What is wanted is wanted
 * *behind* the instruction at hand; after it was handled, before it.
 */

#include "decode/dec_slice.h"

#include <string.h>
#include <sys/syscall.h>

#include <Zydis/Zydis.h>

enum { RAX = 0, RCX = 1, RSP = 4, R11 = 11 };

// What a step back costs. A value copied stays the same value; an address seldom is what
// is wrong; a branch may have nothing to do with it.
enum {
	COST_COPY = 1,
	COST_VALUE = 3,
	COST_ADDRESS = 40,
	COST_BRANCH = 60,
	COST_NEXT_BRANCH = 4, // behind another branch: they all lead here
	COST_MAX = 6000,
};

#define REG_BIT(r) (1ull << (r))

/* ---- no longer wanted ------------------------------------------------------------------ */

static const struct slice_want slice_unwanted = { .cost = UINT32_MAX };

static void slice_cheaper(struct slice_want *best, const struct slice_want *w)
{
	if (w->cost < best->cost)
		*best = *w;
}

static void slice_take_word(struct slice *s, uint64_t word, uint8_t mask,
			    struct slice_want *best, struct slice_place *place)
{
	uint64_t *at = map_get(&s->mem, word);
	struct slice_want *w;

	if (!at || !(s->wants.data[*at].mask & mask))
		return;
	w = &s->wants.data[*at];
	if (w->cost < best->cost) {
		mask &= w->mask;
		place->is_mem = true;
		place->addr = word + __builtin_ctz(mask);
		place->size = __builtin_popcount(mask);
		*best = *w;
	}
	w->mask &= ~mask;
	if (!w->mask)
		map_remove(&s->mem, word);
}

/* Which bytes of @p word lie in [addr, addr+size). */
static uint8_t slice_mask(uint64_t word, uint64_t addr, uint64_t size)
{
	uint8_t mask = 0;

	for (int i = 0; i < 8; i++) {
		if (word + i - addr < size)
			mask |= 1 << i;
	}
	return mask;
}

/* [addr, addr+size) was written: nothing in it is wanted any more. The cheapest want that
 * was goes to @p best. */
static void slice_take_mem(struct slice *s, uint64_t addr, uint64_t size,
			   struct slice_want *best, struct slice_place *place)
{
	if (!s->mem.size)
		return;
	if (size / 8 < s->wants.size) {
		for (uint64_t word = addr & ~7ull; word < addr + size; word += 8)
			slice_take_word(s, word, slice_mask(word, addr, size), best,
					place);
		return;
	}
	for (size_t i = 0; i < s->wants.size; i++) {
		uint64_t word = s->wants.data[i].word;
		uint8_t mask = slice_mask(word, addr, size);

		if (s->wants.data[i].mask & mask)
			slice_take_word(s, word, mask, best, place);
	}
}

static void slice_take_reg(struct slice *s, int reg, struct slice_want *best,
			   struct slice_place *place)
{
	if (!(s->regs & REG_BIT(reg)))
		return;
	s->regs &= ~REG_BIT(reg);
	if (s->reg[reg].cost < best->cost) {
		*best = s->reg[reg];
		*place = (struct slice_place){ .reg = reg, .size = 8 };
	}
}

static void slice_use_reg(struct slice *s, int reg, uint32_t cost, uint32_t parent,
			  enum slice_edge edge)
{
	if (cost > COST_MAX || ((s->regs & REG_BIT(reg)) && s->reg[reg].cost <= cost))
		return;
	s->regs |= REG_BIT(reg);
	s->reg[reg] = (struct slice_want){ .cost = cost, .parent = parent, .edge = edge };
}

static void slice_use_mem(struct slice *s, uint64_t addr, uint64_t size, uint32_t cost,
			  uint32_t parent, enum slice_edge edge)
{
	size_t shared = history_shared_at(s->history, addr);

	if (cost > COST_MAX)
		return;
	if (shared != SIZE_MAX) {
		struct slice_want w = { .cost = cost, .parent = parent, .edge = edge };
		uint32_t n = slice_node_add(s, SLICE_SHARED, &w,
					    (struct slice_place){ .is_mem = true,
								  .addr = addr,
								  .size = size },
					    s->nodes.data[parent].position);

		if (n != SLICE_NONE)
			s->nodes.data[n].event = shared;
	}
	slice_want_mem(s, addr, size, cost, parent, edge);
}

/* ---- system calls and other inputs ------------------------------------------------------ */

static uint32_t slice_input(struct slice *s, enum slice_origin origin,
			    const struct slice_want *want, struct slice_place place,
			    uint64_t position, size_t event)
{
	uint32_t n;

	if (want->cost == UINT32_MAX)
		return SLICE_NONE;
	n = slice_node_add(s, origin, want, place, position);
	if (n != SLICE_NONE && event != SIZE_MAX)
		s->nodes.data[n].event = event;
	return n;
}

/* Wanted memory that the call at hand may have written, or that is of its making. */
static void slice_call_memory(struct slice *s, const struct history_event *e,
			      uint64_t position, size_t event)
{
	bool is_unlisted = e->flags & (CAP_SYS_UNLISTED | CAP_SYS_PARTIAL);

	for (size_t i = 0; i < s->wants.size; i++) {
		struct slice_want w = s->wants.data[i];
		struct slice_place place = { .is_mem = true };

		if (!w.mask)
			continue;
		place.addr = w.word + __builtin_ctz(w.mask);
		place.size = __builtin_popcount(w.mask);
		if (history_call_maps(e, place.addr)) {
			slice_input(s, SLICE_MAPPED, &w, place, position, event);
			s->wants.data[i].mask = 0;
			map_remove(&s->mem, w.word);
		} else if (history_call_may_write(e, place.addr)) {
			slice_input(s, is_unlisted ? SLICE_UNMODELLED : SLICE_QUIET, &w,
				    place, position, event);
		}
	}
}

static const struct slice_ref *slice_def_of(const struct slice *s,
					    const struct slice_step *step,
					    uint32_t n_refs, int reg)
{
	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def && !r->is_mem && r->reg == reg)
			return r;
	}
	return NULL;
}

static void slice_call(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	const struct slice_ref *ret = slice_def_of(s, step, n_refs, RAX);
	const struct slice_ref *nr = &s->refs.data[step->first_ref];
	struct slice_want best = slice_unwanted;
	struct slice_place place = {};
	size_t event;
	uint32_t n;

	if (!ret)
		return;
	event = history_call_before(s->history, s->event, nr->value, ret->value,
				    insn->rip);
	if (event != SIZE_MAX)
		s->event = event;
	if (nr->value == SYS_rt_sigreturn) {
		for (int r = 0; r < 64; r++)
			slice_take_reg(s, r, &best, &place);
		slice_input(s, SLICE_SIGRETURN, &best, place, step->position, event);
		return;
	}
	slice_take_reg(s, RAX, &best, &place);
	n = slice_input(s, SLICE_RESULT, &best, place, step->position, event);
	if (n != SLICE_NONE) {
		s->nodes.data[n].value = ret->value;
		s->nodes.data[n].has_value = true;
		s->nodes.data[n].insn = step->insn;
	}
	s->regs &= ~(REG_BIT(RCX) | REG_BIT(R11)); // rip and flags
	if (event != SIZE_MAX)
		slice_call_memory(s, &s->history->events.data[event], step->position,
				  event);
}

/* @return whether the instruction before step @p i wrote [addr, ...) itself: a long
 * repeat, whose bytes are logged behind it. */
static bool slice_is_own_bulk(const struct slice *s, size_t i, uint64_t addr)
{
	uint32_t end;

	while (i && s->steps.data[i].insn == SLICE_NONE)
		i--;
	if (s->steps.data[i].insn == SLICE_NONE)
		return false;
	end = s->steps.data[i + 1].first_ref;
	for (uint32_t r = s->steps.data[i].first_ref; r < end; r++) {
		const struct slice_ref *ref = &s->refs.data[r];

		if (ref->is_def && ref->is_mem && addr - ref->addr < ref->size)
			return true;
	}
	return false;
}

/* Memory written in bulk. */
static void slice_bulk(struct slice *s, size_t i)
{
	const struct slice_step *step = &s->steps.data[i];
	const struct slice_ref *w = &s->refs.data[step->first_ref];
	struct slice_want best = slice_unwanted;
	struct slice_place place = {};
	const struct history_event *e;
	size_t event;

	if (slice_is_own_bulk(s, i, w->addr))
		return;
	event = history_writer_before(s->history, s->event, w->addr);
	if (event == SIZE_MAX)
		return;
	e = &s->history->events.data[event];
	slice_take_mem(s, w->addr, w->size, &best, &place);
	slice_input(s,
		    e->kind == CAP_EV_SIGNAL ? SLICE_FRAME :
		    e->nr == SYS_vfork || e->nr == SYS_clone || e->nr == SYS_clone3 ?
					       SLICE_CHILD :
					       SLICE_WRITTEN,
		    &best, place, step->position, event);
}

/* rdtsc and cpuid. @return whether the instruction was one. */
static bool slice_special(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	struct slice_want best = slice_unwanted;
	struct slice_place place = {};
	const struct slice_ref *def;
	uint32_t n;

	if (insn->flow != DEC_FLOW_TSC && insn->flow != DEC_FLOW_CPUID)
		return false;
	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def && !r->is_mem)
			slice_take_reg(s, r->reg, &best, &place);
	}
	n = slice_input(s, insn->flow == DEC_FLOW_TSC ? SLICE_TSC : SLICE_CPUID, &best,
			place, step->position, SIZE_MAX);
	if (n == SLICE_NONE)
		return true;
	s->nodes.data[n].insn = step->insn;
	def = slice_def_of(s, step, n_refs, place.reg);
	s->nodes.data[n].has_value = def != NULL;
	s->nodes.data[n].value = def ? def->value : 0;
	return true;
}

/* ---- instructions ---------------------------------------------------------------------------- */

/* xor eax, eax and its kin use nothing. */
static bool slice_is_zeroing(const struct dec_insn *insn)
{
	uint8_t op = insn->len >= 2 ? insn->bytes[insn->len - 2] : 0;
	uint64_t vec = insn->other_read & 0xffffffffu;

	if (insn->n_mem)
		return false;
	switch (insn->mnemonic) {
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_SUB:
		return __builtin_popcount(insn->gpr_read) == 1 &&
		       insn->gpr_read == insn->gpr_written && insn->len <= 3 &&
		       (op == 0x31 || op == 0x33 || op == 0x29 || op == 0x2b);
	case ZYDIS_MNEMONIC_PXOR:
	case ZYDIS_MNEMONIC_XORPS:
	case ZYDIS_MNEMONIC_XORPD:
	case ZYDIS_MNEMONIC_VPXOR:
	case ZYDIS_MNEMONIC_VXORPS:
	case ZYDIS_MNEMONIC_VPXORQ:
	case ZYDIS_MNEMONIC_VPXORD:
		return __builtin_popcountll(vec) == 1;
	default:
		return false;
	}
}

static bool slice_is_copy(const struct dec_insn *insn)
{
	return insn->is_plain_load || insn->store_reg != DEC_REG_NONE ||
	       (insn->mnemonic == ZYDIS_MNEMONIC_MOV && !insn->n_mem) || insn->is_rep;
}

static bool slice_is_address(const struct dec_insn *insn, int reg)
{
	if (insn->is_rep && reg == RCX)
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
	return reg == RSP && (insn->gpr_read & insn->gpr_written & 1u << RSP) &&
	       (insn->n_mem || insn->gpr_read == 1u << RSP);
}

/* A definition of @p n_bytes at @p def whose source lies at @p use, byte for byte: want
 * only what is wanted of it. */
static void slice_use_copied(struct slice *s, const struct slice_ref *use,
			     uint64_t def_addr, struct slice_place wanted, uint32_t cost,
			     uint32_t node)
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
	struct slice_place place = s->nodes.data[node].place;
	bool is_address;

	if (!r->is_mem) {
		is_address = slice_is_address(insn, r->reg) || r->reg == DEC_REG_MXCSR;
		// The stack pointer is as it must be, or nothing works any more.
		if (is_address && r->reg == RSP)
			return;
		slice_use_reg(s, r->reg,
			      cost + (is_address	  ? COST_ADDRESS :
				      slice_is_copy(insn) ? COST_COPY :
							    COST_VALUE),
			      node, is_address ? SLICE_ADDRESS : SLICE_VALUE);
		return;
	}
	cost += slice_is_copy(insn) ? COST_COPY : COST_VALUE;
	if (place.is_mem && def && def->size == r->size)
		slice_use_copied(s, r, def->addr, place, cost, node);
	else
		slice_use_mem(s, r->addr, r->size < 64 ? r->size : 64, cost, node,
			      SLICE_VALUE);
}

/* Take what the step defines. @return the definition that is needed most, NULL: none is. */
static const struct slice_ref *slice_defs(struct slice *s, const struct slice_step *step,
					  uint32_t n_refs, struct slice_want *best,
					  struct slice_place *place)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	const struct slice_ref *which = NULL;

	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];
		uint32_t before = best->cost;

		if (!r->is_def)
			continue;
		if (r->is_mem)
			slice_take_mem(s, r->addr, r->size, best, place);
		else if (!slice_only_moves(insn, r->reg))
			slice_take_reg(s, r->reg, best, place);
		if (best->cost < before)
			which = r;
	}
	return which;
}

static void slice_insn(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	const struct dec_insn *insn = &s->insns.data[step->insn];
	struct slice_want best = slice_unwanted, why;
	struct slice_place place = {};
	const struct slice_ref *def = slice_defs(s, step, n_refs, &best, &place);
	bool has_uses = false;
	uint32_t n;

	if (!def)
		return;
	n = slice_node_add(s, SLICE_INSN, &best, place, step->position);
	if (n == SLICE_NONE)
		return;
	s->nodes.data[n].insn = step->insn;
	s->nodes.data[n].has_value = def->has_value;
	s->nodes.data[n].value = def->value;
	why = (struct slice_want){ .cost = best.cost + COST_BRANCH, .parent = n };
	slice_cheaper(&s->branch[s->depth], &why);
	for (uint32_t i = 0; i < n_refs && !slice_is_zeroing(insn); i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (r->is_def || (!r->is_mem && r->reg >= 64))
			continue;
		has_uses |= r->is_mem || r->reg != RSP;
		slice_use(s, step, r, def, n);
	}
	if (!has_uses)
		s->nodes.data[n].origin = SLICE_CONSTANT;
}

/* A branch that decides whether what is wanted behind it ran. */
static void slice_branch(struct slice *s, const struct slice_step *step, uint32_t n_refs)
{
	struct slice_want *why = &s->branch[s->depth];
	struct slice_want want = *why;
	uint32_t n;

	if (want.cost > COST_MAX)
		return;
	want.edge = want.parent == SLICE_NONE ? SLICE_BEGIN : SLICE_BRANCH;
	n = slice_node_add(s, SLICE_INSN, &want,
			   (struct slice_place){ .reg = DEC_REG_RIP, .size = 8 },
			   step->position);
	if (n == SLICE_NONE)
		return;
	s->nodes.data[n].insn = step->insn;
	for (uint32_t i = 0; i < n_refs; i++) {
		const struct slice_ref *r = &s->refs.data[step->first_ref + i];

		if (!r->is_def && (r->is_mem || r->reg != RSP))
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
		if (s->depth < SLICE_DEPTHS - 1)
			s->branch[++s->depth] = slice_unwanted;
		break;
	case DEC_FLOW_CALL:
	case DEC_FLOW_CALL_IND:
		if (s->depth) {
			struct slice_want inner = s->branch[s->depth];

			s->branch[s->depth--] = slice_unwanted;
			slice_cheaper(&s->branch[s->depth], &inner);
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

void slice_sweep(struct slice *s)
{
	for (size_t i = s->steps.size; i--;) {
		const struct slice_step *step = &s->steps.data[i];
		uint32_t end = i + 1 < s->steps.size ? s->steps.data[i + 1].first_ref :
						       s->refs.size;
		uint32_t n_refs = end - step->first_ref;

		if (step->insn == SLICE_NONE) {
			if (n_refs)
				slice_bulk(s, i);
			continue;
		}
		if (s->insns.data[step->insn].flow == DEC_FLOW_SYSCALL) {
			slice_call(s, step, n_refs);
			continue;
		}
		if (slice_special(s, step, n_refs))
			continue;
		slice_insn(s, step, n_refs);
		if (!s->block && s->insns.data[step->insn].flow != DEC_FLOW_NEXT)
			s->block = step->position + 1;
		slice_flow(s, step, n_refs);
	}
}
