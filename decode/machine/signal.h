// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Signals of a replayed guest: one that the guest raises itself comes with its fault, any
 * other where the recording says it landed, found by the registers it found there.
 * Private to replay.c and its kin.
 */
#ifndef DECODE_MACHINE_SIGNAL_H
#define DECODE_MACHINE_SIGNAL_H

#include "decode/machine/replay.h"

/** The event at hand is a signal: deliver it when the guest stands where it landed
 * (@p is_done is set then), else have the engine stop there; one that the guest raises
 * itself comes by its fault. */
enum dec_verdict dec_replay_signal_await(struct dec_replay *r, bool *is_done);

/** @return whether the guest stands at an indirect branch that the CPU refuses, because where it goes is no
 * canonical address. */
bool dec_replay_is_refused_branch(struct dec_replay *r);

/** @return whether the guest stands at a call that the CPU refuses, because where it goes is no
 * canonical address. @p next: what it pushes all the same. */
bool dec_replay_is_refused_call(struct dec_replay *r, uint64_t *next);

/** The event at hand is a signal that kills the program, and perhaps not one of the thread
 * that runs. */
enum dec_verdict dec_replay_signal_die(struct dec_replay *r);

/** @return whether the event at hand, a switch or a handler's beginning, takes place where the
 * guest stands, before its next instruction. */
bool dec_replay_signal_is_due(const struct dec_replay *r);

/** dec_world.stop_at: where a thread may have been interrupted. */
enum dec_verdict dec_replay_signal_stop(void *ctx, struct dec_engine *e);

/** dec_world.fault: the guest raises a signal, or changes code that is protected. */
enum dec_verdict dec_replay_signal_fault(void *ctx, struct dec_engine *e);

/** @return whether the event at hand is what the instruction of @p len bytes at which the guest
 * stands raises instead of being executed, because the program wants that: a time stamp
 * (PR_SET_TSC), a system call (PR_SET_SYSCALL_USER_DISPATCH). */
bool dec_replay_signal_is_instead(const struct dec_replay *r, unsigned len);

/** That signal comes. */
enum dec_verdict dec_replay_signal_instead(struct dec_replay *r);

/** rt_sigaction succeeded: the program says with the structure at @p act (0: it does not)
 * what signal @p signo does. */
void dec_replay_signal_action(struct dec_replay *r, uint64_t signo, uint64_t act);

/** What rt_sigreturn restores that is not a general register: the FPU, from the frame
 * whose ucontext is at @p frame. */
void dec_replay_signal_return(struct dec_replay *r, uint64_t frame);

/** @return whether a page that the guest may use is kept from it, because the recorded run found
 * nothing behind it there: its file was shorter. */
bool dec_replay_awaits_beyond(struct dec_replay *r);

#endif
