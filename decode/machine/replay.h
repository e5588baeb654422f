// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The world of a replayed guest: what the capture says happened, in order. Answers
 * system calls, time stamps and faults from the event log, and checks at each that the
 * guest is where the recording was.
 *
 * Invariant 1: `next` is the event that comes next, fetched as soon as the one before it
 * was consumed, so that a signal that landed between two instructions is seen in time.
 */
#ifndef DECODE_MACHINE_REPLAY_H
#define DECODE_MACHINE_REPLAY_H

#include "capture/capture.h"
#include "decode/translator/engine.h"
#include "decode/machine/guest.h"
#include "decode/machine/output.h"
#include "decode/machine/interrupts.h"
#include "decode/machine/machine.h"
#include "decode/machine/passes.h"

/** Enough for the loops that recur without a trace in the registers, most of which are
 * short; a time slice is some 10^7 instructions. */
#define REPLAY_LOOK_AHEAD 1000000

/** A thread of the guest. */
struct replay_thread {
	uint32_t tid;
	uint32_t number; ///< as the program says: another in a name space of its own
	bool is_born;	 ///< it has registers: its own return from clone came
	bool has_parent; ///< what it inherits is known
	bool is_in_call; ///< at a system call whose event has not come yet
	bool is_leaving; ///< it called exit
	bool has_ended;
	uint64_t clear_child_tid; ///< word that the kernel zeroes at its end; 0 = none
	uint64_t restart_rip, restart_nr; ///< of a call that may have to be made again
	uint64_t robust_list;
	char name[16];	   ///< dec_thread.name
	uint64_t ran;	   ///< instructions, before it last got the CPU
	uint64_t n_traced; ///< its interruptions in `interrupts` that were met
	uint64_t n_halves; ///< among them: beginnings of interrupted repeated ones
	// Of a branch that has parted:
	bool waits;	     ///< behind a call that is not over
	uint64_t futex;	     ///< for this word to be woken; 0: for its time
	uint32_t futex_bits; ///< by one of these
	uint64_t until_ns;   ///< not longer; 0: for ever
	uint32_t child; ///< number of one born while the clone call is not over; 0: none
	uint64_t set_child_tid; ///< word that gets its number when it begins; 0: none
	// While another one runs:
	uint64_t gpr[CAP_GPRS];
	uint64_t rip, rflags, fs_base, gs_base, pkru;
	uint8_t xsave[CTX_XSAVE_BYTES];
};

struct dec_replay {
	struct dec_engine engine;
	struct dec_guest guest;
	struct capture *capture;
	struct cap_core *core;
	struct cap_events *events;
	struct cap_event next;
	bool is_log_at_end; ///< no event is left
	VEC(struct replay_thread) threads;
	size_t current;	     ///< index of the thread that runs
	uint64_t n_switches; ///< from one thread to another
	bool is_left;	     ///< where the program was left, which went on by itself
	uint64_t n_handlers; ///< that began
	bool has_no_frame; ///< had the last signal for its handler: the event at hand is due
	uint64_t n_halves; ///< those of all threads
	/** Of a slice capture: pieces that were passed over; steps of theirs, but for one each. */
	uint64_t n_omitted, omitted;
	uint64_t left_rip; ///< where the thread stands that ran before the last switch
	bool has_left_in_call; ///< inside the system call there
	uint64_t last_seq;     ///< of the event before `next`
	uint64_t last_ns;      ///< when that was; 0: not known
	uint64_t
		bound; ///< no more instructions can have been before `next`; UINT64_MAX: not known
	uint64_t since; ///< the current thread has the CPU: position
	struct dec_interrupts_map
		interrupts;   ///< where threads were interrupted, by a trace
	uint64_t n_places;    ///< of them, those found by registers and signature
	uint64_t n_traced;    ///< of these, those that the processor's trace confirms
	bool is_traced;	      ///< the last one was
	uint64_t n_uncertain; ///< of these, those that may have been later
	uint64_t
		look_ahead; ///< instructions, to tell these (dec_certain_check()); 0 = none
	uint64_t asked;	    ///< events until that whose place was asked for last
	uint64_t
		in_loop; ///< .. until that where memory alone tells the passes of a loop apart
	struct dec_passes passes; ///< of that
	bool has_masked;	  ///< the capture: of what was masked memory says nothing
	bool is_by_registers;	  ///< looking ahead for any place with its registers
	char *cut;		  ///< why the log breaks off here; NULL when it does not
	bool is_cut;		  ///< the run ended there
	uint64_t syscalls;
	enum cap_end end;
	int end_value;
	uint64_t fault_addr;
	char *divergence;	      ///< set once, with the verdict DEC_DIVERGED
	struct dec_divergence parted; ///< the same in numbers; agreed_* always
	char *notes;		      ///< lines for people
	char recorded_on[64];	      ///< the processor's name; "": not known
	/** Pause behind each event by which a turn begins or memory is known to be shared, before
	 * anything else happens. */
	bool stops_at_turns;
	bool has_turned;      ///< paused there
	bool stops_at_maps;   ///< pause behind an executable mapping of a kept file
	bool has_mapped;      ///< there was one
	uint32_t mapped_file; ///< the mapping paused at
	uint64_t mapped_addr, mapped_size, mapped_offset;
	struct dec_output output;
	uint64_t handled, ignored; ///< bit n - 1: what the program does about signal n
	/** Called for each recorded call that is about to have its recorded outcome. May be
	 * NULL. */
	void (*on_call)(struct dec_replay *r);
	struct cap_events *again; ///< the log once more, for dec_loose_prepare()
	struct dec_loose *loose;  ///< in a branch
	bool is_laid_out;	  ///< that begins with variables moved (layout.h)
};

/** Open the capture in directory @p dir and set up everything: guest memory mapped,
 * registers set, first event fetched; r->stops_at_turns counts already. @p log_full: as in struct dec_world. */
struct err *dec_replay_init(struct dec_replay *r, const char *dir,
			    uint8_t *(*log_full)(void *ctx, size_t bytes), void *ctx);

/** Give back the memory of what dec_replay_wake() has again: in a checkpoint, and in what goes
 * on from it. @return of the second: as cap_events_wake(). */
void dec_replay_rest(struct dec_replay *r);
struct err *dec_replay_wake(struct dec_replay *r);

/** dec_engine_run() in the recorded run, over the pieces that a slice capture lacks. */
enum dec_stop dec_replay_run(struct dec_replay *r, uint64_t until);

/** A branch begins: it executes what a slice capture lacks, whose memory and registers were all put
 * in place so far. */
void dec_replay_forget_omitted(struct dec_replay *r);

/** After a pause behind the event by which a turn begins: let happen what comes before the next
 * step. @return as dec_replay_settle(). */
enum dec_verdict dec_replay_go_on(struct dec_replay *r);

/** Let happen what lies between the last step and the next one: switches, a handler's
 * beginning, a call that blocks. @return DEC_GO, or why the run cannot go on. */
enum dec_verdict dec_replay_settle(struct dec_replay *r);

#endif
