// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What loose.c (a branch's way) and loose_calls.c (answers behind where it parted from the
 * recording) share.
 */
#ifndef DECODE_MACHINE_LOOSE_INT_H
#define DECODE_MACHINE_LOOSE_INT_H

#include "decode/machine/inputs.h"
#include "decode/machine/loose.h"
#include "decode/machine/nullify.h"

/** The branches of a place; in a fork, the one. */
struct dec_loose {
	bool is_prepared, is_warm;
	uint64_t position;
	struct dec_inputs inputs;
	uint64_t n_reading; ///< events up to the last call that reads through an argument
	/** Of the recorded call that is event first_seq + i: what it read; 0: not known. */
	uint64_t *hashes, n_hashes, first_seq;
	// A branch:
	struct dec_world strict;
	struct dec_outcome *out;
	const struct dec_alter *alters;
	size_t n_alters;
	uint64_t *times; ///< how often each one's instruction was reached
	size_t std[2];	 ///< descriptions of standard output and error
	bool has_parted, has_ended;
	bool has_moved;	 ///< an alteration took the guest to another instruction
	uint64_t now_ns; ///< CLOCK_MONOTONIC, since it parted
	uint64_t sigmask;
	int status;		    ///< of the first thread, which left before others
	bool has_to_pause;	    ///< threads take turns from here on
	bool is_awake;		    ///< sleeps are over at once
	struct dec_nullified *told; ///< of a nullifying run: keeps what is printed
};

/** The branch ends so; @p fmt may be NULL. @return DEC_END. */
enum dec_verdict dec_loose_end(struct dec_loose *l, enum dec_fate fate, int value,
			       const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/** The program wrote @p n bytes to descriptor @p fd. */
void dec_loose_output(struct dec_loose *l, int fd, const uint8_t *bytes, uint64_t n);

/** From here on the recording does not answer any more. */
void dec_loose_part(struct dec_replay *r);

/* ---- nullify.c ------------------------------------------------------------------- */

/** Run to @p until at last, nullifying. @return how it ended; DEC_GO when that is said. */
enum dec_verdict dec_nullify_run(struct dec_replay *r, const struct dec_nullify *ask,
				 uint64_t until, struct dec_nullified *ret);

/* ---- loose_alter.c --------------------------------------------------------------- */

/** Alter what is to be altered where the branch begins, and have the engine stop at the other
 * places. */
enum dec_verdict dec_loose_alter_at_once(struct dec_replay *r);

/** The guest stands before an instruction with alterations: make those that are due. */
enum dec_verdict dec_loose_alter_here(struct dec_replay *r);

/* ---- loose_threads.c ------------------------------------------------------------- */

#define LOOSE_TURN 100000 ///< instructions that a thread runs before another one does

/** The run parts: the threads' calls under way are to be made again. */
void dec_loose_threads_part(struct dec_replay *r);

/** @return whether there is more than one thread. */
bool dec_loose_has_others(const struct dec_replay *r);

/** @return whether thread @p t is there and does not wait. */
bool dec_loose_can_go_on(const struct replay_thread *t);

/** Thread @p t goes on. */
enum dec_verdict dec_loose_go_on(struct dec_replay *r, struct replay_thread *t);

/** The next thread that does not wait goes on, the running one if there is no other; where all
 * wait, the one whose time is over first. @return DEC_END: none will ever. */
enum dec_verdict dec_loose_next(struct dec_replay *r);

/** The running thread, behind its call, waits until dec_loose_wake() of one of @p bits at
 * @p futex (0: nobody wakes it), or CLOCK_MONOTONIC @p until_ns (0: for ever). */
enum dec_verdict dec_loose_wait(struct dec_replay *r, uint64_t futex, uint32_t bits,
				uint64_t until_ns);

/** Wake up to @p n threads. @return how many there were. */
uint64_t dec_loose_wake(struct dec_replay *r, uint64_t futex, uint64_t n, uint32_t bits);

/** Let up to @p n of those who wait at @p from wait at @p to. @return how many. */
uint64_t dec_loose_requeue(struct dec_replay *r, uint64_t from, uint64_t to, uint64_t n);

/** The running thread's clone call makes another one. @return its number, or -errno. */
int64_t dec_loose_clone(struct dec_replay *r);

/** The running thread ends with @p status. */
enum dec_verdict dec_loose_thread_exit(struct dec_replay *r, int status);

/* ---- loose_calls.c --------------------------------------------------------------- */

/** The same, from its memory at @p addr, as far as it is readable; from @p n struct iovec at
 * @p at, @p left bytes in all. */
void dec_loose_output_at(struct dec_replay *r, int fd, uint64_t addr, uint64_t size);
void dec_loose_output_vector(struct dec_replay *r, int fd, uint64_t at, uint64_t n,
			     uint64_t left);

/** Answer the system call at rip, or end the branch. */
enum dec_verdict dec_loose_call(struct dec_replay *r);

/** Answer @p insn (rdtsc, cpuid, rdrand) at rip; the engine moves rip. */
enum dec_verdict dec_loose_insn(struct dec_replay *r, const struct dec_insn *insn);

/** Signal @p signo, of a fault at @p addr, for the running thread. */
enum dec_verdict dec_loose_signal(struct dec_replay *r, uint64_t signo, uint64_t addr);

#endif
