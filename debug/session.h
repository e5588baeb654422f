// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A debugger's view of a replayed process: where it stands, and its moves in both directions.
 * The protocol lies above (stub.c): nothing here knows of packets.
 *
 * Invariants:
 *  1. `where` is where the machine stands.
 *  2. At a handler's beginning there are two places of one position: before the signal is
 *     delivered, with the registers of what was interrupted (is_before_handler), and in the
 *     handler. The machine stands in the handler for both.
 *  3. The recorded run is never changed: what alters it happens in a branch (altered.h).
 */
#ifndef DEBUG_SESSION_H
#define DEBUG_SESSION_H

#include "debug/registers.h"
#include "decode/machine/trap.h"

/** What gdb calls breakpoint kinds: the numbers are the protocol's. */
enum dbg_point_kind {
	DBG_POINT_SOFTWARE,
	DBG_POINT_HARDWARE,
	DBG_POINT_WRITE,
	DBG_POINT_READ,
	DBG_POINT_ACCESS,
};

struct dbg_point {
	enum dbg_point_kind kind;
	uint64_t addr, size; ///< size: of memory
	struct dbg_code
		*code; ///< what is to be evaluated there (points.c); NULL: nothing
};

/** An event of the log, in short. */
struct dbg_event {
	uint32_t tid;
	uint16_t number; ///< SYSCALL
	uint8_t kind;	 ///< enum cap_event_kind
	uint8_t signo;	 ///< SIGNAL
};

/** A call that made a process; or a thread, which only its flags tell. */
struct dbg_fork {
	uint64_t seq;
	uint64_t flags; ///< clone: these; clone3: where they are
	uint32_t tid, child;
	int64_t number;
};

/** A file of the capture's was mapped. */
struct dbg_mapped {
	uint64_t seq; ///< by this event; 0: it was there at the beginning
	uint64_t start, end, offset;
	uint32_t file; ///< 1-based
};

/** A signal that had a handler, or was the end. */
struct dbg_signal {
	uint64_t seq;
	uint32_t tid;
	bool has_handler;
	struct cap_regs regs; ///< of what it interrupted
	uint8_t siginfo[128];
};

/** Why it stopped. */
enum dbg_why {
	DBG_STOP_PLACE, ///< it was put there
	DBG_STOP_STEP,
	DBG_STOP_POINT,	    ///< point
	DBG_STOP_ENTRY,	    ///< a system call is about to be made: number
	DBG_STOP_RETURN,    ///< it was
	DBG_STOP_FORK,	    ///< a process was made: number
	DBG_STOP_VFORK,	    ///< by vfork()
	DBG_STOP_VFORKED,   ///< .. which lets go of memory; it stands where it stood
	DBG_STOP_EXEC,	    ///< it executes another program, and is at its beginning
	DBG_STOP_SIGNAL,    ///< signo
	DBG_STOP_INTERRUPT, ///< the user wants it
	DBG_STOP_BEGIN,	    ///< there is nothing before it
	DBG_STOP_END,	    ///< nor behind it
	DBG_STOP_LOST,	    ///< an altered run is over
};

struct dbg_stop {
	enum dbg_why why;
	uint32_t tid;
	struct dbg_point point;
	uint64_t addr; ///< of the access
	int64_t number;
	int signo;
};

typedef VEC(struct dec_trap) dbg_traps;

struct dbg_session {
	const struct capture *capture;
	const struct cap_info *info;
	struct cap_core *core;
	struct dec_machine *machine;
	struct dbg_registers registers;
	struct dec_where where;
	bool is_before_handler;
	bool has_told_end; ///< the signal that ended it was a stop
	uint64_t
		entry_told; ///< at this position it stopped before a call; UINT64_MAX: no
	VEC(struct dbg_event) events; ///< by seq
	uint64_t first_ns;	      ///< when the first of them was
	VEC(struct dbg_signal) signals;
	VEC(struct dbg_fork) forks;
	VEC(struct dbg_mapped) mapped;
	VEC(struct dbg_point) points;
	bool is_going_back; ///< then nothing is printed at them
	bool tells_forks;   ///< processes that are made are stops
	bool catches_calls;
	VEC(int64_t) calls; ///< these; none: all
	uint64_t passes;    ///< bit n: signal n is no reason to stop
	bool has_told_altered;
	uint64_t malloc_at; ///< the program's malloc(), as far as gdb told; 0: not
	struct dbg_altered *altered; ///< altered.h; NULL: on the recorded path
	/** Whether the user wants it to stop; asked while it moves. */
	bool (*interrupted)(void *ctx);
	/** Tell the user a line. */
	void (*tell)(void *ctx, const char *text);
	void *ctx;		       ///< of both
	double moving_since_s, told_s; ///< for progress
	struct fl_trace *trace;	       ///< for slices; NULL: none was asked for
	struct dec_symbols *symbols;   ///< the trace's
	struct fl_slice *slice;	       ///< the last one
	struct err *failure;	       ///< of a move: nothing can be done but to end
};

/** Begin with capture @p c, which is borrowed, at position 0. The callbacks are set by the caller
 * before the first move. @return as capture_open(), dec_machine_create(). */
struct err *dbg_session_init(struct dbg_session *s, const struct capture *c);
void dbg_session_deinit(struct dbg_session *s);

/** Drop what a client has set: another one comes. */
void dbg_session_reset(struct dbg_session *s);

/** Be at the beginning of the process in @p c, which is borrowed, for the same client; its points
 * are gone. @return as dbg_session_init(); then it is good for dbg_session_deinit() alone. */
struct err *dbg_session_follow(struct dbg_session *s, const struct capture *c);

/** Tell a line made of @p fmt. */
void dbg_session_tell(struct dbg_session *s, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Find thread @p tid, 0: the one that runs. Its registers are those of the place (I2).
 * @return ERR_RANGE: it is not there. */
struct err *dbg_session_thread(struct dbg_session *s, uint32_t tid,
			       struct dec_thread *ret);

/** Read memory, up to the first byte that is not there. @return how many bytes. */
size_t dbg_session_read(struct dbg_session *s, uint64_t addr, void *buf, size_t size);

/** @return what file is mapped at @p addr, NULL: none, as far as is known. */
const struct dbg_mapped *dbg_session_mapped(const struct dbg_session *s, uint64_t addr);

/** @return the signal that began its handler, or ended the run, last; or that comes with the fault of the
 * instruction that is next. NULL: none did. */
const struct dbg_signal *dbg_session_signal(const struct dbg_session *s);

/** @return whether a point of kinds [@p first, @p last] overlaps [@p addr, @p addr + @p size); the
 * first of them is *@p ret. */
bool dbg_session_point(const struct dbg_session *s, enum dbg_point_kind first,
		       enum dbg_point_kind last, uint64_t addr, uint64_t size,
		       struct dbg_point *ret);

/* ---- processes that are made (forks.c) ------------------------------------------------------ */

/** Keep @p ev if it may have made a process. */
struct err *dbg_fork_keep(struct dbg_session *s, const struct cap_event *ev);

/** Add to @p v what meets those calls. */
struct err *dbg_fork_traps(const struct dbg_session *s, dbg_traps *v);

/** Did the last call of thread @p tid, which is an event behind number @p after, make a process? @p ret
 * is the stop. */
bool dbg_fork_made(struct dbg_session *s, uint32_t tid, uint64_t after,
		   struct dbg_stop *ret);

/* ---- points (points.c) ---------------------------------------------------------------------- */

/** Set @p p, or let it have other code. @p code is consumed; NULL: none. */
struct err *dbg_point_set(struct dbg_session *s, const struct dbg_point *p,
			  struct dbg_code *code);
void dbg_point_clear(struct dbg_session *s, const struct dbg_point *p);
void dbg_points_clear(struct dbg_session *s);

/** Take code as gdb writes it behind a point's address and kind: ";X" conditions, ";cmds:" what is
 * to be run. @param ret  NULL: there is none. @return ERR_USAGE, or NULL. */
struct err *dbg_code_take(struct dbg_session *s, struct dbg_cursor *c,
			  struct dbg_code **ret);

/** Put what a trap for point @p p needs of its code into @p t. */
void dbg_code_apply(const struct dbg_point *p, struct dec_trap *t);

/** Where @p m stands at a point with code @p ctx: @return whether it is a stop. One of its conditions
 * holds, or cannot be evaluated (so gdb looks at it); and nothing is run instead. */
bool dbg_code_holds(void *ctx, struct dec_machine *m);

/* ---- moves (motion.c) ----------------------------------------------------------------------- */

/** Thread @p tid (0: whichever runs) executes an instruction, after the others what they do
 * before; and more, as long as it then stands in [@p from, @p to). */
struct err *dbg_step(struct dbg_session *s, uint32_t tid, uint64_t from, uint64_t to,
		     struct dbg_stop *ret);

/** Run to the next stop. */
struct err *dbg_go(struct dbg_session *s, struct dbg_stop *ret);

/** Back to before the last instruction of thread @p tid. */
struct err *dbg_step_back(struct dbg_session *s, uint32_t tid, struct dbg_stop *ret);

/** Back to the last stop before. */
struct err *dbg_go_back(struct dbg_session *s, struct dbg_stop *ret);

/** Back to before the last write to @p size bytes at @p addr, by the program or for it, down to
 * position @p since; @p ret is as of dec_machine_back(): without one it stands there. */
struct err *dbg_last_write(struct dbg_session *s, uint64_t addr, uint64_t size,
			   uint64_t since, struct dec_trapped *ret);

/** Stand where one of @p n instructions @p rip is executed the @p nth time (from 1) behind position
 * @p from, and before position @p until; 0: count them all. @p ret_met: how often it was; fewer than
 * @p nth, it stands at @p until. */
struct err *dbg_execution(struct dbg_session *s, const uint64_t *rip, size_t n,
			  uint64_t from, uint64_t until, uint64_t nth, uint64_t *ret_met);

/** Have a checkpoint where it stands: coming back is quick. */
struct err *dbg_checkpoint(struct dbg_session *s);

/** Stand at @p position, or at the end if that comes before. */
struct err *dbg_seek(struct dbg_session *s, uint64_t position);

/** Stand at the first position at which event number @p seq has happened, or, where @p at_ns is
 * not 0, one behind that time. */
struct err *dbg_seek_event(struct dbg_session *s, uint64_t seq, uint64_t at_ns);

#endif
