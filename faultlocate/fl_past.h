// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to fl_usual.c: what was stored before the operation on the structure, as far as it is
 * like what made a store necessary, or like that store.
 */
#ifndef FAULTLOCATE_FL_PAST_H
#define FAULTLOCATE_FL_PAST_H

#include "faultlocate/fl_usual.h"

/** What is longer ago is not looked at. */
#define FL_PAST_MAX 1000000

/** How the node of a store is related to what made it necessary. */
enum fl_relation {
	FL_REL_SAME,   ///< it is the same node
	FL_REL_TARGET, ///< the pointer stored leads to it
	FL_REL_FORMER, ///< .. led to it before
	FL_REL_POINTS, ///< it led into the node
	FL_REL_ANY,
};

/** The field of a node that stands in a relation, and where it led. */
struct fl_held {
	bool is_known, is_null;
	struct hg_node_id to;
};

struct fl_like {
	struct fl_event e;
	struct fl_held held[FL_REL_FORMER + 1]; ///< by relation
	bool is_led;				///< such a field led into the node
};

struct fl_made {
	struct fl_event e;
	uint64_t
		steps; ///< bit i: the pointer at 8 * i of where the field led became its value
};

struct fl_past {
	const struct fl_usual *in;
	struct hg_op trigger;
	uint64_t trigger_shape, field_shape, field_offset;
	bool is_pointer; ///< the trigger stored one
	bool is_field_pointer;
	bool is_element; ///< the field is one of several in an array
	bool is_exact;	 ///< no other value than the one due will do
	bool is_young;	 ///< the node of the missing store was born in the operation
	uint32_t value;	 ///< VALUE_.. bits of what is due
	uint64_t steps;	 ///< .. as of a store
	struct hg_view *begin;	    ///< where the operation began
	struct map shapes;	    ///< type and offset -> shape
	struct map births;	    ///< node -> index of the operation
	VEC(struct fl_like) likes;  ///< the latest first
	VEC(struct fl_made) stores; ///< so are these
};

/** What was done before, as far as it has to do with the trigger and fields like the one of @p m:
 * made if it is not there already, and kept in @p u. @return NULL or ERR_NOMEM. */
struct err *fl_past_of(struct fl_usual *u, const struct fl_missing *m,
		       struct fl_past **ret);

/** @return how many operations came before the operation on the structure. */
uint64_t fl_past_end(const struct fl_usual *u);

/** fl_field_shape() of what @p op, a store, stored. */
uint64_t fl_past_shape(struct fl_past *p, const struct hg_op *op);

/** @return which pointers of node @p from had that value at @p v, as with
 * `p->first = p->first->next`; struct fl_made has the bits. */
uint64_t fl_past_steps(const struct fl_past *p, const struct hg_view *v,
		       struct hg_node_id from, uint64_t value);

/** Where the operation on the structure began and ended that operation number @p i is part of. */
void fl_past_bounds(const struct fl_past *p, uint64_t i, uint64_t *from, uint64_t *to);

/** @return whether node @p id was born in the operation that @p like was part of. Without C-points
 * that is not known better than that it began as long before as it did this time. */
bool fl_past_is_young(const struct fl_past *p, const struct fl_event *like,
		      struct hg_node_id id);

#endif
