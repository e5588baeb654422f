// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From contributing operations to statements, most suspicious first.
 */
#ifndef FAULTLOCATE_FL_FAULTS_H
#define FAULTLOCATE_FL_FAULTS_H

#include "decode/symbols/symbols.h"
#include "faultlocate/fl_traceback.h"

/** How addresses are explained; dec_symbols_place() with its symbols, or a test's own. */
struct fl_places {
	void (*place)(void *ctx, uint64_t rip, struct dec_place *ret);
	void *ctx;
};

/** What naming a heap thing takes (report/names.h); all borrowed. */
struct fl_namer {
	const struct spec *spec;
	const struct hg_graph *graph;
	const struct fl_places *places;
	struct hg_trails *trails; ///< of the graph, for who asks again and again; or NULL
};

/** Calls kept of a statement, and statements whose calls are looked for. */
#define FL_CALLERS_MAX 8
#define FL_CALLERS_FAULTS 64

/** A store that was due and that no statement made (fl_missing.h). */
struct fl_missing {
	const struct hg_graph *graph;
	struct hg_node_id node;
	uint32_t offset, size; ///< the field, in bytes
	uint64_t due;	       ///< what it had to be: then nothing were violated
	uint64_t last_op; ///< what wrote it last; what allocated the node: nothing did
	uint64_t trigger; ///< the operation that made the store necessary
	/** The function in which it was due, and the statements that it belongs between, as
	 * they ran there; has_..: false, from its beginning, to its end. */
	const char *function;
	struct dec_place after, before;
	bool has_after, has_before;
	/** Other times something like trigger was done, and all was right; how often the field
	 * was stored then, and where. */
	uint32_t n_calls, n_kept;
	uint32_t n_odd;		///< .. beside those in which it got another kind of value
	struct dec_place usual; ///< with n_kept
	bool is_second;		///< another one does as well, and is likelier
	bool is_loose;		///< many other numbers would do as well
	bool is_related; ///< what the trigger stored, or stored to, leads to the node
	uint32_t
		n_more; ///< other nodes whose same field was not stored, with like effect
};

/** So many may be told of one C-point. */
#define FL_MISSING_MAX 2

/** A faulty statement: all contributing operations of one source line. */
struct fl_fault {
	struct dec_place place; ///< of the operation that shows it best
	uint64_t time;		///< of its latest contributing operation
	uint32_t instances;	///< contributing operations
	uint32_t introduces;	///< errors of the C-point that were not there before
	uint32_t n_errors;	///< errors of the C-point it contributed to, with repeats
	uint32_t n_ready;	///< errors of the C-point that it prepared
	uint32_t n_stale;    ///< pointers that led to released memory: stored, or made so
	uint32_t n_same;     ///< .. of which it stored something anew as it was
	struct fl_cure cure; ///< the best that one of them has
	const struct hg_graph *graph;
	uint64_t op;		///< the operation that shows it best
	uint32_t op_introduces; ///< private: how good that one is
	/** Who called the function that it is in, innermost first; set by
	 * fl_callers_find(). Behind the calls of place.inlined. */
	struct dec_inlined callers[FL_CALLERS_MAX];
	uint32_t n_callers;
	/** It is none: place is the statement that a missing store is due behind. Borrowed. */
	const struct fl_missing *missing;
};

typedef VEC(struct fl_fault) fl_faults;

/** Add the statements of @p c to @p ret: merge operations of one (file, line, function),
 * or without lines one (module, function, offset). Call fl_faults_rank() afterwards. */
struct err *fl_faults_add(fl_faults *ret, const struct hg_graph *g,
			  const fl_contributions *c, const struct fl_places *places);

/** @return whether operations at @p a and @p b are told as one statement. */
bool fl_is_same_statement(const struct dec_place *a, const struct dec_place *b);

/** Why a statement is suspected, the least first. */
enum fl_because {
	FL_BECAUSE_MOVED,   ///< it introduced what moved to an error of the C-point later
	FL_BECAUSE_SAME,    ///< it stored, in the operation, what was there already
	FL_BECAUSE_STORED,  ///< it stored an error's argument before it was introduced
	FL_BECAUSE_CHANGED, ///< it changed an error's arguments when it was there already
	/** Before it there was no such error, and nothing repaired it since. */
	FL_BECAUSE_INTRODUCED,
	FL_BECAUSE_STALE,   ///< it left a pointer to a node that is gone
	FL_BECAUSE_MISSING, ///< no statement made a store that was due
};

/** @return the strongest reason to suspect @p f. */
enum fl_because fl_fault_because(const struct fl_fault *f);

/** Most suspicious first, and among equals the latest. */
void fl_faults_rank(fl_faults *f);

#endif
