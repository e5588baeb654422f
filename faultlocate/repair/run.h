// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A program of program.h, executed: its state of boxes and arrows (paper 004, section 3) and what
 * a run witnessed. Nodes are numbered from 1 in the order in which they were made (n1, n2, ..), 0
 * is null; what was never assigned is RP_UNKNOWN.
 */
#ifndef FAULTLOCATE_REPAIR_RUN_H
#define FAULTLOCATE_REPAIR_RUN_H

#include "faultlocate/repair/program.h"

#define RP_UNKNOWN INT64_MIN

struct rp_node {
	int record;
	bool is_freed;
	int64_t *fields; ///< as many as the record has
};

/** Variables and nodes. Of a frame, the values of its function's variables; of globals theirs. */
struct rp_state {
	VEC(int64_t) globals; ///< one for each variable of the program
	VEC(int64_t) frame;   ///< of the innermost call, the same
	VEC(struct rp_node) nodes;
};

/** Everything unknown but globals, which have their first values. @return NULL or err_nomem. */
struct err *fl_rp_state_init(struct rp_state *s, const struct rp_program *p);
void fl_rp_state_deinit(struct rp_state *s);
/** @p to: one that is deinitialised or zeroed. */
struct err *fl_rp_state_copy(struct rp_state *to, const struct rp_state *from,
			     const struct rp_program *p);

/** @return where @p var is kept. */
int64_t *fl_rp_state_variable(struct rp_state *s, const struct rp_program *p, int var);
/** @return where @p r is kept; NULL when the node is none: null, unknown, freed, of another type. */
int64_t *fl_rp_state_place(struct rp_state *s, const struct rp_program *p,
			   const struct rp_ref *r);

/**
 * Is @p s as @p asked, in each variable that can be named at byte @p at of @p function, each field
 * and whether nodes are freed? What is unknown in @p asked may be anything.
 *
 * @param why  the first difference, "n3->next is n2, not n1"; NULL: not wanted.
 */
bool fl_rp_state_is(const struct rp_state *s, const struct rp_state *asked,
		    const struct rp_program *p, int function, unsigned at, char *why,
		    size_t room);

/** Print @p s as boxes and arrows: variables of @p function nameable at byte @p at, then nodes. */
void fl_rp_state_print(const struct rp_state *s, const struct rp_program *p, int function,
		       unsigned at, FILE *out);
/** The same as a graph for dot. */
void fl_rp_state_dot(const struct rp_state *s, const struct rp_program *p, int function,
		     unsigned at, FILE *out);

/** What a run decided where a patch cannot: loops, branches with such in them, calls, new nodes. */
enum rp_event_kind {
	RP_EV_LOOP,
	RP_EV_IF,
	RP_EV_CALL,
	RP_EV_RETURN,
	RP_EV_NODE,
	RP_EV_INPUT
};

struct rp_event {
	enum rp_event_kind kind;
	int id;	       ///< of the statement; of CALL the function
	int64_t value; ///< of LOOP and IF whether, of NODE and INPUT which
};

/** At a place of a run: before a statement, after so many events. */
struct rp_mark {
	size_t events;
	int statement;
	bool is_change;	       ///< the user wrote, and asserted nothing
	struct rp_state state; ///< that is asserted, or that it became
	int number;	       ///< of the `spec', from 0, for messages
};

/** One call of the function that is repaired. */
struct rp_witness {
	int function;
	struct rp_state before; ///< at its first statement
	VEC(struct rp_event) events;
	VEC(struct rp_mark) marks; ///< in order
	size_t stop_events;	   ///< where the run is now, as of rp_mark
	int stop_statement;	   ///< RP_NONE: it came to its end
};

void fl_rp_witness_deinit(struct rp_witness *w);
/** @p to: zeroed, or deinitialised. @return NULL or err_nomem. */
struct err *fl_rp_witness_copy(struct rp_witness *to, const struct rp_witness *from,
			       const struct rp_program *p);

struct rp_run;

/** What looks on; each may be NULL. */
struct rp_watch {
	/** Before @p s, at the head of a loop too. @return false: stop here (RP_STOPPED). */
	bool (*before)(struct rp_run *r, const struct rp_statement *s);
	/** At a loop or branch. @return whether it goes by *@p ret, whatever its condition says. */
	bool (*force)(struct rp_run *r, const struct rp_statement *s, bool *ret);
	void (*event)(struct rp_run *r, struct rp_event e);
	/** @return may the run look into @p function. */
	void (*entered)(struct rp_run *r, int function);
	void (*left)(struct rp_run *r, int function);
	/** After operation @p op of value @p value. */
	void (*done)(struct rp_run *r, int op);
};

enum rp_end { RP_RAN, RP_STOPPED, RP_CRASHED, RP_ENDLESS };

struct rp_run {
	struct rp_program *p;
	struct rp_watch watch;
	void *user;
	struct rp_state state;
	const int64_t *inputs;
	size_t n_inputs, next_input;
	unsigned long steps, most_steps; ///< 0: 100,000
	int depth, function;
	enum rp_end end;
	char why[320];	 ///< of RP_CRASHED and RP_ENDLESS, with the line
	bool has_failed; ///< out of memory
};

/** Call @p function in r->state, whose frame has its parameters. @return r->end. */
enum rp_end fl_rp_run(struct rp_run *r, int function);
void fl_rp_run_deinit(struct rp_run *r);

/** "n3", "null", "?" or a number. */
const char *fl_rp_value_text(int64_t value, int type, char *room, size_t size);

#endif
