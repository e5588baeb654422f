// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "decode/dec_slots.h"

#include <assert.h>

enum { RAX = 0, RSP = 4 };

bool dec_insn_is_slow(const struct dec_insn *insn, enum dec_log_mode mode)
{
	switch (mode) {
	case DEC_LOG_STORES:
	case DEC_LOG_ADDRESSES:
		return insn->is_slow_addr;
	case DEC_LOG_VALUES:
		return insn->is_slow_value;
	default:
		return false;
	}
}

struct slots {
	struct dec_slot *slot;
	int n;
};

static void slots_add(struct slots *s, enum dec_slot_kind kind, int which, int bytes)
{
	assert(s->n < DEC_SLOTS);
	s->slot[s->n++] = (struct dec_slot){ kind, which, bytes };
}

/* Stores whose base is rsp are stack stores: not part of the heap's history. */
static void slots_stores(struct slots *s, const struct dec_insn *insn)
{
	int stored = -1;

	if (insn->flow == DEC_FLOW_CALL || insn->flow == DEC_FLOW_CALL_IND) {
		slots_add(s, DEC_SLOT_BEFORE, RSP, 8);
		return;
	}
	if (insn->flow == DEC_FLOW_RET) {
		slots_add(s, DEC_SLOT_BEFORE, RSP, 8);
		slots_add(s, DEC_SLOT_BEFORE, RAX, 8);
		return;
	}
	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].is_write && insn->mem[i].base != RSP)
			stored = i;
	}
	if (stored < 0)
		return;
	if (!insn->mem[stored].is_absolute)
		slots_add(s, DEC_SLOT_ADDR, stored, 8);
	slots_add(s, DEC_SLOT_STORE, stored, insn->mem[stored].size);
}

/* The operand written comes last: its address is still at hand after the instruction. */
static void slots_memory(struct slots *s, const struct dec_insn *insn, bool with_values)
{
	for (int pass = 0; pass < 2; pass++) {
		for (int i = 0; i < insn->n_mem; i++) {
			const struct dec_mem *m = &insn->mem[i];

			if (m->is_write != (pass == 1))
				continue;
			if (!m->is_absolute)
				slots_add(s, DEC_SLOT_ADDR, i, 8);
			if (with_values && m->is_read && !insn->is_plain_load)
				slots_add(s, DEC_SLOT_LOAD, i, m->size);
		}
	}
}

static void slots_values(struct slots *s, const struct dec_insn *insn)
{
	uint64_t other = insn->other_written;

	// What a branch defines (rsp, the return address) follows from its kind.
	if (insn->flow != DEC_FLOW_NEXT)
		return;
	for (int i = 0; i < insn->n_mem; i++) {
		if (insn->mem[i].is_write)
			slots_add(s, DEC_SLOT_STORE, i, insn->mem[i].size);
	}
	for (int r = 0; r < DEC_GPRS; r++) {
		if (insn->gpr_written & 1u << r)
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
		   struct dec_slot slots[DEC_SLOTS])
{
	struct slots s = { slots, 0 };

	switch (mode) {
	case DEC_LOG_STORES:
		slots_stores(&s, insn);
		break;
	case DEC_LOG_ADDRESSES:
		slots_memory(&s, insn, false);
		break;
	case DEC_LOG_VALUES:
		slots_memory(&s, insn, true);
		slots_values(&s, insn);
		break;
	default:
		break;
	}
	return s.n;
}
