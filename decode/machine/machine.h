// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What ran. A *machine* replays a capture: it stands at a position (the number of
 * instructions executed since exec), runs to another one or to a breakpoint, goes back,
 * shows registers and memory, and lists what each instruction of a window read and wrote.
 *
 * The guest runs in a sandboxed child process; checkpoints are forks of it. Invariants:
 *  1. A position names the same instant on every replay, in every log mode. In a slice
 *     capture each piece that was left out is one step.
 *  2. Nothing the guest does reaches the host: the child may only map memory, wait, fork
 *     and write the output descriptor it was given (doc/confinement.md).
 *  3. At every system call the general registers equal the recorded ones, or the run
 *     ends with DEC_AT_DIVERGENCE.
 *
 * A machine belongs to one thread; several machines may exist.
 */
#ifndef DECODE_MACHINE_MACHINE_H
#define DECODE_MACHINE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "decode/machine/agent.h"
#include "decode/translator/guard.h"
#include "decode/x86/insn.h"
#include "decode/translator/slots.h"

struct dec_machine;

/** Why the machine stopped. */
enum dec_at {
	DEC_AT_POSITION, ///< where it was told to go
	DEC_AT_BREAK,	 ///< before the instruction at a breakpoint
	DEC_AT_MAP,	 ///< a file was mapped executable: only options.mapped is told so
	DEC_AT_TURN, ///< behind the event by which a turn begins: dec_machine_turn() alone
	DEC_AT_END,  ///< the program ended, or the capture did
	DEC_AT_DIVERGENCE, ///< the replay left the recorded path
};

/** Where the machine stands. */
struct dec_where {
	enum dec_at at;
	uint64_t position; ///< steps: instructions, and parts of some (decode/README I1)
	uint64_t instructions; ///< executed
	/** In a slice capture: at which position of the recorded run. Else it is `position`. */
	uint64_t recorded;
	uint64_t syscalls; ///< system calls answered
	uint64_t switches; ///< from one thread to another
	uint64_t handlers; ///< of signals, that began
	uint32_t tid;	   ///< the thread that runs
	uint64_t rip;
	uint64_t seq;	      ///< of the last recorded event before it; 0: none
	uint64_t at_ns;	      ///< when that was (CLOCK_MONOTONIC); 0: not known
	enum cap_end end;     ///< DEC_AT_END: how
	int end_value;	      ///< exit status or signal
	uint64_t fault_addr;  ///< of a fatal fault
	uint64_t log_bytes;   ///< logged so far
	bool is_guarded;      ///< dec_machine_guard(), all the time,
	enum dec_doubt doubt; ///< .. which stopped here, for this reason
	uint64_t asked_site,
		asked_size; ///< DEC_DOUBT_ASKS: of the block that is about to be had
	bool is_cut; ///< DEC_AT_END: not the program's end but the capture's, which
		     ///< is damaged, cut short or unfinished (the notes say which)
	struct {
		uint32_t file; ///< 1-based index into cap_info.files
		uint64_t addr, size, file_offset;
	} map; ///< DEC_AT_MAP
};

/** In what the replay left the recorded path. */
enum dec_parting {
	DEC_PARTED_NOT,
	DEC_PARTED_REGISTER, ///< at the recorded system call, with another register
	DEC_PARTED_PLACE,    ///< at another system call instruction than recorded
	DEC_PARTED_EVENT,    ///< something else was recorded, or it was elsewhere
	DEC_PARTED_FAULT,    ///< a fault that was not recorded
	DEC_PARTED_MEMORY,   ///< what the recorded call did to memory cannot be done here
	DEC_PARTED_MACHINE,  ///< the machine cannot execute this
};

/** A divergence in numbers; dec_machine_divergence() has it in words. */
struct dec_divergence {
	enum dec_parting parting;
	uint32_t tid;
	uint64_t position;
	uint64_t rip;		   ///< where the replay stands
	uint64_t seq;		   ///< of the recorded event that it should have met
	enum cap_event_kind event; ///< its kind; 0 when no event is left
	uint64_t event_rip;	   ///< of the instruction it was recorded at; a signal's:
				   ///< where it landed
	uint8_t reg;		   ///< REGISTER: which, as in enum cap_gpr
	uint64_t recorded, replayed; ///< REGISTER: its values
	int signo;		     ///< FAULT: the signal that the replay would get
	uint64_t fault_addr;	     ///< FAULT
	bool has_agreed;	     ///< a system call was answered before:
	uint64_t agreed_position;    ///< where the last one was
	uint64_t agreed_seq;	     ///< its event
	uint64_t n_uncertain; ///< thread switches before it whose instant is not certain
};

/** Takes a piece of the log; it must not touch the machine. @return NULL to go on. */
typedef struct err *(*dec_log_fn)(void *ctx, const uint8_t *log, size_t bytes);

struct dec_interrupts;

struct dec_machine_options {
	int output_fd; ///< where what the program writes to stdout goes; -1: nowhere
	/** Where a trace of the processor's saw threads being interrupted: NULL, or finished
	 * (interrupts.h). Borrowed as long as the machine lives. */
	const struct dec_interrupts *interrupts;
	/** A slice capture will do, of which most of the run is left out; others than those who only
	 * walk along it would take what they do not see for what did not happen. */
	bool takes_slices;
	/** Behind each mmap of a kept file as executable: w->map, which it may be told again when the
	 * machine comes by once more. An error ends the run. NULL: nobody asks. */
	struct err *(*mapped)(void *ctx, const struct dec_where *w);
	/** It is one of several that are joined (joint.h): dec_machine_turn(). */
	bool takes_turns;
	void (*progress)(void *ctx,
			 const struct dec_where *w); ///< about ten times a second
	/** Asked about ten times a second while it runs: shall it stop? What was asked of it then
	 * ends with ERR_INTERRUPTED, and it stands somewhere on its way. Not of branches. NULL:
	 * nobody asks. */
	bool (*interrupted)(void *ctx, const struct dec_where *w);
	void *ctx; ///< of these
};

/**
 * Start a machine over @p c, standing at position 0.
 *
 * @param c  The caller's, and open for as long as the machine is there: it may start anew.
 * @param o  NULL for the defaults.
 * @return ERR_FORMAT, ERR_TRUNCATED (the start state is unusable), ERR_UNSUPPORTED (this
 *	   host cannot run it, or it is a slice capture; says why), ERR_OS.
 */
struct err *dec_machine_create(const struct capture *c,
			       const struct dec_machine_options *o,
			       struct dec_machine **ret);

/** Stop the machine and its checkpoints. NULL is fine. */
void dec_machine_destroy(struct dec_machine *m);
void dec_machine_destroyp(struct dec_machine **m);

/** Log in @p mode from here on; @p fn gets the pieces during runs. DEC_LOG_NONE stops. Without
 * @p fn the log is made and dropped, to measure that alone: handing a piece to somebody who
 * does nothing with it takes longer than filling it. */
struct err *dec_machine_log(struct dec_machine *m, enum dec_log_mode mode, dec_log_fn fn,
			    void *ctx);

/** From its start on watch over what pointers into the heap are used for (translator/guard.h), until in
 * doubt: then the run stops. Not with a log. @p how: DEC_GUARD_*; PATIENT: not of accesses, which
 * dec_machine_guard_accesses() lists. @return ERR_UNSUPPORTED: it cannot. */
struct err *dec_machine_guard(struct dec_machine *m, uint32_t how);

/** Tell it @p n places to know. */
struct err *dec_machine_guard_hooks(struct dec_machine *m, const struct dec_hook *hooks,
				    size_t n);

/** Behind the first @p from accesses that were in doubt: @p n, at most @p max, the instructions' addresses. */
struct err *dec_machine_guard_accesses(struct dec_machine *m, size_t from, uint64_t *ret,
				       size_t max, size_t *n);

/** A block that is allocated where the machine stands, as the guard knows. */
struct dec_guarded_block {
	uint64_t start, size;
	bool is_wide; ///< that is more than was asked for: malloc_usable_size() told of it
};

/** List up to @p max such blocks, behind the first @p from. @return ERR_OS. */
struct err *dec_machine_guard_blocks(struct dec_machine *m, size_t from,
				     struct dec_guarded_block *ret, size_t max,
				     size_t *n);

/**
 * Of a guard that follows values: list the words, of 8 bytes and at such addresses, that hold an address of the program's
 * memory and have no value: what was there before left it.
 *
 * @param from	Those below are left out.
 * @param ret	Up to @p max of them, ascending: if there are so many, more may be behind them.
 * @return ERR_OS, ERR_FORMAT.
 */
struct err *dec_machine_guard_left(struct dec_machine *m, uint64_t from, uint64_t *ret,
				   size_t max, size_t *n);

/** Set or clear a breakpoint. */
struct err *dec_machine_break(struct dec_machine *m, uint64_t rip, bool is_on);

/** Set a breakpoint that stops only where one of @p only_if holds (agent.h), which is asked where the
 * program runs. */
struct err *dec_machine_break_if(struct dec_machine *m, uint64_t rip,
				 const struct dec_agent_conditions *only_if);

/** Memory [start, end). */
struct dec_span {
	uint64_t start, end;
};

/** Log all 16 general registers whenever @p rip is reached, or no longer; where blocks are counted,
 * the one that begins there has a record then (but not with DEC_LOG_NONE). */
struct err *dec_machine_log_regs_at(struct dec_machine *m, uint64_t rip, bool is_on);

/** .. where a function begins that looks at texts, and stops as @p stops, of enum dec_look, says: how far it does is
 * logged, too (DEC_REC_LOOK), before it runs. @return ERR_OS, err_nomem. */
struct err *dec_machine_log_looks_at(struct dec_machine *m, uint64_t rip, uint8_t stops);

/** .. where a function begins that frees or writes what its first argument points to: it unmutes
 * (dec_machine_mute()). */
struct err *dec_machine_log_release_at(struct dec_machine *m, uint64_t rip);

/** In a log of calls or of stores jumps alone give a block a record where they are in @p code, or in
 * what was named before, and no more anywhere else. @return ERR_OS, err_nomem. */
struct err *dec_machine_log_jumps(struct dec_machine *m, struct dec_span code);

/** A page whose stores need not be logged. */
struct dec_mute {
	uint64_t page; ///< its number: address / 4096
	/** The start of the block that the page, and 64 bytes behind it, are part of, or one of enum
	 * dec_mute_owner. */
	uint64_t owner;
};

enum dec_mute_owner {
	DEC_MUTE_DROPPED, ///< nobody ever asks what is there
	DEC_MUTE_KEPT,	  ///< no block, nor are the 64 bytes behind it
};

#define DEC_MUTES 4096 ///< at once, at most

/** A store into a muted page may have so many bytes in the next one, less one: they are told as its own are. */
#define DEC_MUTE_BEYOND 64

/** In a log of DEC_LOG_STORES leave out blocks that store into muted pages alone, from here on, of @p mutes
 * and those that were named before. Before one of them is released, mapped anew or protected, DEC_REC_WRITE
 * tells what it holds, and it is muted no more; so with all before the machine starts anew or
 * goes into another mode. Where the processor cannot do it in passing, nothing is left out.
 * @p n: 0 unmutes all. @return ERR_RANGE (too many), or as dec_machine_run(). */
struct err *dec_machine_mute(struct dec_machine *m, const struct dec_mute *mutes,
			     size_t n);

/** Run forward until @p position, a breakpoint, the end or a divergence. @return an err
 * of the log's consumer, or ERR_OS when the machine's process died (says how). */
struct err *dec_machine_run(struct dec_machine *m, uint64_t position,
			    struct dec_where *ret);

/** The same, logging as dec_machine_log() does, up to there alone, whatever comes of it. */
struct err *dec_machine_run_logged(struct dec_machine *m, enum dec_log_mode mode,
				   dec_log_fn fn, void *ctx, uint64_t position,
				   struct dec_where *ret);

/** From here on heed writes to @p n spans, at most 64, on all ways that the machine goes; it costs
 * next to nothing. @p n: 0 stops it. Not astray. @return ERR_RANGE (too many). */
struct err *dec_machine_heed(struct dec_machine *m, const struct dec_span *spans,
			     size_t n);

/** @return whether one of the spans may have been written to since this was asked; sure is only
 * the no. */
bool dec_machine_heeded(struct dec_machine *m);

/** Stand at @p position, forward or backward: from the nearest checkpoint before it. */
struct err *dec_machine_seek(struct dec_machine *m, uint64_t position,
			     struct dec_where *ret);

/** Remember this position: seeking back to it or behind it starts from here. Checkpoints beyond 64,
 * and beyond 4 those that would together hold more memory than the machine's process does, or than
 * twice what the program has, replace the one whose neighbours are closest. */
struct err *dec_machine_checkpoint(struct dec_machine *m);

/** From here on checkpoints may together hold @p bytes, where that is more than they may else. */
void dec_machine_afford(struct dec_machine *m, uint64_t bytes);

/** @return how many there are. */
size_t dec_machine_checkpoints(const struct dec_machine *m);

/** @return the position of the last checkpoint before @p position; 0, where every machine can
 * begin, when there is none. */
uint64_t dec_machine_checkpoint_before(const struct dec_machine *m, uint64_t position);

/** Read general registers, or register @p reg (a number of x86/insn.h) into @p buf, which gets
 * *@p ret_bytes bytes: of the thread that runs. */
struct err *dec_machine_regs(struct dec_machine *m, struct cap_regs *ret);
struct err *dec_machine_reg(struct dec_machine *m, int reg, uint8_t buf[160],
			    size_t *ret_bytes);

/** A thread, at this position. */
struct dec_thread {
	uint32_t tid;
	bool is_running; ///< it has the CPU; the others wait for their turn
	bool is_in_call; ///< it stands at a system call that it has made
	/** As it named itself (prctl), or was named by who made it; of an executable's first
	 * thread its file's name, cut as the kernel does. */
	char name[16];
	struct cap_regs regs;
};

/** Tell the @p i-th thread there is. @return ERR_RANGE behind the last. */
struct err *dec_machine_thread(struct dec_machine *m, size_t i, struct dec_thread *ret);

/** dec_machine_reg() of thread @p tid. @return ERR_RANGE: there is none at this position. */
struct err *dec_machine_thread_reg(struct dec_machine *m, uint32_t tid, int reg,
				   uint8_t buf[160], size_t *ret_bytes);

/** Read guest memory. @return ERR_RANGE when some of it is not mapped. */
struct err *dec_machine_read(struct dec_machine *m, uint64_t addr, void *buf,
			     size_t size);

/** Some of the guest's memory. */
struct dec_range {
	uint64_t start, end;
	int prot;	///< PROT_*
	bool is_shared; ///< a shared mapping, or one of a file that is mapped elsewhere too
};

/** Tell the @p i-th mapping, by address, at this position. @return ERR_RANGE behind the
 * last. */
struct err *dec_machine_range(struct dec_machine *m, size_t i, struct dec_range *ret);

/**
 * Of memory from @p start to @p end, in one of its mappings, the first piece that may hold anything but zeros: pages that nobody
 * ever touched do not, and there may be very many.
 *
 * @param ret  start, end: of that piece, both @p end if there is none.
 */
struct err *dec_machine_touched(struct dec_machine *m, uint64_t start, uint64_t end,
				struct dec_range *ret);

/* ---- of a machine that takes turns (joint.h) ---------------------------------------------- */

/** Run on until an event by which a turn of the process begins, or memory is known to be shared, has
 * happened, and nothing behind it: DEC_AT_TURN, with its number in @p ret->seq. Or to the end. @p
 * has_collided: the machine would have to begin elsewhere: dec_machine_start_over(). */
struct err *dec_machine_turn(struct dec_machine *m, struct dec_where *ret,
			     bool *has_collided);

/** Stand at 0 again, with addresses of its own elsewhere. */
struct err *dec_machine_start_over(struct dec_machine *m);

/** @return ERR_UNSUPPORTED: wherever it begins it collides. */
struct err *dec_machine_no_room(void);

/** Hand @p fn what the program wrote since dec_machine_begin_turn() into memory that it shares: @p size
 * bytes at @p offset of memory @p key, which begin and end anywhere. @return err of @p fn;
 * ERR_UNSUPPORTED: it was too much for one turn; ERR_FORMAT, ERR_OS. */
struct err *dec_machine_changes(struct dec_machine *m,
				struct err *(*fn)(void *ctx, uint64_t key,
						  uint64_t offset, const uint8_t *bytes,
						  uint64_t size),
				void *ctx);

/** List the @p i-th piece of memory that is shared here. @return ERR_RANGE behind the last. */
struct dec_share;
struct err *dec_machine_share(struct dec_machine *m, size_t i, struct dec_share *ret);

/** Write @p w into the program's memory, as far as there is some. */
struct err *dec_machine_put(struct dec_machine *m, const struct cap_write *w);

/** At its end: write what the kernel does at that of each thread (robust mutexes, the word that joiners
 * wait for). */
struct err *dec_machine_leave(struct dec_machine *m);

/** What is written from here on counts for dec_machine_changes(). */
struct err *dec_machine_begin_turn(struct dec_machine *m);

/** What diverged or why the capture breaks off, or NULL; and notes on what was inferred or
 * is missing, lines, or NULL. Valid until the next call on @p m. */
const char *dec_machine_divergence(struct dec_machine *m);
const char *dec_machine_notes(struct dec_machine *m);

/** @return the name of the @p i-th instruction set (counted from 0) of which code was run
 * so far, as Zydis calls it: "SSE2", "AVX", "AVX512F_512"; NULL behind the last. */
const char *dec_machine_isa(const struct dec_machine *m, unsigned i);

/** @return the divergence where the machine stands, NULL when there is none. Valid as
 * above. */
const struct dec_divergence *dec_machine_parted(struct dec_machine *m);

#endif
