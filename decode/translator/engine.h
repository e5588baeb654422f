// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The same-ISA translator: runs guest code that lies in this process, at its own
 * addresses, block by block from a code cache, and leaves to its world (a table of
 * callbacks) whatever the capture decides: system calls, time stamps, faults.
 *
 * Invariants:
 *  1. `now` is exact: the number of guest instructions executed, at each return to C.
 *  2. Guest registers are the ctx's while C runs; the guest's memory is this process's.
 *  3. Emitted code changes no guest flag, no guest stack byte, and no register but those
 *     it spilled and restores.
 *  4. A guest mapping wins: where it needs the place of an arena, the arena moves.
 *
 * One engine a process: gs, SIGSEGV and the alternate signal stack belong to it.
 */
#ifndef DECODE_TRANSLATOR_ENGINE_H
#define DECODE_TRANSLATOR_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "decode/translator/ctx.h"
#include "decode/translator/guard.h"
#include "decode/translator/slots.h"

// More than the longest block's record.
#define ENGINE_GUARD_BYTES (16u << 10)

// Room for the largest block: 32 instructions of up to 64 slots of 64 bytes are not real;
// this is twice the largest seen with every AVX-512 form, and asserted at its end.
#define ENGINE_BLOCK_BYTES (128u << 10)

// So many instructions a continuation takes over, to count them with its own.
#define ENGINE_PENDING 32

// They are executed before they are counted, and so may a block's own be.
#define ENGINE_OVERRUN (ENGINE_PENDING + DEC_BLOCK_INSNS)

/** Why dec_engine_run() returned. */
enum dec_stop {
	DEC_STOP_POSITION, ///< the instruction count was reached
	DEC_STOP_BREAK,	   ///< about to execute a breakpoint address
	DEC_STOP_PAUSE,	   ///< the world asked for a pause
	DEC_STOP_END,	   ///< the world ended the run (exit, fatal signal)
	DEC_STOP_DIVERGED, ///< the world found the guest off the recorded path
};

struct dec_engine;

/** What the world says to an exit. */
enum dec_verdict {
	DEC_GO,
	DEC_PAUSE,
	DEC_END,
	DEC_DIVERGED,
	DEC_RAISED ///< of dec_world.special: a signal came instead, and its handler is next
};

/** @return why a run stopped that ended with @p v, which is not DEC_GO. */
static inline enum dec_stop dec_stop_of(enum dec_verdict v)
{
	return v == DEC_END   ? DEC_STOP_END :
	       v == DEC_PAUSE ? DEC_STOP_PAUSE :
				DEC_STOP_DIVERGED;
}

/** What the guest's surroundings do. Each callback may change registers and memory. */
struct dec_world {
	void *ctx;
	/** At a syscall instruction, not yet counted; rip is still its address. */
	enum dec_verdict (*syscall)(void *ctx, struct dec_engine *e);
	/** rdtsc, rdtscp or cpuid at rip: set the results; the engine moves rip. Or DEC_RAISED. */
	enum dec_verdict (*special)(void *ctx, struct dec_engine *e,
				    const struct dec_insn *insn);
	/** A fault at rip: fault_signo, fault_addr in the ctx. DEC_GO re-executes at rip. */
	enum dec_verdict (*fault)(void *ctx, struct dec_engine *e);
	/** Reached the place the world asked for by dec_engine_set_async(). */
	enum dec_verdict (*stop_at)(void *ctx, struct dec_engine *e);
	/** The same, asked before, while vector registers are the guest's: is this surely not it, and stop_at would do
	 * nothing? May be NULL. To use general registers alone. */
	bool (*may_pass)(void *ctx);
	/** About to execute what dec_mute_set_release() names, the first argument being @p addr: where it
	 * is, and 4095 bytes on, no page is muted any more. NULL: none is. */
	void (*unmute)(void *ctx, uint64_t addr);
	/** How many bytes at @p addr the guest may use as @p prot (one PROT_ bit) says;
	 * 0: none. */
	uint64_t (*avail)(void *ctx, uint64_t addr, int prot);
	/** Code of guest page @p page (address >> 12) is about to be translated: from now
	 * on a change of it must reach dec_engine_invalidate(). @return false: it will not; it is to be looked
	 * at each time. May be NULL. */
	bool (*code_seen)(void *ctx, uint64_t page);
	/** The log holds @p bytes; take them and give the next buffer. */
	uint8_t *(*log_full)(void *ctx, size_t bytes);
	/** Code that may run now: @p n instructions that follow each other. May be NULL. */
	void (*met)(void *ctx, const struct dec_insn *insn, int n);
	/** Something the engine cannot do; for people. The run diverges. */
	void (*complain)(void *ctx, struct dec_engine *e, const char *text);
};

// Where, from a block's landing, the address of the next one lies that has the same slot.
#define ENGINE_LANDING_NEXT (-8)

struct engine_block {
	uint64_t rip;
	uint8_t *host, *host_end;
	uint8_t *entry; ///< where direct branches come: host, but for one that is_carried
	uint8_t *landing; ///< where indirect branches try it: translation_landing()
	uint8_t *
		fast; ///< entry with scratch borrowed already: the log pointer is in the first; NULL: none
	uint32_t first_host; ///< into insn_host: host offset of each instruction
	uint32_t first_exit;
	uint32_t debit_at; ///< host offset from which on all of it is counted
	// Host offsets from where the log pointer is beyond the record; from where no
	// register is borrowed any more.
	uint32_t advanced_at, closed_at;
	uint32_t opened_at; ///< of a guarded block: registers are borrowed from here on
	uint32_t r11_at;    ///< from this host offset on r11 is in spill[0]
	bool is_carried;    ///< all through it r11 is there, and rcx in spill[1]
	// Where a place of dec_engine_set_async() has the jump over its comparison, and what
	// follows that; 0 elsewhere.
	uint32_t async_at, async_over;
	bool is_async_blind;  ///< the comparison leaves other flags than the guest's
	uint32_t guest_bytes; ///< of its instructions, the one it ends before included
	uint8_t n_insns;      ///< executed natively
	uint8_t cell;	      ///< of the budget, that its instructions count in
	uint8_t debit_insn;   ///< before this one they do
	int8_t debit;	      ///< so many, with what is pending
	int8_t pending; ///< executed before it and not counted; if negative, the other way round
	bool looks;	    ///< there is a place of looks: it is entered from C alone
	uint8_t scratch[3]; ///< registers in spill[0..2]; DEC_REG_NONE
	uint8_t far_reg;    ///< register in spill[3] (far.c); DEC_REG_NONE
	uint8_t nat_reg;    ///< register in spill[2] (nat.c), where bit n of
	uint32_t nat_held;  ///< this is set while instruction n executes; DEC_REG_NONE
	uint8_t n_exits;
	bool is_gone;	     ///< dec_engine_forget() was here: its entries lead elsewhere
	bool is_unguarded;   ///< of what runs while the guard rests (dec_guard_rests())
	uint32_t stop_event; ///< of the guard, that it begins with: index + 1; 0: none
	/** Its page may change unseen (dec_world.code_seen): what it was made of (so many bytes, kept from there on) is compared
	 * with what is there, and it ends behind a store. It does so itself (translation_check_code()), or is entered
	 * from C alone, which does. */
	bool is_checked, checks_itself;
	uint32_t checked_at, checked_bytes;
	uint32_t next_on_page[2]; ///< of its first, its second page: index + 1; 0: last
	bool is_pad;		  ///< of one exit, for now: dec_engine_make_pad()
	bool is_quiet;		  ///< its instructions are in no record
	bool is_mutable; ///< perhaps (mute.h): its record has a header only if it stays
	bool is_gs, is_fs, shows_x87,
		is_integer; ///< of the one instruction of a single block
	uint32_t log_bytes; ///< of its record; 0 when not logged
};

enum engine_exit_kind {
	ENGINE_EXIT_DIRECT,  ///< to rip, may be linked
	ENGINE_EXIT_BUDGET,  ///< at its block's check, before rip
	ENGINE_EXIT_SPECIAL, ///< an instruction for C at rip
	ENGINE_EXIT_STOP,    ///< a stop or breakpoint at rip
	ENGINE_EXIT_STALE,   ///< the block is of other code than there is at rip
	ENGINE_EXIT_UNMUTE,  ///< mute.h, before rip
	ENGINE_EXIT_NAT,     ///< something may be NaT (nat.h), or is counted, at rip
};

struct engine_exit {
	uint64_t rip;
	uint8_t *patch; ///< rel32 to point at the target block; NULL: never linked
	uint8_t *slow;	///< scratch is still borrowed: rel32 behind its giving back,
			///< for targets that cannot take it over; NULL otherwise
	uint32_t block;
	uint8_t kind;
	int8_t pending; ///< executed and not counted there; if negative, the other way round
	uint8_t n_taken; ///< so often, while it is not linked, or to a pad
	bool is_linked;	 ///< once, to a continuation of its own or the common block
};

/** What emitted code was before it was changed. */
struct engine_was {
	uint8_t *at, bytes[8];
};

/** What dropped blocks of one address lead to, which are alike (forget.c). */
struct engine_gone {
	uint32_t block;		  ///< the first of them
	uint32_t exit, fast_exit; ///< .. linked to what is there now, if anything is
	uint8_t *to, *fast_to;	  ///< from their hosts, from fast; NULL: they have none
	uint32_t next;		  ///< there, of others: index + 1; 0: last
};

struct engine_arena {
	uint8_t *start, *end;
	uint8_t *cursor, *hot_end; ///< blocks, up to where they may go
	uint8_t *cold;		   ///< behind hot_end: what hardly ever runs
	/** Up to where there is memory for blocks, and for the cold: the rest faults, as the guest
	 * expects of what it does not have. */
	uint8_t *open, *open_cold;
	uint8_t *touched, *touched_cold; ///< up to where there are pages
	VEC(uint32_t) blocks;		 ///< those in it, by address
};

/** The operand of the instruction at `rip` lies `by` bytes further on. */
struct dec_engine_move {
	uint64_t rip;
	int64_t by;
};

/** Guest code [start, end). */
struct engine_code {
	uint64_t start, end;
};

struct dec_engine {
	struct dec_ctx *ctx;
	struct dec_world world;
	uint64_t now; ///< instructions executed
	/** dec_engine_run() goes no further than this position, whatever it was told; 0: no such. The
	 * world may set it whenever C runs. */
	uint64_t halt_at;
	enum dec_log_mode mode;
	struct map block_of;	 ///< guest rip -> block index
	struct map unguarded_of; ///< .. of those that are unguarded
	uint8_t scratch_hint[3]; ///< scratch of the block that leads to the next one made
	struct map single_of;  ///< guest rip -> block of that one instruction, not logged
	struct map breaks;     ///< guest addresses of breakpoints -> 1
	struct map watched;    ///< guest address -> 1: log the registers there
	struct map releases;   ///< guest address -> 1: dec_mute_set_release()
	struct map looks;      ///< guest address -> enum dec_look bits: look.h
	bool mutes;	       ///< pages may be muted: mute.h
	bool tells_some_jumps; ///< dec_engine_tell_jumps() said which:
	VEC(struct engine_code) told_jumps;
	struct map code_pages;	  ///< guest page that holds translated code -> index + 1
				  ///< of a block there, 0: none
	struct map checked_pages; ///< .. of those that may change unseen -> 1
	VEC(uint8_t) checked;	  ///< see engine_block.is_checked
	uint32_t n_checked;	  ///< times that such blocks were looked at
	uint32_t n_gone;	  ///< of the blocks
	VEC(struct engine_gone) gone;
	struct map gone_of; ///< guest rip -> index + 1 of one there
	VEC(struct engine_block) blocks;
	VEC(struct engine_exit) exits;
	VEC(uint32_t) insn_host;
	VEC(struct engine_arena) arenas;
	VEC(uint64_t) crowded; ///< arena.c: where code has no room for an arena near it
	VEC(struct engine_was) was; ///< see dec_engine_keep_code()
	bool keeps_code;
	/** Unless NULL registers and memory may be NaT: what is C's then is a breakpoint to
	 * dec_engine_run(), and what it would do by single steps is left undone. */
	const struct dec_nat *nat;
	uint8_t *log_start;  ///< the buffer being filled; NULL in DEC_LOG_NONE
	uint8_t *log_end;    ///< of its usable part; ENGINE_GUARD_BYTES follow that
			     ///< fault when a block begins a record that does not fit
	uint8_t *guarded[2]; ///< buffers whose guard is in place
	uint64_t quiet_told; ///< ctx->quiet as the last DEC_REC_QUIET has it
	bool is_flushed;     ///< set by dec_engine_flush(): block indices are void
	uint64_t async_rip;  ///< see dec_engine_set_async(); 0 = none
	uint64_t async_rflags;
	struct map asyncs; ///< guest rips that it ever was -> registers ignored there
	uint64_t unstopped_rip; ///< execute this stop address without stopping, once,
	uint64_t unstopped_now; ///< at this position
	/** Instructions that processors without them take for others; see emulate.h. */
	enum { ENGINE_ALIKE, ENGINE_ONLY_HERE, ENGINE_ONLY_THERE } lzcnt, tzcnt;
	bool is_loop_quick; ///< the `loop` instruction of this CPU is
	bool has_rorx;	    ///< it can shift and leave the flags alone
	uint64_t isa[4];    ///< bit n: code of instruction set n (dec_insn.isa) was run
	/** What is decoded differently from what lies there, by address; flush behind a change. */
	const struct dec_engine_move *moves;
	size_t n_moves;
	struct dec_guard *guard;			 ///< NULL: there is none
	uint64_t n_translated, n_exits_taken, n_flushes; ///< statistics
};

/** Set up the engine: ctx, gs, signal handling. @p world is copied. */
struct err *dec_engine_init(struct dec_engine *e, const struct dec_world *world);

/** Handle the signals of faults: done by dec_engine_init(), and to be done again where somebody
 * else (a test's runner) took them. */
struct err *dec_engine_take_signals(void);

/** Of functions that run with the guest's TLS: nothing may be added to them. */
#define ENGINE_BARE \
	__attribute__((no_sanitize("address", "undefined", "thread"), no_stack_protector))

/** Ask @p fn first of each fault from here on. @return of it: whether that is resolved. It runs on
 * the signal stack, perhaps with the guest's TLS: it may call nobody who needs his own. */
void dec_engine_ask_first(bool (*fn)(int signo, int code, uint64_t addr));

/** @return whether there is such a one. */
bool dec_engine_is_asked_first(void);

/** From here on keep what changes in the code that there is, for dec_engine_restore_code(): all of
 * it, as long as it is not flushed. */
void dec_engine_keep_code(struct dec_engine *e);

/** The code that there was is again what it was. What of the engine tells about it, and what was
 * made since, is the caller's to take back. */
void dec_engine_restore_code(struct dec_engine *e);

/** The bytes at @p at, of emitted code, up to 8, are about to be changed. */
void dec_engine_keep(struct dec_engine *e, uint8_t *at);

/** @return what remembers decoded instructions, @p ret_bytes of whole pages: it tells nothing but
 * what the bytes do. */
void *dec_engine_remembered(size_t *ret_bytes);

/** Emitted code at stops asks dec_world.may_pass from now on. */
void dec_engine_open_stop_door(struct dec_engine *e);

/** .. and does, called by dec_stop_door alone. @return where it goes on: in the block, or out. */
uint8_t *dec_engine_at_stop_door(void);

/** @return what a block is for dec_engine_warm(). */
uint64_t dec_engine_block_key(const struct engine_block *b);

/** Translate the @p n blocks @p key, where there is code, and link what leads to them: before a
 * fork whose children will run them. */
void dec_engine_warm(struct dec_engine *e, const uint64_t *key, size_t n);

/** Choose what is logged from here on; the code cache is dropped when it changes.
 * @p buffer: where to log (page aligned, at least 64 KiB, of which the engine makes the
 * last 16 KiB inaccessible), NULL with DEC_LOG_NONE. */
void dec_engine_set_mode(struct dec_engine *e, enum dec_log_mode mode, uint8_t *buffer,
			 size_t bytes);

/** Run until @p until instructions were executed, a breakpoint, or the world's end.
 * A breakpoint at the very rip the run starts from does not stop it. */
enum dec_stop dec_engine_run(struct dec_engine *e, uint64_t until);

/** Set a breakpoint at address @p rip, or remove it. */
void dec_engine_set_break(struct dec_engine *e, uint64_t rip, bool is_on);

/**
 * Stop for the world when the guest is about to execute @p rip with the general registers
 * @p gpr: where it was interrupted. The flags are not compared: it has @p rflags then, or
 * its own, if it is going to look at them. The comparison is emitted code, so that a hot loop may
 * pass the place a billion times; it is passed by, at the cost of a jump, while another
 * place is the one. @p rip 0: no more.
 *
 * @param ignore  Bit n: register n need not be equal.
 */
void dec_engine_set_async(struct dec_engine *e, uint64_t rip, const uint64_t gpr[16],
			  uint64_t rflags, uint32_t ignore);

/** Log the general registers wherever @p rip is executed, from now on; or no longer. */
void dec_engine_set_watch(struct dec_engine *e, uint64_t rip, bool is_on);

/** A jump has a record of its own (dec_insn_is_told()) where it is of code in [start, end), or was
 * said to be before, and nowhere else. @return -1: out of memory. */
int dec_engine_tell_jumps(struct dec_engine *e, uint64_t start, uint64_t end);

/** Let block @p b, at such a place, do the comparison or pass it by. */
void dec_engine_arm(struct dec_engine *e, struct engine_block *b, bool is_on);

/** Guest memory [addr, addr+size) changed behind the code cache's back: what was made of
 * its pages is dropped, and code_seen() will hear of them again. */
void dec_engine_invalidate(struct dec_engine *e, uint64_t addr, uint64_t size);

/** @return whether block @p b is of what is there now; else it is dropped. Of what may change unseen it is no longer after
 * a while: the world is asked anew. */
bool dec_engine_is_current(struct dec_engine *e, uint32_t b);

/** Drop the blocks that hold code of [addr, addr+size). */
void dec_engine_forget(struct dec_engine *e, uint64_t addr, uint64_t size);

/** Block @p b, in arena @p a, is complete: to be found by its place and by its pages. */
void dec_engine_remember(struct dec_engine *e, struct engine_arena *a, uint32_t b);

/** Drop all translated code. */
void dec_engine_flush(struct dec_engine *e);

/** @return where blocks are to be found by their addresses: those that are @p is_unguarded, or the others. */
static inline struct map *dec_engine_blocks(struct dec_engine *e, bool is_unguarded)
{
	return is_unguarded ? &e->unguarded_of : &e->block_of;
}

/** Append a control record of @p size bytes (header included, multiple of 8) to the log
 * and @return it, its id and size set; NULL when nothing is logged. */
void *dec_engine_log(struct dec_engine *e, uint32_t id, size_t size);

/** Hand the log filled so far to the world. */
void dec_engine_log_flush(struct dec_engine *e);

/* ---- translate.c ------------------------------------------------------------ */

/** How a block is come to, when it is made. */
enum engine_way {
	ENGINE_WAY_SINGLE, ///< that one instruction, not logged, never linked, stops ignored
	ENGINE_WAY_DIRECT, ///< by branches that name it, or by C
	ENGINE_WAY_INDIRECT, ///< by returns and other branches that look it up, first of all
};

/** Translate the block at @p rip. @p pending: what exits that lead to it left uncounted; unless 0
 * it is known to them alone. @return its index, or UINT32_MAX (complained). */
uint32_t dec_engine_translate(struct dec_engine *e, uint64_t rip, enum engine_way way,
			      int pending);

/** Make a pad for exit @p exit_id, which leaves something uncounted: it counts that, and goes on to the common block; once in
 * a while it leaves by that exit. @return as dec_engine_translate(). */
uint32_t dec_engine_make_pad(struct dec_engine *e, uint32_t exit_id);

/* ---- link.c ------------------------------------------------------------------ */

enum { ENGINE_PASSES = 512 }; ///< of pads, until the one at hand is given up

#define ENGINE_NO_CODE (UINT32_MAX - 1)

/** Find or make the block at @p rip. @return its index; ENGINE_NO_CODE where there is nothing to execute, and perhaps no place for
 * a block near it: the address may be any; UINT32_MAX: as dec_engine_translate(). */
uint32_t dec_engine_block_for(struct dec_engine *e, uint64_t rip, enum engine_way way);

/** The guest left the code cache at exit @p exit_id for more of its code: from now on it branches there. @return DEC_DIVERGED: there
 * is no room for it (complained). */
enum dec_verdict dec_engine_go_on(struct dec_engine *e, uint32_t exit_id);

/* ---- arena.c ----------------------------------------------------------------- */

/** @return an arena with @p room bytes for a block and for its cold part, within 1 GiB of @p rip when one can be; or NULL. */
struct engine_arena *dec_engine_arena_for(struct dec_engine *e, uint64_t rip,
					  size_t room);

/** Nothing lies in arena @p a any more. */
void dec_engine_arena_empty(struct engine_arena *a);

/** @return a random number, for places that no pointer of the guest's is likely to meet. */
uint64_t dec_engine_random(void);

/** Move arenas out of [addr, addr+size) (invariant 4). */
void dec_engine_make_room(struct dec_engine *e, uint64_t addr, uint64_t size);

/* ---- slow.c ----------------------------------------------------------------- */

/** Execute the instruction at rip by itself and, when logging, log it as a DEC_REC_SLOW
 * record. */
enum dec_verdict dec_engine_step_slow(struct dec_engine *e);

/** @return the instruction at @p rip; its flow is DEC_FLOW_TRAP where there is none. Valid until
 * the next call. */
const struct dec_insn *dec_engine_insn(const struct dec_engine *e, uint64_t rip);

/** Alter @p insn, just decoded, if it is one of e->moves. @return whether it is. */
bool dec_engine_move(const struct dec_engine *e, struct dec_insn *insn);

/** Have the memory of what is remembered there at once: page by page it costs a millisecond. */
void dec_engine_prepare(void);

/** Give back the memory of what is only remembered: for a process that will not go on itself. */
void dec_engine_rest(void);

/** Forks of this process begin without it: they have fewer pages to copy. */
void dec_engine_travel_light(void);

/** Execute exactly one instruction at rip, without logging; stops do not matter. */
enum dec_verdict dec_engine_step(struct dec_engine *e);

/** Copy register @p reg (numbers of x86/insn.h; GPR, vector, mask, flags, x87, mxcsr) of
 * the guest to @p buf. @return its bytes: 8, 64, 8, 8, 160, 4; 0 for others. */
size_t dec_engine_read_reg(const struct dec_engine *e, int reg, uint8_t buf[160]);

/** Give register @p reg the value that dec_engine_read_reg() would give: DEC_REG_RIP, too. @return
 * whether there is such a register. */
bool dec_engine_write_reg(struct dec_engine *e, int reg, const uint8_t buf[160]);

/* ---- engine.c, for slow.c and emulate.c ------------------------------- */

/** @return the address of the guest instruction whose emitted code holds @p pc; 0: none. */
uint64_t dec_engine_guest_rip(const struct dec_engine *e, uint64_t pc);

/** The instruction at rip is one for C: answer it. */
enum dec_verdict dec_engine_special(struct dec_engine *e);

/** The guest may have what CTX_TURNED says from now on: the guard's door (ctx.h) is the wary one. */
void dec_engine_be_wary(struct dec_engine *e);

/** Enter the guest at @p block, handle the exit. At most @p budget instructions run and
 * ENGINE_OVERRUN more; at least one, or a fault, when the block is no longer than that. */
enum dec_verdict dec_engine_enter(struct dec_engine *e, uint32_t block, uint64_t budget);

#endif
