// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A session of debugging and repair (paper 004, Table 1): commands of a script, in lines. The program
 * runs from its main(), by run.h; what is asserted in the function that is repaired becomes its
 * witness. doc/repair.md has the commands.
 */
#ifndef FAULTLOCATE_REPAIR_SESSION_H
#define FAULTLOCATE_REPAIR_SESSION_H

#include "faultlocate/repair/record.h"
#include "faultlocate/repair/repair.h"

struct rp_session {
	struct rp_program *p;
	int function;	       ///< that is repaired
	const int64_t *inputs; ///< of input()
	size_t n_inputs;
	/** Of a capture: the state in which the function is called; NULL: main() is run. */
	const struct rp_state *first;
	/** The way from there to where commands begin: lines of statements, the last the one that is
	 * next; none: they begin at once. Of fl_rp_recorded_way(). */
	const int *way;
	size_t n_way;
	/** `continue': go on where the program was recorded, with what the call left. */
	struct err *(*go_on)(void *ctx, const struct rp_state *after, FILE *out);
	/** Where the commands end, the state there, of @p function at byte @p at; NULL: nobody asks. */
	struct err *(*shown)(void *ctx, const struct rp_state *s, int function,
			     unsigned at);
	void *ctx;		  ///< of both
	struct rp_recorder *also; ///< what else is asserted, taken over; NULL: nothing
	FILE *commands, *out;
	bool is_everywhere;  ///< no localisation
	double most_seconds; ///< for one `repair'; 0: no limit
	/** Set by fl_rp_session_run(): */
	unsigned n_repairs, n_failed; ///< questions that had an answer, or none
	unsigned n_mistakes;	      ///< commands that could not be done; each is told
};

/** Do all commands. @return NULL, or what no command is to blame for. */
struct err *fl_rp_session_run(struct rp_session *s);

#endif
