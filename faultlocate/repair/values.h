// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What an operation does to a state of which some is not known. Used by walk.c alone.
 */
#ifndef FAULTLOCATE_REPAIR_VALUES_H
#define FAULTLOCATE_REPAIR_VALUES_H

#include "faultlocate/repair/walk.h"

struct loop {
	struct rp_sb broken, continued; ///< under which conditions
};

struct rp_sb fl_rp_truth(bool is);
struct rp_sb fl_rp_not(struct rp_walk *w, struct rp_sb a);
struct rp_sb fl_rp_and(struct rp_walk *w, struct rp_sb a, struct rp_sb b);
struct rp_sb fl_rp_or(struct rp_walk *w, struct rp_sb a, struct rp_sb b);
bool fl_rp_same(struct rp_sb a, struct rp_sb b);

/** From here on @p a holds. @p why, @p line: told when it is known not to. */
void fl_rp_require(struct rp_walk *w, struct rp_sb a, const char *why, int line);

/** The state before the first statement. */
bool fl_rp_walk_begin(struct rp_walk *w);
/** Before @p s, under @p path: what is asserted there, or was written by hand. */
void fl_rp_pass_mark(struct rp_walk *w, const struct rp_statement *s, struct rp_sb path);
void fl_rp_step_begin(struct rp_walk *w, int op, struct rp_sb path);

struct rp_sv fl_rp_load(struct rp_walk *w, const struct rp_ref *r, struct rp_sb path,
			const struct rp_op *op);
void fl_rp_store(struct rp_walk *w, const struct rp_ref *r, struct rp_sv v,
		 struct rp_sb path, const struct rp_op *op);
void fl_rp_free(struct rp_walk *w, struct rp_sv node, struct rp_sb path,
		const struct rp_op *op);
void fl_rp_assign(struct rp_walk *w, int op, struct rp_sb path);
struct rp_sb fl_rp_test(struct rp_walk *w, int op, struct rp_sb path);
void fl_rp_insert(struct rp_walk *w, struct rp_choice *c, struct rp_sb path);

#endif
