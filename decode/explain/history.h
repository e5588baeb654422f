// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The recorded events before an instant, in short: who may have put a value into the
 * program. The last HISTORY_EVENTS of them are kept. Private to the explaining of
 * divergences (explain.h).
 */
#ifndef DECODE_EXPLAIN_HISTORY_H
#define DECODE_EXPLAIN_HISTORY_H

#include "base/base.h"
#include "decode/machine/call_args.h"
#include "decode/machine/machine.h"

#define HISTORY_EVENTS (1u << 18)

/** Memory that an event wrote. */
struct history_write {
	uint64_t addr, size;
};

struct history_event {
	uint64_t seq;
	uint32_t tid;
	uint8_t kind;	   ///< enum cap_event_kind
	bool has_position; ///< set by dec_history_place()
	bool has_after;
	uint32_t flags; ///< enum cap_syscall_flags
	uint32_t file;	///< of an mmap that was kept
	uint64_t rip;	///< of the instruction
	uint64_t position;
	int64_t nr; ///< SYSCALL; SIGNAL: its number
	uint64_t args[6];
	int64_t ret;
	VEC(struct history_write) writes;
};

/** Memory that others may write. */
struct history_shared {
	uint64_t addr, size;
	uint64_t seq;	   ///< of the event that tells; 0: from the start on
	bool is_risky;	   ///< others are likely to write there
	bool is_read_only; ///< the program only reads it: a file, or what others write
	bool is_anonymous;
};

struct history {
	VEC(struct history_event) events; ///< ascending seq
	VEC(struct history_shared) shared;
	VEC(char *) gaps; ///< texts, the first few
	bool has_children;
	uint64_t n_forgotten; ///< system calls that are no longer in `events`
};

/** Read the events of @p c with seq below @p until. @return what reading them returns,
 * but not that the log ends too early. */
struct err *dec_history_read(struct history *h, const struct capture *c, uint64_t until);
void dec_history_deinit(struct history *h);

/** The system call among the last few below event index @p end that fits a logged one.
 * @return its index, or SIZE_MAX. */
size_t dec_history_call_before(const struct history *h, size_t end, int64_t nr,
			       int64_t ret, uint64_t rip);

/** The last event below index @p end, of at most a few, that wrote @p addr. @return its
 * index, or SIZE_MAX. */
size_t dec_history_writer_before(const struct history *h, size_t end, uint64_t addr);

/** Run @p m from the start to @p position, and note at which position each system
 * call was answered. Stops on the way at each of @p stops (ascending) for a checkpoint. */
struct err *dec_history_place(struct history *h, struct dec_machine *m,
			      const uint64_t *stops, size_t n_stops, uint64_t position);

/** @return the index in h->shared of shared memory at @p addr, or SIZE_MAX. */
size_t dec_history_shared_at(const struct history *h, uint64_t addr);

/* ---- history_call.c ------------------------------------------------------------------ */

/** @return whether @p e, a system call, made anew the memory at @p addr: a mapping. */
bool dec_history_call_maps(const struct history_event *e, uint64_t addr);

/** @return whether @p e, a system call, got a pointer to memory that holds @p addr and may
 * have written there although nothing says that it did. */
bool dec_history_call_may_write(const struct history_event *e, uint64_t addr);

/** @return the name of system call @p nr; the caller frees it. NULL: out of memory. */
char *dec_history_call_name(int64_t nr);

#endif
