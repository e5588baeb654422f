// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The heap's history, by replaying a capture on the machine: every allocation, release
 * and store outside the stack, in order, each with its time (instructions executed
 * before it) and the statement that did it. What heapgraph/ is built from.
 */
#ifndef DECODE_HISTORY_HEAP_H
#define DECODE_HISTORY_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "capture/capture.h"
#include "decode/history/frames.h"
#include "decode/machine/trace.h"
#include "decode/symbols/variable.h"

/** How a replay ended. */
struct dec_run {
	uint64_t instructions, syscalls;
	bool has_matched; ///< every syscall's registers agreed with the capture
	enum cap_end end;
	int end_value;	     ///< exit status, or signal number
	uint64_t end_rip;    ///< last instruction (the faulting one for a crash)
	uint64_t fault_addr; ///< si_addr of a fatal SIGSEGV/SIGBUS, 0 otherwise
	double seconds;
	bool has_allocator; ///< a function of malloc's kind was found, or a trace of one
	bool has_unseen; ///< a block was allocated whose address was but stored (posix_memalign), and no stores were told
	char *divergence; ///< text for people when !has_matched; caller frees
	char *notes;	  ///< text: what was inferred, unlisted, skipped; caller frees
	/** Nothing was replayed: values were recovered (past/flight.h). */
	bool is_recovered;
	uint64_t *inferred; ///< times, ascending, whose stores are only inferred
	size_t n_inferred;
};

/** Free what @p r owns; it is empty and usable again. */
void dec_run_deinit(struct dec_run *r);

/** @return whether what happened at @p time is only inferred. */
bool dec_run_is_inferred(const struct dec_run *r, uint64_t time);

/** Statements (rip) of recovered histories that are none: memory was like that when the
 * window began; it had changed at the end, and what did it was not recovered. */
enum { DEC_HEAP_BEFORE = 1, DEC_HEAP_UNSEEN = 2 };

/** .. and this plus its index (dec_heap_options.vars) that of a variable: its declaration. */
#define DEC_HEAP_ROOT 16

/** @p size bytes were stored at @p addr, in memory the program got by brk or anonymous
 * mmap, in its writable data segments or, if variables of functions are asked for, on its
 * stack. Includes what system calls wrote and the allocator's own stores (@p in_allocator). */
struct dec_heap_store {
	uint64_t time, addr;
	uint64_t rip, pc; ///< as of the other events
	const void *data;
	uint32_t size;
	bool in_allocator;
};

#define DEC_HEAP_OF_THREAD (UINT64_C(1) << 63)

/** Behind all that a program may map: a variable that is in registers, or now here and now there,
 * is told to be there or behind. */
#define DEC_HEAP_NOWHERE (UINT64_C(1) << 47)

#define DEC_HEAP_PLAINS 1024 ///< a power of two
#define DEC_HEAP_PLAIN_BYTES 4096u

/** A page in which stores do nothing else than to change the bytes of it that somebody keeps. */
struct dec_heap_plain {
	uint64_t number; ///< UINT64_MAX: no page
	uint8_t *bytes;
};

/** @return where the page of @p addr is among such, if it is one. */
static inline uint64_t dec_heap_plain_of(uint64_t addr)
{
	return addr / DEC_HEAP_PLAIN_BYTES % DEC_HEAP_PLAINS;
}

/** What is seen, in time order. A callback that is NULL is not called; one that returns an
 * error ends the replay with it. @p rip: the statement: the instruction itself where its
 * module has DWARF lines, otherwise (libc) one byte before the return address of the
 * innermost caller that has; @p pc: the instruction itself. */
struct dec_heap_events {
	void *ctx;
	/** An allocator call returned @p addr for @p size bytes requested. @p rip: the call
	 * (one byte before its return address) in the innermost frame that has lines.
	 * @p is_zeroed: calloc. */
	struct err *(*alloc)(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			     bool is_zeroed, uint64_t rip, uint64_t pc);
	/** A release was requested (free entered); the memory is the allocator's from here. */
	struct err *(*release)(void *ctx, uint64_t time, uint64_t addr, uint64_t rip,
			       uint64_t pc);
	/** free (or realloc) returned: the allocator's own bookkeeping is done. */
	struct err *(*released)(void *ctx, uint64_t time, uint64_t addr);
	/** Some stores, one after the other; @p stores and their data until it returns. */
	struct err *(*stores)(void *ctx, const struct dec_heap_store *stores, size_t n);
	/** A watched address was reached: @p index into watch; @p is_return for the
	 * matching return of a watched function. */
	struct err *(*watch)(void *ctx, uint64_t time, size_t index, bool is_return);
	/** Variable @p index of dec_heap_options.vars is there, at @p addr, before what comes
	 * next. @p contents: its bytes; NULL: what was told of the memory. @p whose: the same
	 * for those of one thread (then DEC_HEAP_OF_THREAD is in it), and for the locals of one
	 * call of a function; 0: nobody's. */
	struct err *(*root)(void *ctx, uint64_t time, size_t index, uint64_t addr,
			    uint64_t size, const void *contents, uint64_t whose);
	/** .. and is there no more. @p rip: who ended it; DEC_HEAP_ROOT + @p index: it is
	 * optimized out from here on. */
	struct err *(*root_end)(void *ctx, uint64_t time, size_t index, uint64_t addr,
				uint64_t rip);
	/** Where a watched address is told next, variable @p index has begun, but is optimized
	 * out. */
	struct err *(*root_missing)(void *ctx, uint64_t time, size_t index);
	/** Asked what was told of @p size bytes at @p addr. NULL: variables that are in
	 * registers may not be found, or be optimized out. */
	void (*memory)(void *ctx, uint64_t addr, void *buf, size_t size);
	/** DEC_HEAP_PLAINS, those that are plain just now, by dec_heap_plain_of(): stores into them
	 * may be done there, and not told. NULL: all are told. */
	const struct dec_heap_plain *plain;
	/** Memory the program may use as heap: brk growth or anonymous mmap; fresh zeros.
	 * @p is_stack: it was asked for as a thread's stack. */
	struct err *(*region)(void *ctx, uint64_t time, uint64_t addr, uint64_t size,
			      bool is_stack);
};

/** Call @p what of events @p ev; NULL = it is not wanted. */
#define DEC_HEAP_TELL(ev, what, ...) \
	((ev)->what ? (ev)->what((ev)->ctx, __VA_ARGS__) : NULL)

/** An address to report: the entry of a function (with its returns), or a plain pc. */
struct dec_watch {
	uint64_t addr;
	bool is_function; ///< also report the return
};

/** Takes what instruction @p insn stored at @p time; @p data until the log goes. */
struct dec_heap_storer {
	struct err *(*store)(void *ctx, const struct dec_insn *insn, uint64_t time,
			     uint64_t addr, const void *data, uint32_t size);
	void *ctx;
	enum dec_log_mode mode; ///< which stores it takes
	/** .. and that a return at @p rip popped the address at @p rsp. */
	struct err *(*returned)(void *ctx, uint64_t rip, uint64_t rsp, uint64_t rax,
				uint64_t time);
};

/** May @p insn store what a log of @p mode has: of DEC_LOG_STORES outside of the stack? That has
 * none that go by rsp, so they are left out in others, too. Of what is stepped in C the operands do
 * not tell all. */
bool dec_heap_may_store(const struct dec_insn *insn, enum dec_log_mode mode);

/** @return dec_frames_jump_end() behind the instruction before g->at. */
static inline uint64_t dec_glance_jump_end(struct frames *f, const struct dec_glance *g)
{
	enum dec_flow flow = g->plan->insn[g->at - 1].flow;

	return flow == DEC_FLOW_JMP || flow == DEC_FLOW_JMP_IND ?
		       dec_frames_jump_end(f, &g->block->insn[g->at - 1]) :
		       0;
}

struct dec_heap_options {
	/** What is done with instructions ("analysed"), for a line on stderr about the progress
	 * of what takes over two seconds; NULL: none. */
	const char *progress;
	/** Called once every module is known that was mapped at the time (at the program's
	 * entry point and after each executable mapping): the caller resolves names to
	 * addresses and sets its list of what is to be watched, which grows. May be NULL. */
	struct err *(*resolve)(void *ctx, struct dec_symbols *symbols,
			       const struct dec_watch **watch, size_t *n_watch);
	void *resolve_ctx;
	/** Whether the user named the call at @p rip as one that allocates: then it is told
	 * for what is allocated in it, however many functions are in between. Asked once for
	 * each call. NULL: none is named. */
	bool (*is_site)(void *ctx, uint64_t rip);
	void *is_site_ctx;
	/** Times, ascending, at which the calls under way are told: those by the user's
	 * code, innermost first, one byte before their return addresses. The replay ends
	 * behind the last one. None: it goes to the end. */
	const uint64_t *calls_at;
	size_t n_calls_at;
	struct err *(*calls)(void *ctx, uint64_t time, const uint64_t *calls, size_t n);
	void *calls_ctx;
	/** Told, where the replay ended, the calls under way, and @p m, which stands there, at
	 * @p w. NULL: nobody asks. */
	struct err *(*ended)(void *ctx, struct frames *f, struct dec_machine *m,
			     const struct dec_where *w);
	void *ended_ctx;
	/** Shown each instruction with its values, as dec_machine_trace() does, before anything
	 * is told of what it does. Then the machine logs all values, which takes several
	 * times as long. @p frames: the calls under way. NULL: nobody asks. */
	struct err *(*step)(void *ctx, struct frames *frames, const struct dec_step *s);
	/** As struct dec_trace has it, or NULL; what it deals with is told of to @p store, if it
	 * is a store of which dec_heap_may_store() says so. */
	struct err *(*glance)(void *ctx, struct frames *frames, struct dec_glance *g,
			      const struct dec_heap_storer *storer);
	/** .. or this, which keeps @p frames, too, where blocks begin and end. */
	struct err *(*stretch)(void *ctx, struct frames *frames, struct dec_stretch *s,
			       const struct dec_heap_storer *storer);
	size_t glance_bytes;
	/** As struct dec_trace has it. */
	struct err *(*state)(void *ctx, uint32_t tid, const struct dec_rec *rec,
			     const uint64_t before[16]);
	/** Lends the stack of calls, as it is at each event. Or NULL. */
	void (*lend)(void *ctx, struct frames *frames);
	void *step_ctx; ///< of all five
	/** Variables to be told of. */
	const struct dec_variable *vars;
	size_t n_vars;
	uint64_t until;	      ///< so many instructions of the run; 0: all
	bool skips_inert;     ///< as struct dec_trace has it
	bool skips_allocator; ///< what the allocator stores need not be told
	bool skips_stores;    ///< what anybody does: see dec_run.has_unseen
	/** For frames.foreign. */
	const char *const *foreign;
	size_t n_foreign;
};

/** So many instructions run between two looks at what the machine need not log: for tests, which have
 * short programs. */
extern uint64_t dec_heap_piece;

/**
 * Replay @p c from start to end and report the heap's history. (Of a capture of the flight
 * recorder dec_flight_heap_trace() does it, as far as its last instructions go.)
 *
 * @param symbols  Filled with the modules as they are mapped; borrowed.
 * @param ret      How it ended; set also when a divergence cut it short (which is not
 *		   an error: the history up to there is good).
 * @return NULL, a callback's error, ERR_FORMAT/ERR_TRUNCATED from the capture,
 *	   ERR_UNSUPPORTED (no start state, or a host that lacks the CPU features).
 */
struct err *dec_heap_trace(const struct capture *c, struct dec_symbols *symbols,
			   const struct dec_heap_options *o,
			   const struct dec_heap_events *events, struct dec_run *ret);

#endif
