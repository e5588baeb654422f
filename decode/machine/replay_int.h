// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files that make up the replayed guest's world share: replay.c,
 * replay_call.c, replay_insn.c, replay_next.c, signal.c, threads.c.
 */
#ifndef DECODE_MACHINE_REPLAY_INT_H
#define DECODE_MACHINE_REPLAY_INT_H

#include "decode/machine/replay.h"

/* ---- replay.c ----------------------------------------------------------------- */

/** The guest is off the recorded path, in what @p parting says; the first reason given
 * counts. @return DEC_DIVERGED. */
enum dec_verdict dec_replay_diverge(struct dec_replay *r, enum dec_parting parting,
				    const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The same for an error in the guest's memory; it is destroyed. */
enum dec_verdict dec_replay_fail(struct dec_replay *r, struct err *err);

/** Add a line for people; each is said once. */
void dec_replay_note(struct dec_replay *r, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** @return what the event is, for people, with its article. */
const char *dec_replay_kind_name(enum cap_event_kind kind);

/** The event at hand is an allocator call: log it. */
void dec_replay_log_heap(struct dec_replay *r);

/** Log that @p size bytes at @p data were written at @p addr. */
void dec_replay_log_write(struct dec_replay *r, uint64_t addr, const uint8_t *data,
			  uint64_t size);

/** Write @p w to the guest's memory, and log it. */
enum dec_verdict dec_replay_write(struct dec_replay *r, const struct cap_write *w);

/** Write to the guest's memory what the event at hand wrote there. */
enum dec_verdict dec_replay_writes(struct dec_replay *r);

/** Set the general registers, rip and the flags that the guest may see. */
void dec_replay_set_regs(struct dec_ctx *c, const struct cap_regs *regs);

/** Log the registers. @p insn: with DEC_STATE_INSN the one that C answered just now and
 * that rip is behind; else NULL. */
void dec_replay_state_record(struct dec_replay *r, enum dec_state_why why,
			     const struct dec_insn *insn);

/* ---- replay_call.c ------------------------------------------------------------- */

/** struct dec_world's. */
enum dec_verdict dec_replay_syscall(void *ctx, struct dec_engine *e);

/** The log ends at @p what: the end of the run, cut or not. @return DEC_END. */
enum dec_verdict dec_replay_end_of_log(struct dec_replay *r, const char *what);

/** The event at hand says that the program was killed. @return DEC_END. */
enum dec_verdict dec_replay_killed(struct dec_replay *r);

/* ---- replay_insn.c ------------------------------------------------------------- */

/** struct dec_world's. */
enum dec_verdict dec_replay_special(void *ctx, struct dec_engine *e,
				    const struct dec_insn *insn);

/* ---- replay_next.c ------------------------------------------------------------- */

/** The event at hand is consumed: fetch the next one and arrange it. */
enum dec_verdict dec_replay_advance(struct dec_replay *r);

/** Let happen what needs no instruction of the guest to run before it, event by event. */
enum dec_verdict dec_replay_arrange(struct dec_replay *r);

#endif
