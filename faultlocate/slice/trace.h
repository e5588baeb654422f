// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The run as the walk reads it: instructions, each known once; blocks of the log with the layout of
 * their records; windows, whose records can be read from their end. Private to slice/.
 */
#ifndef FAULTLOCATE_SLICE_TRACE_H
#define FAULTLOCATE_SLICE_TRACE_H

#include <pthread.h>
#include <string.h>

#include "decode/machine/log.h"
#include "faultlocate/slice/effect.h"
#include "faultlocate/slice/flow.h"
#include "faultlocate/slice/slice.h"

/** An instruction that ran. */
struct trace_insn {
	struct dec_insn insn;
	struct effect *effect; ///< made when it is first asked for
};

/** Where an instruction is in the flow graphs. */
struct trace_place {
	uint32_t block;	   ///< FLOW_NONE: there is none
	uint32_t function; ///< FLOW_NONE
	bool is_known;
};

/** Where a block's record says an operand in memory was. */
struct trace_mem {
	uint16_t base_at, index_at;
	int16_t base_step, index_step;
	uint8_t scale, size;
	bool is_fs, is_addr32, is_write;
	int64_t disp;
};

/** A block of the log. Blocks are many, and are met in any order: what each has is side by side. */
struct trace_block {
	uint64_t rip, regs; ///< regs: bit n: register n is defined
	/** Bit n: instruction n stores; it does so in a way of its own, or to several places; what
	 * was there may stay there; it gets a register back from the stack. */
	uint32_t stores, odd, maybes, restores;
	uint8_t n, n_stores;
	bool is_watched; ///< the general registers are in its record, behind its number
	uint8_t flow;	 ///< of its last instruction
	struct trace_mem *mem; ///< one allocation, with all that follows
	uint64_t *defs;	       ///< registers that each defines
	uint32_t *insn;
	uint8_t *first_mem; ///< [n + 1]: its operands are mem[first_mem[i]] ..
	uint8_t *written;   ///< the operand that is, of one that stores
	uint8_t *store;	    ///< operands that are written
	/** Registers that have to do with it, and with all before it as far as none stores. */
	uint64_t *touched;
};

/** One record of a window. */
struct trace_entry {
	uint32_t at;   ///< its offset / 8
	uint32_t what; ///< block << 6 | instructions that ran; or one of these:
};
#define ENTRY_SLOW UINT32_MAX
#define ENTRY_OTHER (UINT32_MAX - 1)

/** From entry `from` on, thread `tid` runs. */
struct trace_stretch {
	uint32_t from, tid;
	uint64_t fs_base;
};

/** The function that began at `position` looked at so many bytes of its texts (DEC_REC_LOOK). */
struct trace_look {
	uint64_t position, n;
	bool is_equal;
};

/** What the machine logged of a window. */
struct trace_log {
	uint8_t *data;
	size_t size, capacity;
	bool is_over; ///< longer than a window may be
};

/** What ran in a window, the first time that it did. */
struct trace_found {
	struct log_block *block; ///< of the window's reader; NULL: a single instruction
	uint32_t single;	 ///< index of that
	uint32_t number;	 ///< the trace's, of the block
};

/** A piece of the run, logged. */
struct trace_window {
	uint64_t begin, end;
	struct trace_log log;
	VEC(struct trace_entry) entries;
	VEC(struct trace_stretch) stretches;
	VEC(struct trace_look) looks; ///< by position
	struct log_reader reader;
	VEC(struct trace_found) found;
	VEC(struct dec_insn) singles;
	struct map single_of; ///< rip -> the last of them there
};

/** The next window, which a thread has the machine log, and reads, while another one is gone over. All of it is
 * the thread's as long as it runs, and so is the machine; the rest of the trace is not, so its entries have
 * indices of `found` for blocks until it is taken. */
struct trace_ahead {
	bool is_running, is_there;
	pthread_t thread;
	struct dec_machine *machine;
	struct trace_window window;
	struct err *err;
};

struct fl_trace {
	const struct capture *capture;
	struct fl_trace_options options;
	struct dec_machine *machine;
	struct dec_where end;
	struct flow *flow;
	VEC(struct trace_insn) insns;
	VEC(struct trace_place) places; ///< of those instructions that were asked for
	struct map insn_of;		///< rip -> index
	VEC(struct trace_block) blocks;
	struct map block_of; ///< a hash of what is in it -> index
	VEC(struct dec_range)
	modules;	     ///< mappings of code, as far as they were asked for
	VEC(uint64_t) stack; ///< words of it where the run breaks off
	struct dec_insns *known;
	struct map code; ///< page -> its bytes, read from the machine; 0: there are none
	uint32_t halved; ///< so often windows were: their logs had no room
	struct trace_window window;
	struct trace_ahead ahead;
};

/** @return the index of @p insn, UINT32_MAX: no memory. */
uint32_t fl_trace_intern(struct fl_trace *t, const struct dec_insn *insn);

/** Find the block like @p b, or make it. Its number comes into @p ret. */
struct err *fl_trace_find_block(struct fl_trace *t, const struct log_block *b,
				uint32_t *ret);

/** @return the effect of instruction @p i, NULL: no memory. */
const struct effect *fl_trace_effect(struct fl_trace *t, uint32_t i);

/** Find where instruction @p i is in the flow graphs; @p ret. */
struct err *fl_trace_find_place(struct fl_trace *t, uint32_t i, struct trace_place *ret);

static inline struct err *fl_trace_place(struct fl_trace *t, uint32_t i,
					 struct trace_place *ret)
{
	if (i >= t->places.size || !t->places.data[i].is_known)
		return fl_trace_find_place(t, i, ret);
	*ret = t->places.data[i];
	return NULL;
}

/** Decode the instruction at @p rip: as it ran; else as it is in memory where the trace ends.
 * @return false: there is none. */
bool fl_trace_decode(void *trace, uint64_t rip, struct dec_insn *ret);

/** @return whether two instructions are not in the same mapping of code. */
bool fl_trace_leaves_module(const struct fl_trace *t, uint64_t a, uint64_t b);

/* ---- trace_window.c ---- */

/** @return how far behind @p past instructions the next checkpoint is: windows, and of a long run few. */
uint64_t fl_trace_apart(uint64_t past);

void fl_trace_window_deinit(struct trace_window *w);

/** Have the window logged meanwhile that ends at @p end, and begins at @p least or later: it is going to be
 * wanted next, mostly. The machine must not be used until fl_trace_rest(). */
void fl_trace_read_ahead(struct fl_trace *t, uint64_t least, uint64_t end);

/** Wait until the machine stands still. */
void fl_trace_rest(struct fl_trace *t);

void fl_trace_ahead_deinit(struct fl_trace *t);

/** Log a window that ends at @p end, and begins at @p least or later, into t->window. */
struct err *fl_trace_load(struct fl_trace *t, uint64_t least, uint64_t end);

/** @return where operand @p m of a block is, from record @p rec. */
static inline uint64_t trace_address(const struct trace_mem *m, const uint8_t *rec,
				     uint64_t fs_base)
{
	uint64_t a = m->disp, word;

	if (m->base_at) {
		memcpy(&word, rec + m->base_at, 8);
		a += word + m->base_step;
	}
	if (m->index_at) {
		memcpy(&word, rec + m->index_at, 8);
		a += (word + m->index_step) * m->scale;
	}
	a = m->is_addr32 ? (uint32_t)a : a;
	return m->is_fs ? a + fs_base : a;
}

#endif
