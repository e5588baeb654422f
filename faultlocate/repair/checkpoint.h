// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Checkpoints (paper 004, section 6.2): each `spec' makes one, and the session can go on from any.
 * Its state is made again by executing the function from its call, the way of its witness, with
 * what was asserted and written on that way; so patches found meanwhile are in force. Private to
 * this room.
 */
#ifndef FAULTLOCATE_REPAIR_CHECKPOINT_H
#define FAULTLOCATE_REPAIR_CHECKPOINT_H

#include "faultlocate/repair/record.h"

struct rp_checkpoint {
	struct rp_witness w; ///< up to it; its own mark is the last
	int nested;	     ///< of the recorder
	size_t n_before;     ///< calls that were witnessed before
};

struct rp_checkpoints {
	VEC(struct rp_checkpoint) list; ///< by number
	const struct rp_checkpoint *to; ///< where it is going; NULL: nowhere
	size_t event, mark;
};

/** The mark that @p rec made last becomes the next one. */
struct err *fl_rp_checkpoint_add(struct rp_checkpoints *c, const struct rp_recorder *rec,
				 const struct rp_program *p);
/** Go to number @p number: the caller runs the function from ret's state. @p rec: what was witnessed
 * since is forgotten. @p ret: deinitialised. */
struct err *fl_rp_checkpoint_go(struct rp_checkpoints *c, size_t number,
				struct rp_recorder *rec, const struct rp_program *p,
				struct rp_state *ret);
/** On the way, before @p s. @return whether it is reached: then @p rec records again. */
bool fl_rp_checkpoint_before(struct rp_checkpoints *c, struct rp_recorder *rec,
			     struct rp_run *r, const struct rp_statement *s);
/** On the way: which way @p s goes. @return whether that is known. */
bool fl_rp_checkpoint_force(const struct rp_checkpoints *c, const struct rp_statement *s,
			    bool *ret);
/** On the way, an event. */
void fl_rp_checkpoint_event(struct rp_checkpoints *c);
void fl_rp_checkpoints_deinit(struct rp_checkpoints *c);

#endif
