// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Execution suppression (paper 003, Figure 5.3): from a crash to the statement that first
 * corrupted memory. What may have caused the crash is traced to the instances that defined it;
 * the run is made again with these and all that they influence nullified; and so on with the
 * crash that comes next, until there is none, or a race that may do harm has defined what it was by
 * (Figure 6.1). doc/suppression.md tells what a user may expect.
 * Not shared between threads.
 */
#ifndef SUPPRESS_HW_SUPPRESS_SUPPRESS_H
#define SUPPRESS_HW_SUPPRESS_SUPPRESS_H

#include "base/base.h"
#include "capture/capture.h"
#include "decode/machine/branch.h"
#include "decode/machine/nullify.h"
#include "decode/symbols/symbols.h"
#include "suppress-hw/suppress/suppress_race.h"

/** A statement of the program's, as far as that is known. */
struct sup_place {
	uint64_t rip; ///< of the instruction, or of the call of a library
	struct dec_place place;
	const char *by; ///< the library's function that did it; NULL: itself
	bool is_own;	///< it is the user's code
};

/** A point of suppression. */
struct sup_point {
	struct dec_point at; ///< counted from where the last run began
	bool is_use;	     ///< it used what nothing defined since the program began
	int weight;	     ///< of those of a step the likelier one has more
	uint64_t position;   ///< in the run that crashed
	uint64_t
		begin; ///< at.is_each: of it, where the instances begin that are left out
	struct sup_place place;
};

/** Statements of which something was not executed. */
struct sup_omitted {
	struct sup_place place;
	uint64_t n; ///< instructions
};

/** An ordering of variables with which a run crashed that did not before. */
struct sup_ordering {
	const char *space; ///< "stack", "globals"
	line_list pairs;   ///< what lay where, in words: "buf in f(), next"
	unsigned n_runs;   ///< with this one, that were made to find it
};

/** A crash, and what was suppressed because of it. */
struct sup_step {
	size_t ordering; ///< of sup_result.orderings, from 1, with which it came; 0: as recorded
	int signal;
	uint64_t position;
	struct sup_place place;
	size_t first, n; ///< of sup_result.points; n 0: none was found
	uint64_t begin;	 ///< of the run behind it: where it was left alone up to
	uint64_t n_steps, n_omitted;	 ///< of that run, instructions from there on
	uint64_t n_slow;		 ///< of these, not in emitted code
	VEC(struct sup_omitted) omitted; ///< of these, by file and line
};

struct sup_result {
	struct capture *capture;
	struct dec_symbols *symbols;
	bool has_crashed; ///< the recorded run did: else all below is empty
	VEC(struct sup_step) steps;
	/** The step that is reported: if it does not crash any more, that whose likeliest point was the first to
	 * take place; else the last. */
	size_t found;
	VEC(struct sup_point) points;
	VEC(struct sup_ordering) orderings;
	unsigned n_orderings;	    ///< runs with others, that did not crash
	bool is_removed;	    ///< the last run did not crash
	VEC(struct sup_race) races; ///< that were judged, in turn
	/** The last of these may do harm: of the points of the last step, which are not left out. */
	bool is_race;
	enum dec_nullify_mode mode;
	/** The last run. */
	struct dec_outcome outcome;
	struct dec_nullified told;
	line_list notes;
};

struct sup_options {
	const char *capture; ///< directory
	bool with_progress;
	unsigned max_runs; ///< altered runs, then it gives up
	enum dec_nullify_mode mode;
	uint8_t granule; ///< as dec_nullify.granule
	bool reorders; ///< what does not crash is run with variables elsewhere until it does
	/** Nothing is suppressed: this race is judged, of those that fl_races_find() finds, from 1.
	 * 0: the crash is looked at, and races that define what it was by. */
	size_t race;
};

/**
 * Do it.
 *
 * @param ret  Zeroed before; sup_result_deinit() after, in any case.
 * @return NULL also when the crash could not be removed; ERR_DIVERGED, ERR_TRUNCATED: the
 *	   capture does not come to its crash; ERR_NOT_FOUND: there is no such race; else as dec_machine_create().
 */
struct err *sup_suppress(const struct sup_options *o, struct sup_result *ret);
void sup_result_deinit(struct sup_result *r);

#endif
