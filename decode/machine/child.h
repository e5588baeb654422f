// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The wire between the machine (parent) and the process that runs the guest (child):
 * shared memory with a slot per child (a child and its forks, the checkpoints), and a
 * futex as the bell. Private to wire.c and child.c.
 *
 *   parent                     child
 *   slot.request = COMMAND --> wakes, works; log buffers full: log_bytes[i] = n, bell++
 *   consumes, log_bytes[i]=0   (waits only when both buffers are full)
 *   bell rings             <-- slot.request = NONE, slot.answer filled, bell++
 */
#ifndef DECODE_MACHINE_CHILD_H
#define DECODE_MACHINE_CHILD_H

#include <stdatomic.h>
#include <stdint.h>

#include "confine/confine.h"
#include "decode/machine/branch.h"
#include "decode/machine/nullify.h"

#define CHILD_SLOTS 66 ///< 64 checkpoints, the running one, and its successor
#define CHILD_LOG_BYTES (512u << 10)
#define CHILD_TEXT_BYTES 8192
#define CHILD_DATA_BYTES 98304
#define CHILD_REG_BYTES 160

/** argv[0] of a child. Defined in child.c, so that whoever starts a child also links
 * the constructor that makes it one. */
extern char dec_child_name[];

/** A child's arguments. */
enum child_arg {
	CHILD_ARG_CAPTURE = 1,
	CHILD_ARG_STOPS, ///< "1": there is a dec_machine_options.mapped; "2": it takes turns
	CHILD_ARGS
};

/** Its descriptors; the last two may be closed. */
#define CHILD_SHARED CONFINE_FD(0)     ///< the shared memory
#define CHILD_OUTPUT CONFINE_FD(1)     ///< where the program's output goes
#define CHILD_INTERRUPTS CONFINE_FD(2) ///< interrupts.h
#define CHILD_FDS 3

/** From here on the calling process makes only a machine's calls; confine_self(). */
struct err *dec_child_confine(void);

enum child_command {
	CHILD_NONE,
	CHILD_RUN, ///< to where; how many struct dec_span of the data to heed (heed.h)
	CHILD_MODE,
	CHILD_BREAK,
	CHILD_WATCH, ///< where; 1: from now on, 0: no more
	CHILD_RELEASE,
	CHILD_LOOK,  ///< where; enum dec_look bits
	CHILD_JUMPS, ///< from; to
	CHILD_MUTE,  ///< so many struct dec_mute of the data; 0: none any more
	CHILD_GUARD, ///< so many struct dec_hook in the data; 0: begin; whether it is patient
	CHILD_GUARD_BLOCKS,   ///< behind how many; at most how many
	CHILD_GUARD_ACCESSES, ///< likewise
	CHILD_GUARD_LEFT,     ///< from where on; at most how many
	CHILD_READ,
	CHILD_RANGE,
	CHILD_TOUCHED, ///< from where, up to where
	CHILD_REGS,
	CHILD_REG,
	CHILD_THREAD,
	CHILD_FORK,
	CHILD_BRANCH,
	CHILD_LAYOUT,
	CHILD_STRAY,
	CHILD_SET_REG,
	CHILD_WRITE,
	CHILD_OUTCOME,
	CHILD_CHANGES, ///< 1: from the first on
	CHILD_SHARE,
	CHILD_PUT,
	CHILD_TURN,
	CHILD_LEAVE,
	CHILD_QUIT,
};

enum child_result {
	CHILD_OK,
	CHILD_STOPPED,
	CHILD_FAILED,
	CHILD_COLLIDED,
	CHILD_NOT_THERE,
};

struct child_slot {
	_Atomic uint32_t request; ///< enum child_command; futex word of this child
	uint64_t arg[3];
	// The answer:
	uint32_t result; ///< enum child_result
	/** Of FORK: the fork's process id (confine.h); of a branch: its process's, 0 before it has
	 * one. */
	_Atomic int32_t forked;
	uint32_t err_code;
	struct dec_where where;
	struct dec_divergence parted;
	uint64_t isa[4];	///< as in struct dec_engine
	uint64_t touched_bytes; ///< pages that the process got or copied since it began
	uint64_t peak_bytes;	///< resident, at most so far
	uint64_t guest_bytes;	///< of FORK: dec_guest_resident()
	uint32_t is_written; ///< of RUN: 0, the guest has not written where it is heeded
	struct cap_regs regs;
	char text[CHILD_TEXT_BYTES]; ///< error or divergence
	char notes[CHILD_TEXT_BYTES];
	uint8_t data[CHILD_DATA_BYTES];
	uint32_t reg_bytes;  ///< of REG: how many bytes of the data
	uint32_t log_buffer; ///< of a fork: which buffer it fills next
};

/** In the data of a branch's slot; the outcome comes back in its place. */
struct child_branch {
	uint64_t limit, n;
	bool is_nullifying, is_laid_out;
	union {
		struct dec_alter alters[DEC_ALTERS_MAX];
		struct dec_nullify nullify;
	};
};

/** What comes back: `told` of a nullifying branch only. */
struct child_branched {
	struct dec_outcome outcome;
	struct dec_nullified told;
};

_Static_assert(DEC_MUTES * sizeof(struct dec_mute) <= CHILD_DATA_BYTES, "they fit");
_Static_assert(sizeof(struct child_branch) <= CHILD_DATA_BYTES &&
		       sizeof(struct child_branched) <= CHILD_DATA_BYTES,
	       "it fits");

struct child_shared {
	_Atomic uint32_t bell;	       ///< futex word of the parent
	_Atomic uint32_t log_bytes[2]; ///< filled bytes; 0: the child's to fill
	_Atomic uint64_t position;     ///< roughly where the running child is
	uint32_t queue[CHILD_SLOTS]; ///< of BRANCH: the slots of those to be run, in turn
	/** So many of the forks that run them take no more of them, or have died. */
	_Atomic uint32_t lanes_ended;
	_Atomic uint32_t
		lanes_vain;  ///< so many of them could not even take their first back
	uint32_t ctx_places; ///< the program wanted so many of them: see dec_ctx_skip()
	struct child_slot slot[CHILD_SLOTS];
	_Alignas(4096) uint8_t log[2][CHILD_LOG_BYTES];
};

enum { SPIN_MAX = 1000, SPIN_OFTEN = 64 };

/** How long it pays to look again before sleeping. */
struct child_spin {
	unsigned most, n;
};

/** Look at @p word for a while, as long as it is (or, with @p until, is not) @p value: who answers on another
 * processor is quicker than being woken. Where that was in vain, mostly, the next while is shorter. */
static inline void child_spin(struct child_spin *s, _Atomic uint32_t *word,
			      uint32_t value, bool until)
{
	unsigned most = s->n++ % SPIN_OFTEN ? s->most : SPIN_MAX;

	for (unsigned i = 0; i < most; i++) {
		if ((atomic_load(word) == value) == until) {
			s->most = SPIN_MAX;
			return;
		}
		__builtin_ia32_pause();
	}
	s->most = most / 2;
}

#endif
