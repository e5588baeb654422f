// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Bug specifications (paper 002, chapter 3): what is a mistake, at which points of a run, and
 * which values' ways are to be told. A rule is a statement of a specification as constraints are;
 * grammar and meaning: doc/rules.md.
 *
 * The order of use: spec_create(), spec_add_file() or spec_add_text(); when there are no errors,
 * spec_bug() for each rule, and spec_bug_holds() at each of its points, before what happens there.
 */
#ifndef SPECDSL_BUGS_H
#define SPECDSL_BUGS_H

#include "specdsl/specdsl.h"

/** Where a rule is asked (Table 3.1 and four more). */
enum spec_point {
	SPEC_POINT_READ,    ///< deref_r r
	SPEC_POINT_WRITE,   ///< deref_w r
	SPEC_POINT_DEREF,   ///< deref r: either
	SPEC_POINT_FREE,    ///< free r: of any function that releases
	SPEC_POINT_CALL,    ///< call z v..
	SPEC_POINT_RET,	    ///< ret z v
	SPEC_POINT_SYSCALL, ///< syscall z v..
	SPEC_POINT_FAULT,   ///< fault r: a signal ends the program for an access
	SPEC_POINT_RACE,    ///< race r: two threads access r, in no order, one writes
	SPEC_POINT_USE, ///< use r: a value decides: a branch, an address, a system call
	SPEC_POINTS
};

enum spec_severity { SPEC_ERROR, SPEC_WARNING, SPEC_NOTE };

#define SPEC_BUG_SLOTS 24 ///< variables of one rule, those of its predicates included
#define SPEC_BUG_ARGS 6	  ///< arguments that a call has at most

struct spec_bug {
	const char *name;
	const char *file;
	int line;
	const char *text; ///< as the user wrote it, spaces kept
	enum spec_point point;
	const char *function; ///< CALL, RET, SYSCALL: z
	int n_args;	      ///< of the point: slots 0 to n_args - 1
	const char *arg[SPEC_BUG_ARGS];
	int n_chains; ///< VPC(..): their slots
	int chain[SPEC_BUG_ARGS];
	enum spec_severity severity;
	const char *message; ///< NULL: none given
	bool is_off;	     ///< only when it is named
};

size_t spec_bugs(const struct spec *s);
const struct spec_bug *spec_bug(const struct spec *s, size_t i);

/** @return the name of variable @p slot of rule @p i; NULL: it has no such. */
const char *spec_bug_slot(const struct spec *s, size_t i, int slot);

/** A number, with the block it belongs to if it is a pointer. */
struct spec_bug_value {
	uint64_t n;
	uint32_t bid;  ///< 0: no pointer to a block that is known
	uint64_t time; ///< of the event that bound it; 0: of the point
	bool is_bound;
};

/** What rules can ask about. */
struct spec_bug_world {
	const struct hg_graph *graph; ///< H and F: its nodes
	uint64_t time;
	uint64_t width;		       ///< Width(): bytes accessed at a deref
	uint64_t base;		       ///< Base(): of its address, what the pointer held
	uint64_t part_start, part_end; ///< PartBegin(r), PartEnd(r); both 0: no part
	uint64_t var_start, var_end;   ///< VarBegin(r), VarEnd(r), where storage is not 0
	uint8_t storage;   ///< Storage(r): 0 none that is known, 1 a frame, 2 static
	bool is_gone;	   ///< Gone(r): the variable's function has returned
	bool is_ended;	   ///< Ended(r): the variable's block has ended
	uint64_t entered;  ///< FindLast(_, call, z, _) at `ret z`: when it was called
	uint32_t releaser; ///< Releaser(): of a free
	bool is_told;
	uint64_t told; ///< Told(): of a free by operator delete, if is_told
	uint64_t reads,
		writes; ///< Reads(), Writes(): of a call that copies text, bytes from
			///< its second argument on, and from its first
	/** P: pointers in memory and registers, where somebody has listed them. */
	const struct spec_bug_value *pointers;
	size_t n_pointers;
	void *ctx;
	uint32_t (*family)(void *ctx, uint32_t bid);		      ///< Family(b)
	bool (*is_reachable)(void *ctx, uint32_t bid);		      ///< Reachable(b)
	bool (*is_led_to)(void *ctx, uint32_t bid);		      ///< LedTo(b)
	bool (*is_written)(void *ctx, uint64_t addr, uint64_t width); ///< Written(r)
	bool (*is_open)(void *ctx, uint64_t fd);    ///< Open(fd): it can be used here
	bool (*was_closed)(void *ctx, uint64_t fd); ///< Closed(fd): it was closed before
	bool (*is_refused)(void *ctx, uint64_t x);  ///< Refused(x): its call's memory
	bool (*read)(void *ctx, uint64_t addr, uint64_t *ret); ///< Value(l)
};

/** Does rule @p i's condition hold? @p slots: the point's arguments are bound; those that a match
 * binds are, behind it. Functions of @p w that are NULL say no. */
bool spec_bug_holds(const struct spec *s, size_t i, const struct spec_bug_world *w,
		    struct spec_bug_value slots[SPEC_BUG_SLOTS]);

/** The same for one element after the other of a condition `exists b in ..`: *@p next, 0 at first, says
 * which is next. @return false: there are no more. Of other conditions once. */
bool spec_bug_next(const struct spec *s, size_t i, const struct spec_bug_world *w,
		   struct spec_bug_value slots[SPEC_BUG_SLOTS], uint32_t *next);

/** May rule @p i, of a deref, hold for an access by a pointer inside of its block, which lives? (By a
 * pointer to no block that is known: @p has_block false.) When not, nobody need ask. */
bool spec_bug_may_hold(const struct spec *s, size_t i, bool has_block);

/** What a rule asks of the world: bits of these, so that only trackers run that are needed. */
enum spec_bug_need {
	SPEC_NEED_POINTERS = 1, ///< P, Reachable, LedTo
	SPEC_NEED_WRITTEN = 2,
	SPEC_NEED_FAMILY = 4,
	SPEC_NEED_PART = 8,
	SPEC_NEED_OBJECT = 16, ///< Storage, VarBegin, VarEnd, Gone
	SPEC_NEED_TEXT = 32,   ///< Reads, Writes
	SPEC_NEED_TOLD = 64,   ///< Told
};
unsigned spec_bug_needs(const struct spec *s, size_t i);

/** @return "error" .., "deref_r" .. */
const char *spec_severity_name(enum spec_severity severity);
const char *spec_point_name(enum spec_point point);

#endif
