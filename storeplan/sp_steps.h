// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What each instruction of a function does to locations, the words of its stack frame
 * included. A word is a location where its address is rsp at entry plus a constant; what
 * may change it is counted against it: a store through a pointer once the address of
 * anything in the frame has gone anywhere, a call then too.
 */
#ifndef STOREPLAN_SP_STEPS_H
#define STOREPLAN_SP_STEPS_H

#include "storeplan/sp_function.h"

/** What dst holds afterwards is known when src is known before. */
struct sp_effect {
	sp_set src, dst;
};

/** What `gives` held before is known when `after` is known afterwards. */
struct sp_undo {
	sp_set after, gives;
};

struct sp_step {
	sp_set changed; ///< all that does not hold what it held
	struct sp_effect effect[3];
	struct sp_undo undo[2];
	uint8_t n_effects, n_undos;
	bool is_barrier;		///< a call: who knows whether it comes back
	bool is_frame_store;		///< stores at a constant offset in the frame
	bool has_frame_offset[SP_MEMS]; ///< of operand m:
	int32_t frame_offset[SP_MEMS];
	uint8_t slot[SP_MEMS]; ///< location of operand m when it is a word of the frame
	sp_set needs; ///< of a store: what must be known before it for its address and value
	bool has_value; ///< of a store: its value follows from registers (needs tells which)
	sp_set address; ///< of a store: what its address needs
};

/** A word of the frame. */
struct sp_slot {
	int32_t offset; ///< from rsp at entry
	uint16_t size;
};

struct sp_steps {
	struct sp_step *step; ///< by instruction
	struct sp_slot slots[SP_LOCATIONS - SP_SLOT];
	unsigned n_slots;
	bool is_exposed; ///< an address of the frame has gone somewhere
};

struct err *sp_steps_make(const struct sp_image *m, const struct sp_function *f,
			  struct sp_steps *ret);
void sp_steps_deinit(struct sp_steps *s);

/** @return what is known behind @p step when @p before is known before it. */
static inline sp_set sp_step_forward(const struct sp_step *step, sp_set before)
{
	sp_set after = before & ~step->changed;

	for (unsigned e = 0; e < step->n_effects; e++)
		if (!(step->effect[e].src & ~before))
			after |= step->effect[e].dst;
	return after;
}

/** @return what is known before @p step when @p after is known behind it. */
static inline sp_set sp_step_backward(const struct sp_step *step, sp_set after)
{
	sp_set before;

	if (step->is_barrier)
		return 0;
	before = after & ~step->changed;
	for (unsigned u = 0; u < step->n_undos; u++)
		if (!(step->undo[u].after & ~after))
			before |= step->undo[u].gives;
	return before;
}

#endif
