// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which statement makes tests fail? Statements that failing tests executed, ranked: by value
 * replacement (paper 003, chapter 2): in how many failing runs some value there, were it
 * another one that was seen there, makes the whole output right (an IVMP); or by who executed
 * them (Tarantula, Ochiai, DStar). doc/ranking.md tells what a user may expect. Not shared
 * between threads.
 */
#ifndef SUPPRESS_HW_RANK_RANK_H
#define SUPPRESS_HW_RANK_RANK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

enum rank_method {
	RANK_IVMP,
	RANK_TARANTULA,
	RANK_OCHIAI,
	RANK_DSTAR,
	RANK_RANGES,	 ///< by what values an instruction had: failure predicates
	RANK_PREDICATES, ///< critical predicates: as IVMP, but branches alone are altered
};

/** How many faults are there (paper 003, chapter 3)? */
enum rank_faults {
	RANK_ONE, ///< one: a failing test's IVMPs narrow what is tried in the next
	RANK_MIN, ///< several: each failing test is searched on its own, once and for all
	RANK_FULL,    ///< and all again behind each fix
	RANK_PARTIAL, ///< those that execute what was fixed again; a list among several
};

struct rank_statement {
	char *file, *function; ///< file as DWARF has it
	int line;
	uint32_t n_failed, n_passed; ///< tests that executed it
	bool is_ranked;		     ///< one did that fails, or failed before a fix
	uint32_t n_ivmp;	     ///< failing tests with an IVMP there
	uint32_t id;		     ///< index before sorting
	double suspicion;	     ///< by the method
	double tie;		     ///< Tarantula's, among equals
	uint32_t rank;		     ///< from 1; of equals the last one's
	double score; ///< share of the statements that failing tests execute that need not be looked at
};

/** What a value is to its instruction: uses are counted in the order of operands. */
enum rank_role { RANK_DEF, RANK_USE1, RANK_USE2, RANK_USE3, RANK_USE4, RANK_ROLES };

/** An IVMP, for people: the first of its statement in its test. */
struct rank_ivmp {
	const char *test;
	uint32_t statement; ///< index into statements, before they are sorted
	bool is_branch;	    ///< the branch went the other way
	bool is_left_out;   ///< `original` was not stored
	bool is_each_time;  ///< a constant, replaced from there on at each instance
	uint64_t original, alternate;
	uint8_t bytes;
	uint64_t position;
	/** With rank_options.at: what was replaced of which of its instruction's sets of values
	 * (UINT32_MAX: none). */
	enum rank_role role;
	uint32_t set;
};

/** The values of one instance of an instruction (paper 003, Figure 2.1), of a conditional branch
 * those that were compared. Copies have one of them only: a load RANK_USE1, a store RANK_DEF. */
struct rank_set {
	uint32_t instruction; ///< equal numbers, same instruction
	bool is_failed;	      ///< it was in a failing test
	bool is_branch;
	uint8_t has; ///< bit by role
	int64_t value[RANK_ROLES];
};

struct rank_result {
	VEC(struct rank_statement) statements; ///< ranked; executed by a failing test
	VEC(struct rank_ivmp) ivmps;	       ///< statement: index into statements
	VEC(char *) tests;		       ///< names that ivmps borrow
	uint32_t n_failed, n_passed, n_left_out;
	uint32_t n_searched; ///< failing tests
	uint64_t n_runs;     ///< altered ones
	double search_s;
	bool is_interrupted;
	uint32_t n_recalled; ///< of n_searched, those known from before
	/** With rank_options.at: sets that differ, and the source that the statement is in. */
	VEC(struct rank_set) sets;
	char *source, *source_path; ///< NULL: it is not at hand; UTF-8 or not
	char *list_of; ///< PARTIAL: "file:line", whose failing tests the ranking is by
	line_list notes;
};

struct rank_options {
	const char *suite; ///< directory; of a capture where one of the next two is set
	const char *expected; ///< file that its stdout should have been equal to; NULL
	int want_status; ///< that it should have ended with; -1: any, but by no signal
	bool is_capture; ///< suite is one failing capture, judged by these
	enum rank_method method;
	bool is_lossless; ///< all instances, all alternates
	enum rank_faults faults;
	/** File that keeps what is known from one call to the next; NULL: none. */
	const char *state;
	/** "file:line" that were fixed, all of them; `state` says which of these are news. */
	const char *const *fixed;
	size_t n_fixed;
	/** "file:line": look at this statement alone, all its IVMPs (of a few instances each) and
	 * the sets of values that it had in all tests; NULL: rank. Directories may be left out. */
	const char *at;
	const char
		*sources; ///< directory with the program's sources; NULL: as DWARF has it
	bool with_progress;
	unsigned at_once; ///< altered runs
	/** Searched is only every n_parts-th statement, from the part-th on; n_parts 0: all. `state' then
	 * is what others put together: */
	unsigned part, n_parts;
	const char
		*known; ///< of a part: the state that all of them go on from; NULL: none
	/** States of all such parts, n_states: nothing is searched, the result is that of a search of all, and
	 * so is `state', which they went on from. */
	const char *const *states;
	size_t n_states;
	/** Asked between batches: shall it stop? May be NULL. */
	bool (*stops)(void);
};

/**
 * Rank.
 *
 * @param ret  Zeroed before; rank_result_deinit() after, in any case.
 * @return NULL; ERR_RANGE: no test failed; ERR_DIVERGED, ERR_TRUNCATED ... of a capture (says
 *	   which); ERR_FORMAT, ERR_VERSION, ERR_USAGE of the state; those of cap_suite_read().
 */
struct err *rank_suite(const struct rank_options *o, struct rank_result *ret);
void rank_result_deinit(struct rank_result *r);

/* ---- parts that stand alone --------------------------------------------------------- */

/** Of @p n numbers of @p bytes (1 to 8), signed, keep the least and the largest below and above
 * @p original, in order; @p original itself goes. @return how many: 4 at most. */
size_t rank_spanning(uint64_t *values, size_t n, uint64_t original, uint8_t bytes);

/** Sort @p statements by @p method, rank and score them. @p n_failed, @p n_passed: tests. */
void rank_sort(struct rank_statement *statements, size_t n, enum rank_method method,
	       uint32_t n_failed, uint32_t n_passed);

#endif
