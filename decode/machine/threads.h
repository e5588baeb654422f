// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The guest's threads. One runs at a time, as in the recording; the others wait here with
 * their registers. Who runs next, and from which instant on, the capture says
 * (doc/threads.md). Private to replay.c and its kin.
 */
#ifndef DECODE_MACHINE_THREADS_H
#define DECODE_MACHINE_THREADS_H

#include "decode/machine/replay.h"

/** Make the threads that the start state has; the first one is current. */
struct err *dec_threads_init(struct dec_replay *r);

/** @return the thread that runs. */
struct replay_thread *dec_threads_current(struct dec_replay *r);

/** @return thread @p tid, NULL when it is not known or its number is free again. */
struct replay_thread *dec_threads_find(struct dec_replay *r, uint32_t tid);

/** The event at hand is the first of a new thread: its own return from clone. */
bool dec_threads_is_birth(struct dec_replay *r);

/** Its parent is in that call, or is beyond it. */
bool dec_threads_can_begin(struct dec_replay *r);

/** Let the thread begin whose birth the event at hand is. */
enum dec_verdict dec_threads_birth(struct dec_replay *r);

/** The current thread's clone succeeded: remember what its child inherits. */
enum dec_verdict dec_threads_cloned(struct dec_replay *r, uint64_t nr);

/** The current thread, at its clone call, makes thread @p tid, which begins behind that. @return
 * it; NULL: it would be a process, or memory is short. */
struct replay_thread *dec_threads_clone(struct dec_replay *r, uint32_t tid);

/** The current thread's prctl() gives it the name at @p addr. */
void dec_threads_name(struct dec_replay *r, uint64_t addr);

/** Write thread @p tid's number where the clone call with registers @p gpr, which made it, wants
 * it for its caller. */
void dec_threads_tell_parent(struct dec_replay *r, const uint64_t *gpr, uint32_t tid);

/** Thread @p t ends: what the kernel writes to the memory of those who wait for it. */
enum dec_verdict dec_threads_leave(struct dec_replay *r, struct replay_thread *t);

/** The event at hand is a switch from the current thread, and that stands where it should:
 * do it. */
enum dec_verdict dec_threads_switch(struct dec_replay *r);

/** Thread @p tid runs from here on. */
enum dec_verdict dec_threads_run(struct dec_replay *r, uint32_t tid);

/**
 * The event at hand says where its thread was interrupted. @return whether the guest
 * stands exactly there: registers, and the memory around the stack pointer and behind the
 * registers as far as the recording could see it; and no trace says otherwise. In the middle of a repeated string
 * instruction: whether it stands before its remaining part, which it may first have to
 * execute the beginning of (@p v gets the verdict of that).
 */
bool dec_threads_is_here(struct dec_replay *r, enum dec_verdict *v);

/** Have the engine stop where the event at hand was. */
void dec_threads_await(struct dec_replay *r);

/** Keep the guest's registers in @p t. */
void dec_threads_save(struct dec_replay *r, struct replay_thread *t);

/** Give the guest the registers that are kept in @p t. */
void dec_threads_load(struct dec_replay *r, const struct replay_thread *t);

/** Log who runs, and with which registers. */
void dec_threads_record(struct dec_replay *r);

#endif
