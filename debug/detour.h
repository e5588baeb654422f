// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Statements left out and predicates switched in an altered run (paper 002, section 2.1.1): at some
 * instructions it goes on elsewhere, in all instances of a statement, or in one.
 */
#ifndef DEBUG_DETOUR_H
#define DEBUG_DETOUR_H

#include "debug/session.h"

/** What happens at an instruction. */
struct dbg_turn {
	enum {
		DBG_TURN_START,	 ///< an instance of the statement begins
		DBG_TURN_JUMP,	 ///< it goes on at `to`: what lies between is left out
		DBG_TURN_FLIP,	 ///< a conditional branch: see below
		DBG_TURN_RETURN, ///< a function's first: it returns at once
	} kind;
	uint64_t at;
	uint64_t to;
	/** FLIP: where it goes on instead when it jumps, and when it does not; 0: as it is, for the
	 * predicate is not decided there. */
	uint64_t taken, not_taken;
};

/** A statement's detour. */
struct dbg_detour {
	uint64_t nth;  ///< of its instances from here on, from 1; 0: all
	uint64_t seen; ///< instances so far
	bool is_active;
	VEC(struct dbg_turn) turns;
};

typedef VEC(struct dbg_detour) dbg_detours;

/**
 * Read a detour: "NTH s:AT j:AT:TO f:AT:TAKEN:NOT_TAKEN r:AT ...", numbers hexadecimal but NTH.
 *
 * @param ret  Set only on success; dbg_detour_deinit().
 * @return ERR_USAGE.
 */
struct err *dbg_detour_parse(const char *text, struct dbg_detour *ret);
void dbg_detour_deinit(struct dbg_detour *d);

/** The altered run stands somewhere: do what is due there. A flip executes an instruction.
 * @return as dec_machine_run(), dec_machine_set_reg(). */
struct err *dbg_detours_take(struct dbg_session *s, dbg_detours *all);

/** Set or clear the machine's breakpoints of all of them. */
struct err *dbg_detours_break(struct dbg_session *s, const dbg_detours *all, bool is_on);

#endif
