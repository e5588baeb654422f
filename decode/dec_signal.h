// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Signals of a replayed guest: one that the guest raises itself comes with its fault, any
 * other where the recording says it landed, found by the registers it found there.
 * Private to dec_replay.c, and what dec_signal.c needs of it.
 */
#ifndef DECODE_DEC_SIGNAL_H
#define DECODE_DEC_SIGNAL_H

#include "decode/dec_replay.h"

/* ---- dec_signal.c ----------------------------------------------------------------- */

/** The event at hand is a signal: deliver it when the guest stands where it landed
 * (@p is_done is set then), else have the engine stop there; one that the guest raises
 * itself comes by its fault. */
enum dec_verdict replay_signal_await(struct dec_replay *r, bool *is_done);

/** The event at hand is a signal that kills the program, and perhaps not one of the thread
 * that runs. */
enum dec_verdict replay_signal_die(struct dec_replay *r);

/** dec_world.stop_at: where a thread may have been interrupted. */
enum dec_verdict replay_signal_stop(void *ctx, struct dec_engine *e);

/** dec_world.fault: the guest raises a signal, or changes code that is protected. */
enum dec_verdict replay_signal_fault(void *ctx, struct dec_engine *e);

/** What rt_sigreturn restores that is not a general register: the FPU, from the frame
 * whose ucontext is at @p frame. */
void replay_signal_return(struct dec_replay *r, uint64_t frame);

/* ---- dec_replay.c ----------------------------------------------------------------- */

/** The guest is off the recorded path, in what @p parting says; the first reason given
 * counts. @return DEC_DIVERGED. */
enum dec_verdict replay_diverge(struct dec_replay *r, enum dec_parting parting,
				const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** The log ends at @p what: the end of the run, cut or not. @return DEC_END. */
enum dec_verdict replay_end_of_log(struct dec_replay *r, const char *what);

/** @return what the event is, for people, with its article. */
const char *replay_kind_name(enum cap_event_kind kind);

/** The event at hand is consumed: fetch the next one and arrange it. */
enum dec_verdict replay_advance(struct dec_replay *r);

/** Let happen what needs no instruction of the guest to run before it, event by event. */
enum dec_verdict replay_arrange(struct dec_replay *r);

/** Write @p w to the guest's memory, and log it. */
enum dec_verdict replay_write(struct dec_replay *r, const struct cap_write *w);

/** Write to the guest's memory what the event at hand wrote there. */
enum dec_verdict replay_writes(struct dec_replay *r);

/** Set the general registers, rip and the flags that the guest may see. */
void replay_set_regs(struct dec_ctx *c, const struct cap_regs *regs);

/** Log the registers. @p insn: the one that C answered just now and that rip is behind;
 * NULL for none. */
void replay_state_record(struct dec_replay *r, const struct dec_insn *insn);

#endif
