// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of this room share: suppress.c (the rounds), suppress_trace.c (from a value to
 * the instance that defined it), suppress_crash.c (from a crash to the values),
 * suppress_race.c (races, judged).
 */
#ifndef SUPPRESS_HW_SUPPRESS_SUPPRESS_INT_H
#define SUPPRESS_HW_SUPPRESS_SUPPRESS_INT_H

#include "decode/explain/backward.h"
#include "suppress-hw/suppress/suppress.h"
#include "suppress-hw/suppress/suppress_layout.h"

/** A round: the run that crashed is followed to what defined the values it crashed by. */
struct sup_session {
	const struct sup_options *o;
	struct sup_result *ret;
	struct dec_machine *machine;
	struct dec_past *past;	///< NULL: not needed yet
	struct dec_nullify ask; ///< entries, and the points so far
	uint64_t end;		///< position of the recorded run's end
	uint64_t begin;		///< where the run that crashed was branched off
	struct dec_outcome outcome;
	struct dec_nullified told; ///< of it
	unsigned n_runs;
	/** The crash before, what it was by, and how often the same has come one after the other. */
	uint64_t crash_before, point_before;
	unsigned n_alike;
	size_t first;	  ///< of the points of this round
	unsigned n_found; ///< sources that led to one of these, be it there already
	size_t overrun_first; ///< the first point by which the same block's end was written over
	fl_races races;			///< of the recorded run, once
	bool has_races;			///< they were looked for
	struct sup_variables variables; ///< once
	bool has_variables;
	/** Runs that begin at variables.begin have their variables so; none of them: as recorded. */
	struct sup_order order;
};

/** Branch off at @p at with the points of @p ask, to be told of counts and calls under way. */
struct err *sup_count(struct sup_session *s, uint64_t at, const struct dec_nullify *ask,
		      uint64_t limit, struct dec_outcome *outcome,
		      struct dec_nullified *told);

/** Branch off at @p at with the points of @p ask, an instruction at a time from ask->full_from on. */
struct err *sup_branch(struct sup_session *s, uint64_t at, const struct dec_nullify *ask,
		       uint64_t limit, struct dec_outcome *outcome,
		       struct dec_nullified *told);

/** The statement to name for @p rip, reached through calls that return to @p callers. */
void sup_place(struct sup_session *s, uint64_t rip, const uint64_t *callers, size_t n,
	       struct sup_place *ret);

/** @return whether @p rip is code of the user's. */
bool sup_is_own(struct sup_session *s, uint64_t rip);

/** @return behind which instruction call @p c was made: where it returns to; where a jump took the place
 * of a call of the user's, behind that. */
uint64_t sup_caller(struct sup_session *s, const struct dec_nullify_call *c);

/** @return whether runs have their variables elsewhere. */
bool sup_is_ordered(const struct sup_session *s);

/** Run on with all points so far from @p begin on, for @p limit instructions at most: what became of it is
 * s->outcome, s->told. */
struct err *sup_run_altered(struct sup_session *s, uint64_t begin, uint64_t limit);

/** @return how many instructions a run that begins at @p begin gets. */
uint64_t sup_limit(const struct sup_session *s, uint64_t begin);

/** @return whether @p o is the end of a run that crashed. */
bool sup_is_crash(const struct dec_outcome *o);

/* ---- suppress_reorder.c --------------------------------------------------------- */

/** Look for an ordering of variables with which the program crashes, all points so far suppressed, and run it
 * with that. @return in *@p found whether there is one. */
struct err *sup_reorder(struct sup_session *s, bool *found);

/* ---- suppress_trace.c ----------------------------------------------------------- */

enum sup_which {
	SUP_MADE,
	SUP_READ, ///< the program looked at it: what the allocator wrote there counts, too
	SUP_ASSIGNED
};

/** Add to the result the instance that defined the value of origin @p o, of the run that crashed:
 * the value's, else its address's. None is added twice, nor what the allocator defined for
 * itself. */
struct err *sup_trace(struct sup_session *s, const struct dec_origin *o,
		      enum sup_which which);

/** Add the instruction that crashed, where its code can be read. */
struct err *sup_trace_crash(struct sup_session *s);

/** Set in s->ask which calls are under way at @p begin of the recorded run. */
struct err *sup_calls(struct sup_session *s, uint64_t begin);

/** Count the points anew, for a run that begins at @p begin, before the present one. */
struct err *sup_recount(struct sup_session *s, uint64_t begin);

/* ---- suppress_race.c -------------------------------------------------------------- */

/** Judge the races of the recorded run in which the statement at @p p writes, until one of them may do
 * harm; none twice. */
struct err *sup_race_at(struct sup_session *s, const struct sup_place *p);

/** Judge race number s->o->race. @return ERR_NOT_FOUND: there is none. */
struct err *sup_race_asked(struct sup_session *s);

/* ---- suppress_crash.c ------------------------------------------------------------- */

/** Trace all that may have caused the crash of s->told. */
struct err *sup_crash(struct sup_session *s);

/** Where the crash of s->told was. */
void sup_crash_place(struct sup_session *s, struct sup_place *ret);

#endif
