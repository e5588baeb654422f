// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The whole way from a capture and a specification to faulty statements: replay, heap
 * graphs, types, C-points, the first violation, traceback. doc/traceback.md tells what a
 * user may expect. Not shared between threads.
 */
#ifndef FAULTLOCATE_FL_ANALYSIS_H
#define FAULTLOCATE_FL_ANALYSIS_H

#include "capture/capture.h"
#include "faultlocate/fl_chain.h"
#include "faultlocate/fl_check.h"
#include "faultlocate/fl_cpoints.h"
#include "faultlocate/fl_end.h"
#include "faultlocate/fl_faults.h"
#include "faultlocate/fl_roots.h"
#include "faultlocate/fl_types.h"
#include "faultlocate/fl_unwritten.h"
#include "heapgraph/hg_access.h"

struct fl_options {
	const char *capture;	  ///< directory
	const char *const *specs; ///< n_specs files
	size_t n_specs;
	const char *text;	    ///< one more specification; or NULL
	const char *const *cpoints; ///< n_cpoints: a function each, or what CPOINT takes
	size_t n_cpoints;
	const char
		*sources; ///< the directory with the program's sources; NULL: none named
	bool with_progress;
	bool with_inference; ///< where no C-point is named, look for some (fl_infer.h)
	bool with_accesses; ///< also look for accesses that go astray (hg_access.h); then
			    ///< no spec is needed
	struct fl_check
		*check;	     ///< the rules that with_accesses asks, borrowed; NULL: those
			     ///< that are built in, of accesses
	bool with_allocator; ///< make the allocator's view even if no spec asks for it, with
			     ///< caches and bins
	bool without_allocator; ///< find the nodes without allocator knowledge (hg_infer.h)
	bool may_be_fine; ///< that there is nothing to ask, no specification and no signal's end, is
		///< no error
	bool is_heap_only; ///< stop before checking; without specs: all structs that the
			   ///< program allocates, as DWARF says
};

/** The heap is looked at twice: the application's allocations and, when the spec has
 * malloc_chunk, the allocator's free chunks. Each constraint belongs to one. */
enum fl_side_kind { FL_SIDE_APP, FL_SIDE_CHUNKS, FL_SIDES };

struct fl_side {
	struct hg_graph *graph; ///< NULL: not made
	bool *is_checked;	///< a constraint each: is it about this side?
	spec_violations errors; ///< at the C-point, ordered by constraint
	uint64_t n_ops;		///< the C-point
	struct fl_namer namer;
};

/** Where the time went, seconds of wall clock. */
struct fl_phases {
	double infer_s;	 ///< finding nodes without allocator knowledge
	double replay_s; ///< replays, with the heap's history made on the way
	double match_s;	 ///< constraints, at all C-points up to the violated one
	double locate_s; ///< traceback
	double end_s;	 ///< why a signal ended it
	double access_s; ///< the one of them that looks at each access, too: not in replay_s
};

struct fl_analysis {
	struct capture *capture;
	struct dec_symbols *symbols;
	struct spec *spec;
	struct fl_cpoints *cpoints;
	struct dec_run run;
	hg_internals internals; ///< of the allocator's view
	fl_variables variables; ///< a root of the spec each
	hg_roots roots;		///< which nodes they are
	hg_root_gaps root_gaps; ///< .. and when they were optimized out
	hg_plan plan;		///< nodes found without allocator knowledge
	struct fl_side sides[FL_SIDES];
	struct fl_typing typing;
	struct fl_places places;
	const struct fl_visit *visit; ///< the violated C-point; NULL: none
	bool has_inferred;	      ///< visit was inferred, nobody named it
	const struct fl_visit
		*held;	   ///< all held there, between operations, the last time
			   ///< before visit, the end; NULL: it is not known
	size_t n_errors;   ///< over both sides
	uint64_t *n_asked; ///< a constraint each: for how many bindings, at all C-points
	fl_faults faults;  ///< ranked
	struct fl_missing missing[FL_SIDES][FL_MISSING_MAX]; ///< what faults may tell of
	fl_unwrittens unwritten; ///< what was read up to visit and has no value
	bool is_without_history; ///< the graphs have no stores
	bool is_whole;		 ///< those into nodes of no declared type are wanted, too
	bool has_accesses;	 ///< they were looked at
	struct fl_check *check;	 ///< says what is wrong; NULL: nobody does
	bool is_checking;	 ///< private: this replay asks it,
	bool is_at_end;		 ///< .. at its end alone: up to there nothing is wrong
	struct fl_check *own_check; ///< private: the built-in rules of accesses
	fl_chains chains;	    ///< of what the check found
	hg_accesses accesses;	    ///< those that went astray
	struct fl_phases phases;
	/** Of a program that a signal ended. */
	struct fl_end end;
	line_list notes; ///< what was inferred or missing, for people
};

/**
 * Do it. Mistakes in a specification are ERR_SPEC, and its diagnostics are in @p a->spec:
 * show them before @p a is freed. A replay that left the recorded path is ERR_DIVERGED;
 * the text says where. A capture that ends before the program does, without a violation
 * until there, is ERR_TRUNCATED.
 *
 * @param a  Zeroed before; fl_analysis_deinit() after, in any case.
 */
struct err *fl_analysis_run(const struct fl_options *o, struct fl_analysis *a);
void fl_analysis_deinit(struct fl_analysis *a);

/** @return number @p i (0 ..) of the wrong releases: of what was freed already, or begins inside of
 * an allocation (its node tells which), as long-lived as @p a's graph; NULL: that one is no such, which
 * the last is when hg_graph_unknown_free() has no more. The allocator's own are none. */
const struct hg_release *fl_release(const struct fl_analysis *a, size_t i);

/** @return whether the program ended by a fault of its own, or gave up: abort(). */
bool fl_end_is_wrong(const struct fl_analysis *a);

/** @return how many statements have wrong releases. */
size_t fl_releases(const struct fl_analysis *a);

#endif
