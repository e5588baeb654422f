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
#include "decode/symbols/symbols.h"
#include "suppress-hw/rank/rank_lists.h"

/** Where a search begins its branches: the start of a stretch of so many instructions, or behind
 * what the run did to its mappings, which no process of several branches can take back. */
#define RANK_STRETCH 16384

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

struct rank_session {
	const struct rank_options *o;
	struct rank_result *ret;
	struct cap_suite suite;
	VEC(struct rank_run) runs;
	struct map statement_of; ///< hash of file and line -> index of ret->statements
	struct map profile_of;	 ///< instruction and kind -> index of profiles
	VEC(struct rank_profile) profiles;
	uint8_t *in_question; ///< statements that are searched; NULL: all
	size_t n_in_question;
	double start_s, shown_s;
	cJSON *state;	     ///< as the file has it
	VEC(uint32_t) fixed; ///< statements that were not so at the last call
};

/** Trace @p run: what it executed, its values, and places to replace them if it failed. */
struct err *rank_profile(struct rank_session *s, struct rank_run *run);

/** Search it for IVMPs. */
struct err *rank_search(struct rank_session *s, struct rank_run *run);

/* ---- rank_state.c --------------------------------------------------------------------- */

// Statements of a list that was shown that are kept: later lists are compared by their heads.
#define SHOWN_KEPT 256

/** Read the state, or begin one. */
struct err *rank_state_open(struct rank_session *s);

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
