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
	uint32_t flags;	   ///< enum cap_syscall_flags
	uint32_t file;	   ///< of an mmap that was kept
	uint64_t rip;	   ///< of the instruction
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
};

/** Read the events of @p c with seq below @p until. @return what reading them returns,
 * but not that the log ends too early. */
struct err *dec_history_read(struct history *h, const struct capture *c, uint64_t until);
void dec_history_deinit(struct history *h);

/** @return the index of event @p seq, or SIZE_MAX. */
size_t dec_history_find(const struct history *h, uint64_t seq);

/** Note that event @p seq, a system call, was answered at @p position. */
void dec_history_place(struct history *h, uint64_t seq, uint64_t position);

/** @return the index in h->shared of shared memory at @p addr, or SIZE_MAX. */
size_t dec_history_shared_at(const struct history *h, uint64_t addr);

/* ---- history_call.c ------------------------------------------------------------------ */

/** @return whether @p e is a system call that may have written memory although nothing says that it
 * did. */
bool dec_history_call_is_loose(const struct history_event *e);

/** @return whether the loose call @p e got a pointer to memory that holds @p addr, as far as is
 * known. */
bool dec_history_call_may_write(const struct history_event *e, uint64_t addr);

/** @return the name of system call @p nr; the caller frees it. NULL: out of memory. */
char *dec_history_call_name(int64_t nr);

#endif
