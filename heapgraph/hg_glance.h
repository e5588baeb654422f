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

#endif
