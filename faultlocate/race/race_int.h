// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to race/: a replay that is looked at, by walk.c (instructions), sync.c (what synchronises) and
 * race.c (what comes of it). The first time it learns: to where the calls return whose results are
 * wanted, and which words are accessed atomically.
 */
#ifndef FAULTLOCATE_RACE_RACE_INT_H
#define FAULTLOCATE_RACE_RACE_INT_H

#include "decode/history/frames.h"
#include "decode/machine/log.h"
#include "decode/machine/machine.h"
#include "faultlocate/race/calls.h"
#include "faultlocate/race/race.h"
#include "faultlocate/race/shadow.h"

/** A call under way that synchronises, or a function that one had called later. */
struct race_open {
	uint8_t does;
	bool is_callback, has_result;
	uint64_t rsp;	    ///< where its return address lies
	uint64_t key, more; ///< its object; RACE_WAIT: the lock, RACE_GIVES: bytes, ..
	uint64_t
		outer; ///< callback of RACE_FORK: the team before; of RACE_TASK: the clock
};

/** A cmov from memory: an access, if its register is another behind it. */
struct race_choice {
	uint64_t time, rip, addr;
	uint64_t behind; ///< where the thread goes on; 0: there is none
	uint64_t before; ///< its register
	uint8_t reg, size;
};

struct race_thread {
	uint32_t tid;
	size_t clock; ///< what it does is done by; a task has one of its own
	VEC(struct race_open) open;
	struct race_open
		pending; ///< it returned; its result is known where the thread goes on
	bool has_pending;
	bool has_ended;	 ///< and has no clock
	bool is_in_call; ///< a system call that is not answered yet
	uint64_t
		left_at; ///< number of the switch at which it was left in that first; 0: it was not
	bool was_call; ///< the last block ended with a call
	struct race_choice choice;
	VEC(uint64_t) locks;
	uint32_t lock_set; ///< number of that
	uint64_t team;
	VEC(size_t) sections;  ///< clocks of those that it ran, and has not left yet
	size_t outside;	       ///< .. its own meanwhile
	uint64_t sections_rsp; ///< .. where its frames for their team begin
	VEC(uint64_t)
	scratch;	 ///< blocks that it allocated in its team, outside of sections
	bool has_number; ///< it asked which of its team it is: it may have memory of its own
	uint64_t
		string_rsp; ///< in a string function of the C library that the user called; 0: not
	bool is_exact; ///< .. of which all counts, not what it writes alone
};

/** An operand in memory of a block of the log. */
struct race_operand {
	uint8_t insn, mem;
	bool is_read, is_write, is_fs;
	bool is_own;	    ///< the user's code
	bool is_locked;	    ///< lock prefix, xchg
	bool is_known;	    ///< .. or else known to be atomic
	bool is_plain;	    ///< a load or store that may be one of an atomic object
	bool is_choice;	    ///< of a cmov
	bool acquires;	    ///< somebody looks at what it read
	bool has_lanes;	    ///< the record tells which of its bytes are accessed
	uint32_t statement; ///< number of the user's that it is; 0: not known yet
	struct log_where where;
	/** Settled at that address as long as the shadow has that generation. */
	uint64_t addr, generation;
};

struct race_block {
	uint64_t jump_end;
	uint64_t slot; ///< that its jump or call goes through; 0: none
	int8_t branch; ///< operand of the return address; -1: none
	bool has_call, has_ret;
	bool is_library; ///< of the module that has the string functions
	bool has_own;	 ///< operands in the user's code,
	bool has_news;	 ///< .. of which something is to be learnt
	uint8_t string;	 ///< RACE_EXACT ..: one begins here; 0: none
	uint32_t n;
	struct race_operand operand[];
};

/** A thread that had a clock from a time on. */
struct race_owner {
	uint32_t from, tid;
};
typedef VEC(struct race_owner) race_owners;

/** Lock sets, each once. */
struct race_lock_set {
	uint64_t lock[FL_RACE_LOCKS];
	uint32_t n;
};

/** Of tasks that run function `function`: a word that they depend on. */
struct race_depend {
	uint64_t function, addr;
	size_t maker; ///< the clock of who made it
	uint8_t kind; ///< enum race_depends
};
enum race_depends { RACE_IN, RACE_OUT, RACE_MUTEX };

/** .. and a clock that made one. */
struct race_parent {
	uint64_t function;
	size_t clock;
};

struct race_walk {
	const struct fl_race_options *o;
	struct dec_symbols *symbols;
	struct dec_machine *machine;
	struct frames frames;
	struct log_reader reader;
	bool is_learning;
	uint64_t fs_base;
	double start;
	// What was learnt, as long as the question.
	/** Where registers are wanted: addresses to which calls return whose result is, cmov and what is
	 * behind it. */
	struct map places;
	struct map atomics; ///< addresses that are accessed atomically -> enum race_by
	struct map says;    ///< instruction -> enum race_says
	struct map instructions; ///< .. and instructions that do so
	struct map
		stores; ///< instructions that may store a vptr -> how often they were looked at
	struct map
		given; ///< switch, by number -> key to which the call gives that it was in
	// Of modules.
	struct map entries;	   ///< address -> index in fl_race_calls + 1
	struct map slots, strings; ///< of string functions; their entries
	const char *library;	   ///< the module that has them
	const char *linker;	   ///< .. and that of the dynamic linker
	struct map watched;
	// Of this replay.
	struct clocks clocks;
	struct shadow shadow;
	size_t epoch_clock;  ///< who accessed last,
	uint32_t epoch_time; ///< .. and when
	VEC(struct race_thread) threads;
	size_t thread; ///< that runs
	uint64_t n_switches;
	bool has_made;		 ///< somebody has made a thread, or a process
	struct map unchanged;	 ///< times of stores that changed nothing, as read
	struct map by_tid;	 ///< -> index
	struct map by_base;	 ///< fs base -> index
	struct map callbacks;	 ///< function -> does << 56 | 1: they run later
	struct map once;	 ///< function -> key
	struct map rounds;	 ///< key of a barrier -> how often it was passed
	struct map blocks;	 ///< of the allocator -> bytes
	VEC(race_owners) owners; ///< by clock
	VEC(struct race_depend) depends;
	VEC(struct race_parent) parents;
	size_t n_tasks;	      ///< with a clock of their own
	bool has_few_parents; ///< a task waits for those that it made, not for all
	bool has_unknown;     ///< .. dependences
	VEC(struct dec_range) stacks;
	VEC(uint64_t) statements;
	struct map statement_of; ///< -> index + 1
	VEC(struct race_lock_set) lock_sets;
	struct map lock_set_of;
	// What is found.
	fl_races found;
	struct map seen; ///< hash of two statements -> index + 1
};

enum { RACE_EXACT = 1, RACE_WRITES }; ///< values of slots and strings

/** Who accesses a word atomically: somebody; nobody but OpenMP's directives, which tell what is atomic. */
enum race_by { RACE_BY_ANY = 1, RACE_BY_DIRECTIVE };

/** What the source says of an instruction. */
enum race_says {
	RACE_SAYS_NOTHING, ///< it is not at hand
	RACE_SAYS_PLAIN,
	RACE_SAYS_ATOMIC, ///< it calls a function that is
	RACE_SAYS_DIRECTIVE, ///< it is, or follows, one of OpenMP's directives: of a reduction, an atomic
};

enum race_space { ///< of keys: what is at one address may be several objects
	SPACE_OBJECT,
	SPACE_READERS,
	SPACE_FORK,
	SPACE_ENDED,
	SPACE_TEAM,
	SPACE_THREAD,
	SPACE_TASKS,
	SPACE_TASKS_ENDED, ///< of a clock + 1; 0: of all
	SPACE_DEPEND_IN,
	SPACE_DEPEND_OUT,
	SPACE_DEPEND_MUTEX,
	SPACE_FILES,
	SPACE_OWN,
	SPACE_ROUND,
	SPACE_LOADED,
	SPACE_SIGNAL,
	SPACE_GONE, ///< of a thread that has ended
	RACE_SPACES = 32,
};

static inline uint64_t race_key(enum race_space space, uint64_t what)
{
	return what * RACE_SPACES + space;
}

static inline struct race_thread *race_now(struct race_walk *w)
{
	return &w->threads.data[w->thread];
}

// While it learns nobody asks for order.
static inline struct err *race_acquire(struct race_walk *w, uint64_t key)
{
	return w->is_learning ? NULL :
				fl_clocks_acquire(&w->clocks, race_now(w)->clock, key);
}

static inline struct err *race_release(struct race_walk *w, uint64_t key)
{
	return w->is_learning ? NULL :
				fl_clocks_release(&w->clocks, race_now(w)->clock, key);
}

/* ---- race.c -------------------------------------------------------------------------------------- */

/** @return what the source says of the instruction at @p rip. */
enum race_says fl_race_says(struct race_walk *w, uint64_t rip);

/* ---- vptr.c -------------------------------------------------------------------------------------- */

/** @return whether @p x may be a store of a vtable's address, and is not known to be looked at. */
bool fl_race_may_be_vptr(struct race_walk *w, const struct fl_race_access *x);

/** The machine stands at one that is: does it change anything? */
struct err *fl_race_note_store(struct race_walk *w, const struct dec_where *where);

/* ---- task.c -------------------------------------------------------------------------------------- */

/** A task is made that will run @p function. */
struct err *fl_race_make_task(struct race_walk *w, uint64_t function);

/** One begins, to be ended as @p o; and has ended. */
struct err *fl_race_begin_task(struct race_walk *w, struct race_open *o);
struct err *fl_race_end_task(struct race_walk *w, const struct race_open *o);

/** The thread has waited for tasks that it made. */
struct err *fl_race_wait_tasks(struct race_walk *w);

/** The thread has ended the section that it was in, if any, and begins section @p number; 0: none. */
struct err *fl_race_next_section(struct race_walk *w, uint64_t number);

/** What the thread did for a team, its return address at @p rsp, has ended. */
struct err *fl_race_leave_team(struct race_walk *w, uint64_t rsp);

/** The thread allocated a block at @p addr. @return ERR_NOMEM. */
struct err *fl_race_note_scratch(struct race_thread *t, uint64_t addr);

/** The machine stands where GOMP_task is entered: note on what the task will depend. */
struct err *fl_race_note_task(struct race_walk *w);

/* ---- walk.c ------------------------------------------------------------------------------------- */

extern const struct log_sink fl_race_sink; ///< ctx: the walk; to be copied

/** An access by the thread that runs; @p rip is the statement. @return what fl_shadow_access() does. */
struct err *fl_race_access(struct race_walk *w, uint64_t time, uint64_t rip,
			   uint64_t addr, uint64_t size, bool is_write, bool is_atomic);

/* ---- sync.c -------------------------------------------------------------------------------------- */

/** The function that begins, with registers @p gpr: does it synchronise? */
struct err *fl_race_enter(struct race_walk *w, uint64_t rip, const uint64_t gpr[16],
			  uint64_t time);

/** A function that was to be called later begins, its return address at @p rsp? */
struct err *fl_race_enter_callback(struct race_walk *w, uint64_t rip, uint64_t rsp);

/** A return, of what has its return address at @p rsp. */
struct err *fl_race_return(struct race_walk *w, uint64_t rsp);

/** The thread goes on behind a call that returned @p result. */
struct err *fl_race_finish(struct race_walk *w, uint64_t result);

/** A new clock, of thread @p tid, behind object @p key; SIZE_MAX: no memory. */
size_t fl_race_clock(struct race_walk *w, uint32_t tid, uint64_t key);

/** Free what @p t has. */
void fl_race_thread_deinit(struct race_thread *t);

/** @return whose clock @p clock was at time @p time. */
uint32_t fl_race_tid(const struct race_walk *w, size_t clock, uint32_t time);

/** A system call was answered. */
struct err *fl_race_syscall(struct race_walk *w, const struct dec_rec *rec,
			    uint64_t time);

/** The thread that runs gets signal @p signo, to handle it or because it waited for that. */
struct err *fl_race_take_signal(struct race_walk *w, uint64_t signo);

/** Thread @p tid runs from here on; the one that ran is in a system call, or not. */
struct err *fl_race_switch(struct race_walk *w, uint32_t tid, bool is_left_in_call);

#endif
