// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to faultlocate/: which fields may have been left out, and what they had to be. The
 * stages of fl_missing_find(): first the operation on the structure that a violation is from,
 * then the fields of the nodes that it was about, then the values that each may have had to get,
 * each of which is tried.
 */
#ifndef FAULTLOCATE_FL_REMEDY_H
#define FAULTLOCATE_FL_REMEDY_H

#include "faultlocate/fl_missing.h"
#include "faultlocate/fl_usual.h"
#include "faultlocate/fl_whatif.h"

/** Stores missing one after the other, and violations looked at to choose one. */
#define FL_ROUNDS_MAX 64

/** A field that may be what is missing. */
struct fl_candidate {
	struct hg_node_id node;
	struct dec_field at;
	uint64_t last_op;
	uint64_t shape;	 ///< fl_field_shape()
	bool is_direct;	 ///< the constraint reads it, not only an attribute
	bool is_written; ///< in the operation on the structure: it is not missing
	bool is_again;	 ///< .. as it was before
};

/** Why a value is tried. */
enum fl_reason { WHY_POINTER, WHY_FREED, WHY_EQUATION, WHY_OTHER };

struct fl_why {
	uint32_t field; ///< index among the fields
	enum fl_reason why;
};

/** A search for what would mend the structure, in its stages. */
struct fl_search {
	const struct fl_missing_query *q;
	const struct fl_traceback *t;
	struct hg_view *view; ///< the C-point
	struct spec_eval *eval;
	struct fl_whatif whatif;
	spec_violations errors;		    ///< that are left
	const struct spec_violation *about; ///< the one looked at
	struct spec_args args;		    ///< to its check
	struct spec_args wanted;	    ///< scratch: to another one's
	struct fl_span span;		    ///< the operation on the structure
	VEC(struct spec_read) direct;	    ///< without those for attributes
	uint64_t trigger, since;
	uint64_t
		introduction; ///< trigger, had nothing about the violation been stored later
	bool is_by_introduction; ///< that is the trigger
	struct fl_usual usual;
	VEC(struct hg_node_id) nodes;
	VEC(struct fl_candidate) fields;
	fl_alterations tries;
	VEC(struct fl_why) whys; ///< of tries
	VEC(uint64_t) freed;	 ///< pointers in nodes released in the operation
	VEC(struct fl_outcome) outcomes;
	uint32_t sole; ///< the only field that leaves nothing violated; UINT32_MAX: none
	fl_alterations made;
	fl_contributions *suspects; ///< stores that were made and may be wrong
};

/** Free what @p s holds. */
void fl_search_deinit(struct fl_search *s);

static inline const struct hg_node *fl_search_node(const struct fl_search *s,
						   struct hg_node_id id)
{
	return hg_graph_node(s->t->graph, id);
}

/** @return whether it is known where the operation began: at a C-point. */
static inline bool fl_search_has_start(const struct fl_search *s)
{
	return s->t->since_ops < s->t->n_ops;
}

/* ---- fl_operation.c ------------------------------------------------------------------ */

/** Choose one of s->errors, find what made a store necessary, and load the operation on the
 * structure that this is part of. */
struct err *fl_search_operation(struct fl_search *s);

/* ---- fl_remedy.c --------------------------------------------------------------------- */

/** Make @p s, of which q, t and suspects are set, ready, and try what may be done about the
 * violations. @p is_ready: false, there is nothing to try, or too much. */
struct err *fl_search_begin(struct fl_search *s, bool *is_ready);

/** Find the violations that are left when all of s->made is done. */
struct err *fl_search_left(struct fl_search *s);

/** As fl_search_operation(), and the fields, with s->usual ready to be asked. */
struct err *fl_search_fields(struct fl_search *s);

/** Choose values for the fields, into s->tries (fl_values.c). */
struct err *fl_search_values(struct fl_search *s);

/** .. and try them. */
struct err *fl_search_try(struct fl_search *s);

#endif
