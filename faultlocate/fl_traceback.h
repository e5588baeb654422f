// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which operations made the inconsistencies of a C-point: Algorithm 3 of paper 001 with
 * its definitions 1 to 3 (doc/traceback.md says how we read them). Not shared between
 * threads; several tracebacks may run on one graph.
 */
#ifndef FAULTLOCATE_FL_TRACEBACK_H
#define FAULTLOCATE_FL_TRACEBACK_H

#include "specdsl/specdsl.h"

/** What altering what a store stored would do, the least first. */
enum fl_cure_grade {
	FL_CURE_NONE,	///< something is violated still
	FL_CURE_EVADED, ///< nothing is, nor is anything asked for there any more
	FL_CURE_FIRST, ///< nothing is, had other stores that came later been altered, too
	FL_CURE_ODD,   ///< nothing is, but pointers lead to one node as nowhere else
	FL_CURE_LOOSE, ///< nothing is, of a number that many others would do for
	FL_CURE_WHOLE, ///< nothing is
};

/** A field of a node, and what it had better got. */
struct fl_cure {
	enum fl_cure_grade grade;
	struct hg_node_id node;
	uint32_t offset, size;
	uint64_t value;
	uint32_t n_more;   ///< other stores that had to be altered with it
	uint32_t n_before; ///< the statement stored so often before, and all was right
	uint32_t n_up, n_down; ///< .. a larger number than was there, a smaller one
	uint32_t n_step;       ///< .. that differed by as much as this time
	uint32_t n_alike;      ///< the very number that it stored this time
	/** The store was stored over in the operation: by what counted on from it, that with
	 * index counted_on - 1. 0: it was not. */
	uint32_t counted_on;
	/** When it stored to the field last, all was right before it and not behind it: another
	 * statement, which put that right then, failed to. */
	bool is_opening, has_looked;
};

/** An operation that contributed to pending inconsistencies (Definition 3), and that made
 * one, left one as it is, or prepared one. */
struct fl_contribution {
	uint64_t op;	     ///< its index in the graph
	uint32_t n_errors;   ///< inconsistencies of the C-point it contributed to
	uint32_t n_pending;  ///< all pending ones it contributed to
	uint32_t introduces; ///< of n_errors: those that were not there before it
	uint32_t n_moved;    ///< of the others: those that were not there before it
	uint32_t n_last;     ///< of n_errors: it was the last to change some argument
	uint32_t n_ready; ///< those of the C-point of which it stored an argument before
			  ///< they were introduced, as the last to do so
	uint32_t n_same;  ///< those of which it stored, as the last to do so, a field
			  ///< anew as it was already
	struct fl_cure cure; ///< another value that it might have stored (fl_cure.h)
	bool is_stale; ///< it stored a pointer to a node that was released, or released the
		       ///< node, and another node of an error got the memory later
};

typedef VEC(struct fl_contribution) fl_contributions;

enum fl_traceback_how {
	/** Every operation back is put to every pending inconsistency. */
	FL_TRACEBACK_PLAIN,
	/** The same answers, but only operations that can matter are looked at: what the
	 * paper calls modification prediction (section 4.3.2). */
	FL_TRACEBACK_PREDICT,
};

struct fl_traceback {
	const struct spec *spec;
	const struct hg_graph *graph;
	uint64_t n_ops; ///< the C-point: after so many operations
	/** The inconsistencies at the C-point to begin with. */
	const struct spec_violation *errors;
	size_t n_errors;
	/** Of each constraint: is it checked on the way? NULL: all are. */
	const bool *is_checked;
	/** So many operations were done when the structure was right for the last time. What
	 * was stored from then on may have been wrong before an inconsistency showed it.
	 * n_ops: not known, nothing is said about what was stored before. */
	uint64_t since_ops;
	/** How often an inconsistency may have moved on its way to the C-point; 0: any
	 * number. One operation on a structure moves it once or so; what is done to a
	 * broken structure afterwards, without end. */
	uint32_t moves_max;
	enum fl_traceback_how how;
	/** Called now and then with the operations left to look at; may be NULL. */
	void (*progress)(void *ctx, uint64_t left);
	void *progress_ctx;
};

/** Append the contributing operations to @p ret, latest first. The caller owns @p ret.
 * @return NULL, ERR_NOMEM, or ERR_SPEC (the spec has mistakes). */
struct err *fl_traceback_run(const struct fl_traceback *t, fl_contributions *ret);

#endif
