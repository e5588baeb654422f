// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of this room share: rank.c (the suite), rank_profile.c (one test's run, traced
 * once), rank_search.c (altered runs).
 */
#ifndef SUPPRESS_HW_RANK_RANK_INT_H
#define SUPPRESS_HW_RANK_RANK_INT_H

#include <cjson/cJSON.h>

#include "capture/cap_suite.h"
#include "decode/machine/branch.h"
#include "decode/machine/trace.h"
#include "decode/symbols/symbols.h"
#include "suppress-hw/rank/rank_lists.h"

/** Where a search begins its branches: the start of a stretch, or behind what the run did to its mappings,
 * which no process of several branches can take back. A stretch has so many instructions, at least, as each
 * branch runs from its start; but a place to begin at costs several forks, so that it is worth it only for
 * so many values; and so many instructions at most. */
#define RANK_STRETCH 16384
#define RANK_STRETCH_PLACES 128
#define RANK_STRETCH_MOST (16 * RANK_STRETCH)

enum rank_kind {
	RANK_VALUE_MEMORY,   ///< memory, before the instruction or behind it
	RANK_VALUE_REGISTER, ///< a general register
	RANK_VALUE_BRANCH,   ///< which way it goes
	RANK_VALUE_STORE,    ///< whether it is stored: memory keeps what it had, or not
};

/** A value at an instance that may be replaced. */
struct rank_place {
	uint32_t statement, profile;
	uint8_t kind, reg, bytes;
	uint64_t addr, value, position;
	/** The alteration: before the how manyth time that this is reached in its stretch. */
	uint64_t rip;
	uint32_t nth, stretch;
	uint32_t set; ///< UINT32_MAX: not kept
	uint8_t role;
};

/** How much had been printed. */
struct rank_printed {
	uint64_t position, bytes; ///< up to there, to stdout
};

/** One test's run. */
struct rank_run {
	struct cap_suite_test *test;
	char *dir;	   ///< its capture
	uint64_t length;   ///< instructions
	uint8_t *executed; ///< a statement each, of those there were then
	size_t n_executed;
	bool is_failed;
	bool has_failed;	       ///< it did before a fix, and is known from then
	VEC(struct rank_place) places; ///< of failing runs
	VEC(struct rank_printed) printed;
	VEC(uint64_t) begins; ///< positions where stretches do
	uint8_t *has_ivmp;    ///< a statement each
};

/** The values seen at an instruction. */
struct rank_profile {
	VEC(uint64_t) values; ///< they differ
};

struct rank_range;

struct rank_session {
	const struct rank_options *o;
	struct rank_result *ret;
	struct cap_suite suite;
	VEC(struct rank_run) runs;
	struct map statement_of; ///< hash of file and line -> index of ret->statements
	struct map set_of;	 ///< hash of a set -> its index
	uint32_t at;		 ///< the statement of o->at; UINT32_MAX: not met so far
	VEC(struct rank_range) ranges; ///< of RANK_RANGES
	struct map range_of;	       ///< value and run -> its index
	bool is_ambiguous;	       ///< o->at is the name of several
	uint32_t n_incomplete;	       ///< tests whose captures have gaps
	char *gap;	       ///< of the first of these: its name, and what is missing
	struct map profile_of; ///< instruction and kind -> index of profiles
	VEC(struct rank_profile) profiles;
	uint8_t *in_question; ///< statements that are searched; NULL: all
	size_t n_in_question;
	double start_s, shown_s;
	cJSON *state; ///< as the file has it, or of a part the one that all go on from
	cJSON *found; ///< of the tests that were searched since, as state's "tests"
	VEC(uint32_t) fixed; ///< statements that were not so at the last call
};

/** Trace @p run: what it executed, its values, and places to replace them if it failed. */
struct err *rank_profile(struct rank_session *s, struct rank_run *run);

/** Does "file:line" mean line @p line of @p file, whose directories may be left out? */
bool rank_is_named(const char *name, const char *file, int line);

/* ---- rank_sets.c ---------------------------------------------------------------------- */

/** An operand in a set. */
struct rank_operand {
	bool is_mem, is_def;
	uint8_t reg, role;
};

#define RANK_OPERANDS 8

struct rank_operands {
	struct rank_operand of[RANK_OPERANDS];
	size_t n;
};

/**
 * The values of @p step, which is of instruction @p instruction.
 *
 * @param ret  `has` is 0 where it has none that mean anything in other runs.
 * @param operands  which of them has which role.
 */
void rank_set_make(const struct dec_step *step, uint32_t instruction,
		   struct rank_set *ret, struct rank_operands *operands);

/** Keep @p set if it is new. @param ret  its index; UINT32_MAX: there are too many. */
struct err *rank_set_keep(struct rank_session *s, const struct rank_set *set,
			  uint32_t *ret);

/** @return whether the number @p value of @p bytes is one of where programs, libraries, stacks lie. */
bool rank_is_address(uint64_t value, uint8_t bytes);

/** @return the role of the first operand that is like that; RANK_ROLES: none is. */
uint8_t rank_set_role(const struct rank_operands *operands, bool is_def, bool is_mem,
		      uint8_t reg);

/* ---- rank_ranges.c -------------------------------------------------------------------- */

/** @p run had the values of @p set at @p statement. */
struct err *rank_ranges_note(struct rank_session *s, const struct rank_run *run,
			     uint32_t statement, const struct rank_set *set);

/** Set the suspicion of all statements. */
void rank_ranges_judge(struct rank_session *s);
void rank_ranges_deinit(struct rank_session *s);

/* ---- rank_search.c -------------------------------------------------------------------- */

/** Search it for IVMPs. */
struct err *rank_search(struct rank_session *s, struct rank_run *run);

/* ---- rank_state.c --------------------------------------------------------------------- */

// Statements of a list that was shown that are kept: later lists are compared by their heads.
#define SHOWN_KEPT 256

/** Read the state, or begin one, and what parts have found. */
struct err *rank_state_open(struct rank_session *s);

/** Was test @p run searched by this call, or by a part? */
bool rank_state_is_found(const struct rank_session *s, const struct rank_run *run);

/** Find what was fixed among the statements; a note says what is not executed any more. */
struct err *rank_state_fix(struct rank_session *s);

/** @return the statement that is called @p name, "file:line"; UINT32_MAX: none. */
uint32_t rank_state_find(const struct rank_session *s, const char *name);

/** May statement @p at be replaced, for what is known by now? */
bool rank_is_in_question(const struct rank_session *s, uint32_t at);

/** Recall the IVMPs of @p run. @p is_known: not set where it has to be searched. */
struct err *rank_state_recall(struct rank_session *s, struct rank_run *run,
			      bool *is_known);

/** Keep those that were found. */
struct err *rank_state_keep(struct rank_session *s, const struct rank_run *run);

/** Which list is next? @p of: UINT32_MAX where there is none. */
struct err *rank_state_choose(struct rank_session *s, const struct rank_rows *rows,
			      uint32_t *of);

struct err *rank_state_write(const struct rank_session *s);

#endif
