// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What whoever glances at blocks (dec_trace.glance) has to know of an instruction in one.
 */
#ifndef HEAPGRAPH_HG_GLANCE_H
#define HEAPGRAPH_HG_GLANCE_H

#include "decode/machine/trace.h"

/** @return whether @p insn goes on to the next one, has one operand in memory at most, at an address of its
 * registers, and defines what its block's record has. */
bool hg_glance_is_plain(const struct dec_insn *insn);

/** Where a block's record has the values of an instruction: offsets, in bytes; 0: not there. */
struct hg_slots_at {
	uint16_t load, store, define; ///< define: the last register's
	uint8_t n_defs;		      ///< registers defined
	uint8_t def; ///< general register that alone it defines; DEC_REG_NONE: look at all
};
struct hg_slots_at hg_glance_slots(const struct dec_glance *g, uint32_t i);

/** An instruction's operand in memory, as far as it does not depend on the run. */
struct hg_glance_mem {
	int64_t disp;
	uint8_t base, index, scale, size; ///< registers: DEC_REG_NONE: none
	bool is_there, is_read, is_write, is_fs;
};
struct hg_glance_mem hg_glance_mem_of(const struct dec_insn *insn);

/** @return where it is, its base and index being in @p g. */
static inline uint64_t hg_glance_address(const struct hg_glance_mem *o,
					 const struct dec_glance *g)
{
	uint64_t addr = o->disp;

	if (o->base != DEC_REG_NONE)
		addr += g->gpr[o->base];
	if (o->index != DEC_REG_NONE)
		addr += g->gpr[o->index] * o->scale;
	return o->is_fs ? addr + g->fs_base : addr;
}

/** Where a register's value is, within a block: it is not in the registers before the block ends. */
struct hg_place {
	uint16_t at;  ///< offset, in bytes
	uint8_t from; ///< enum hg_place_from
	uint8_t reg;  ///< DEC_REG_NONE: none
};
enum hg_place_from { PLACE_REGISTERS, PLACE_RECORD, PLACE_ZERO, PLACES };

/** Where registers' values are, from instruction to instruction. */
struct hg_trail {
	struct hg_place gpr[DEC_GPRS];
	int32_t rsp_step; ///< by how much it moved since
	uint32_t vecs;	  ///< vector registers that were written: for who keeps them
};

/** As a block begins. */
void hg_trail_begin(struct hg_trail *t);

static inline struct hg_place hg_trail_place(const struct hg_trail *t, uint8_t reg)
{
	return reg < DEC_GPRS ? t->gpr[reg] :
				(struct hg_place){ 0, PLACE_ZERO, DEC_REG_NONE };
}

/** Go past instruction @p i. @return whether it defines vector or mask registers. */
bool hg_trail_pass(struct hg_trail *t, const struct dec_glance *g, uint32_t i);

/** The general registers whose values are in the record. @p ret: DEC_GPRS long. @return how many. */
uint8_t hg_trail_finals(const struct hg_trail *t, struct hg_place *ret);

#endif
