// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A witness as a formula (paper 004, sections 3.1 and 4.1): the program's statements in the order of
 * the witness, each as often as it came by, under the conditions around it. What a patch may change
 * is a choice of options; all else is computed at once where it is known. Private to this room.
 */
#ifndef FAULTLOCATE_REPAIR_WALK_H
#define FAULTLOCATE_REPAIR_WALK_H

#include "faultlocate/repair/run.h"
#include "smt/smt.h"

/** A number or node: known, or a term. */
struct rp_sv {
	bool is_term;
	int64_t c;
	smt_term t;
};

/** A truth: 0, 1, or -1 a term. */
struct rp_sb {
	int known;
	smt_term t;
};

enum rp_part { RP_PART_DST, RP_PART_A, RP_PART_B, RP_PART_SIGN, RP_PARTS };

struct rp_option {
	struct rp_ref ref;
	enum rp_sign sign;
	int type;
	smt_term chosen;
	bool is_original;
};

/** What may become of an operation, or come to a gap. */
struct rp_choice {
	int op; ///< RP_NONE: of a gap
	int block, index, line;
	unsigned at; ///< byte, for what can be named
	VEC(struct rp_option) parts[RP_PARTS];
	smt_term changed, removed; ///< NULL: cannot be
	smt_term active;	   ///< of a gap: something is inserted
};

struct rp_snode {
	int record;
	struct rp_sv freed;
	struct rp_sv *fields;
};

enum { RP_READS = 5 };

/** What happened at an operation, when all is known. */
struct rp_step {
	int op, type;
	bool has_place;
	uint64_t place; ///< the entity that is assigned
	struct rp_sv before, after;
	bool has_crashed;
	bool is_forced;		  ///< of a condition that went otherwise than it says
	uint64_t reads[RP_READS]; ///< entities that it used
	unsigned n_reads;
};

/** Before a statement of a block, or at its end. */
struct rp_gap {
	int block, index;
};

struct rp_walk {
	const struct rp_program *p;
	unsigned bits; ///< of its numbers
	struct smt *s; ///< NULL: all is known, and nothing is asserted
	const struct rp_witness *w;
	struct rp_choice **of_op;  ///< NULL: locked
	struct rp_choice **of_gap; ///< by gap number, NULL: none
	const int *first_gap;	   ///< of a block: the number of its first gap
	int n_slots;		   ///< one behind the other in a gap
	struct rp_sv *globals, *frame;
	VEC(struct rp_snode) nodes;
	size_t event, mark;
	int function, frame_number, n_frames;
	bool is_done;	       ///< behind the last mark nothing is asked
	struct rp_sb returned; ///< of this frame
	bool is_contradictory; ///< something known is not so
	char why[200];	       ///< the first such thing
	bool has_failed;
	struct arena arena;
	VEC(struct rp_step) steps; ///< when all is known: since the last mark
	VEC(struct rp_gap) gaps;   ///< the same: where it came by
	/** When all is known: at a mark, before its state is taken on. */
	void (*at_mark)(struct rp_walk *w, const struct rp_mark *m);
	/** When all is known: where it ends, if no mark is there. */
	void (*at_end)(struct rp_walk *w);
	void *user;
};

/** Walk along w->w. The caller has set p, s, w and the choices; fl_rp_walk_deinit(). */
void fl_rp_walk(struct rp_walk *w);
void fl_rp_walk_deinit(struct rp_walk *w);

/** Entities by number: variables of frames, fields of nodes. */
uint64_t fl_rp_place_of_variable(const struct rp_walk *w, int var);
uint64_t fl_rp_place_of_field(int64_t node, int field);

struct rp_sv fl_rp_known(int64_t value);
smt_term fl_rp_term(struct rp_walk *w, struct rp_sv v);

#endif
