// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/translator/slots.h"

#include <assert.h>

#include "decode/x86/zydis.h"

bool dec_insn_is_slow(const struct dec_insn *insn, enum dec_log_mode mode)
{
	if (insn->is_slow_always)
		return true;
	switch (mode) {
	case DEC_LOG_STORES:
	case DEC_LOG_ALL_STORES:
		// Their mask is logged, where lanes count.
		return insn->is_slow_addr && !insn->lane_bytes;
	case DEC_LOG_ADDRESSES:
		return insn->is_slow_addr && !dec_insn_loads_lanes(insn);
	case DEC_LOG_VALUES:
		return insn->is_slow_value;
	default:
		return false;
	}
}

bool dec_insn_is_told(const struct dec_insn *insn, enum dec_log_mode mode,
		      bool tells_jumps)
{
	struct dec_known known = {};
	struct dec_slot slots[DEC_SLOTS];

	if (tells_jumps && mode != DEC_LOG_JUMPS &&
	    (insn->flow == DEC_FLOW_JMP || insn->flow == DEC_FLOW_JMP_IND))
		return true;
	return !dec_log_counts(mode) || dec_insn_slots(insn, mode, &known, slots);
}

struct dec_known dec_known_start(enum dec_log_mode mode, bool is_watched)
{
	return (struct dec_known){ mode == DEC_LOG_VALUES || is_watched ? 0xffff : 0 };
}

int dec_insn_rsp_step(const struct dec_insn *insn)
{
	int size = insn->n_mem ? insn->mem[insn->n_mem - 1].size : 0;

	if (insn->mnemonic == ZYDIS_MNEMONIC_PUSH)
		return -size;
	// pop rsp loads it, and pop [rsp+x] is stepped in C.
	if (insn->mnemonic == ZYDIS_MNEMONIC_POP && insn->gpr_written != 1u << CAP_RSP)
		return size;
	return 0;
}

int dec_insn_cleared_from(const struct dec_insn *insn)
{
	if (insn->mnemonic == ZYDIS_MNEMONIC_VZEROUPPER)
		return 16;
	return insn->mnemonic == ZYDIS_MNEMONIC_VZEROALL ? 0 : -1;
}

struct slots {
	struct dec_slot *slot;
	int n;
	struct dec_known *known;
};

static void slots_add(struct slots *s, enum dec_slot_kind kind, int which, int bytes)
{
	assert(s->n < DEC_SLOTS);
	s->slot[s->n++] = (struct dec_slot){ kind, which, bytes };
}

static void slots_before(struct slots *s, int gpr)
{
	if (gpr == DEC_REG_NONE || (s->known->gpr & 1u << gpr))
		return;
	slots_add(s, DEC_SLOT_BEFORE, gpr, 8);
	s->known->gpr |= 1u << gpr;
}

static void slots_address(struct slots *s, const struct dec_mem *m)
{
	if (m->is_absolute)
		return;
	slots_before(s, m->base);
	slots_before(s, m->index);
}

/* @return whether it is a call or a return. */
static bool slots_call(struct slots *s, const struct dec_insn *insn)
{
	if (insn->flow != DEC_FLOW_CALL && insn->flow != DEC_FLOW_CALL_IND &&
	    insn->flow != DEC_FLOW_RET)
		return false;
	slots_add(s, DEC_SLOT_BEFORE, CAP_RSP, 8);
	if (insn->flow == DEC_FLOW_RET)
		slots_add(s, DEC_SLOT_BEFORE, CAP_RAX, 8);
	return true;
}

/* Where an indirect jump or call leads. */
static void slots_target(struct slots *s, const struct dec_insn *insn)
{
	uint8_t reg;

	if (insn->flow != DEC_FLOW_JMP_IND && insn->flow != DEC_FLOW_CALL_IND)
		return;
	reg = dec_insn_target_reg(insn);
	if (reg != DEC_REG_NONE)
		slots_add(s, DEC_SLOT_BEFORE, reg, 8);
	else
		slots_add(s, DEC_SLOT_LOAD, 0, 8);
}

/* Stores whose base is rsp are stack stores: no part of the heap's history, as a rule. */
static void slots_stores(struct slots *s, const struct dec_insn *insn, bool with_stack)
{
	for (int i = 0; i < insn->n_mem; i++) {
		if (!insn->mem[i].is_write ||
		    (insn->mem[i].base == CAP_RSP && !with_stack))
			continue;
		slots_address(s, &insn->mem[i]);
		slots_add(s, DEC_SLOT_STORE, i, insn->mem[i].size);
		if (insn->lane_bytes)
			slots_add(s, DEC_SLOT_K, insn->lane_mask, 8);
	}
}

static void slots_values(struct slots *s, const struct dec_insn *insn)
{
	uint64_t other = insn->other_written;

	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].is_read && !insn->is_plain_load)
			slots_add(s, insn->lane_bytes ? DEC_SLOT_LANES : DEC_SLOT_LOAD, i,
				  insn->mem[i].size);
	}
	// What a branch defines (rsp, the return address) follows from its kind; zeros, too.
	if (insn->flow != DEC_FLOW_NEXT || dec_insn_cleared_from(insn) >= 0)
		return;
	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].is_write)
			slots_add(s, DEC_SLOT_STORE, i, insn->mem[i].size);
	}
	for (int r = 0; r < DEC_GPRS; r++) {
		if ((insn->gpr_written & 1u << r) &&
		    !(r == CAP_RSP && dec_insn_rsp_step(insn)))
			slots_add(s, DEC_SLOT_GPR, r, 8);
	}
	for (int v = 0; v < 32; v++) {
		if (other & 1ull << (DEC_REG_VEC - DEC_GPRS + v))
			slots_add(s, DEC_SLOT_VEC, v, insn->vec_bytes[1]);
	}
	for (int k = 0; k < 8; k++) {
		if (other & 1ull << (DEC_REG_K - DEC_GPRS + k))
			slots_add(s, DEC_SLOT_K, k, 8);
	}
}

int dec_insn_slots(const struct dec_insn *insn, enum dec_log_mode mode,
		   struct dec_known *known, struct dec_slot slots[DEC_SLOTS])
{
	struct slots s = { slots, 0, known };

	switch (mode) {
	case DEC_LOG_JUMPS:
		slots_target(&s, insn);
		break;
	case DEC_LOG_CALLS:
		slots_call(&s, insn);
		break;
	case DEC_LOG_STORES:
	case DEC_LOG_ALL_STORES:
		if (!slots_call(&s, insn))
			slots_stores(&s, insn, mode == DEC_LOG_ALL_STORES);
		break;
	case DEC_LOG_ADDRESSES:
		for (int i = 0; i < insn->n_mem; i++)
			slots_address(&s, &insn->mem[i]);
		if (insn->lane_bytes)
			slots_add(&s, DEC_SLOT_K, insn->lane_mask, 8);
		break;
	case DEC_LOG_VALUES:
		slots_values(&s, insn);
		return s.n;
	default:
		break;
	}
	known->gpr &=
		~(insn->gpr_written & ~(dec_insn_rsp_step(insn) ? 1u << CAP_RSP : 0u));
	return s.n;
}
