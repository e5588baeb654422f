// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to fl_end.c, fl_end_calls.c and fl_end_value.c.
 */
#ifndef FAULTLOCATE_FL_END_INT_H
#define FAULTLOCATE_FL_END_INT_H

#include "decode/explain/express.h"
#include "decode/explain/follow.h"
#include "faultlocate/fl_stages.h"

/** An end being explained. */
struct fl_ender {
	struct fl_analysis *a;
	struct fl_end *end;
	struct dec_past *past;
	uint64_t at;	      ///< the position of the end
	struct cap_regs regs; ///< there
	uint32_t tid;	      ///< that ran
	struct dec_insn insn; ///< that it ended at, if has_insn
	bool has_insn;
	struct dec_location bad; ///< where the bad value is just before bad_at
	uint64_t bad_at;
	struct dec_insn bad_insn; ///< that used it
	bool has_bad;
	bool has_called; ///< the call that led nowhere was made: it is under way
};

/** A bad value being explained. */
struct valuer {
	struct fl_ender *e;
	struct fl_end_value *v;
	struct dec_follow follow;
	struct dec_hop
		unmade; ///< the last hop's source was written by this one, before it was
			///< what it is; position 0: never
	uint64_t stack_start, stack_end; ///< of the thread
	enum fl_made made;		 ///< as the way back was stopped
	bool is_index;			 ///< an index was found on the way
	uint64_t index_rip;		 ///< where it was used; 0: not yet
	struct hg_node_id node;
	uint64_t read_at; ///< when it was read from there
	uint64_t
		moved_at; ///< when realloc() was called to give it a new place; 0: it was not
	unsigned n_replays; ///< made for static data
	struct err *err;
};

/** @return whether code at @p rip is the user's, as dec_frames_is_own() has it. */
bool fl_end_is_own(const struct fl_analysis *a, uint64_t rip);

/** Where the user's code is at @p rip: of what is inlined there, the innermost that is in no header of
 * the system's. @return false: nowhere. */
bool fl_end_users_place(const struct fl_analysis *a, uint64_t rip, struct dec_place *ret);

/** @return whether @p file is the system's. */
bool fl_end_is_systems(const char *file);

/** @return the protection (PROT_*) of what is mapped at @p addr where @p m stands; -1: nothing. */
int fl_end_protection(struct dec_machine *m, uint64_t addr);

/** @return the last node that covered @p addr and was gone at @p time; {0}: none. */
struct hg_node_id fl_end_freed(const struct hg_graph *g, uint64_t addr, uint64_t time);

/** Tell the frames, innermost first, with their arguments: e->end->frames. */
struct err *fl_end_calls(struct fl_ender *e);

/** Tell what the program said on its way out: e->end->message. */
struct err *fl_end_message(struct fl_ender *e);

/** Tell who overwrote what the last return depended on, if somebody did: e->end->smash. */
struct err *fl_end_smash(struct fl_ender *e);

/** Tell what is wrong with the value at e->bad, and how it came there: e->end->value. */
struct err *fl_end_value(struct fl_ender *e);

/* ---- fl_end_origin.c ------------------------------------------------------------------ */

/** Set *@p ret to the user's statement at @p rip, or that called the library which is there, at @p time. */
struct err *fl_end_statement(struct fl_ender *e, uint64_t time, uint64_t rip,
			     struct fl_statement *ret);

/** Set where the stack is. */
struct err *fl_end_stack(struct valuer *v);

/** A dec_follow_stop_fn; @p ctx is the valuer: was what was read written for what was read? */
enum dec_follow_next fl_end_is_unmade(void *ctx, const struct dec_hop *later,
				      const struct dec_hop *hop);

/** A dec_past_known_fn: of the heap's nodes its history knows, of the program's data another replay;
 * @p ctx is the valuer. */
enum dec_past_known fl_end_known(void *ctx, const struct dec_location *l, uint64_t before,
				 uint64_t *time);

/** The way back ended in a node that realloc() made: go on from where that had it from. @return what
 * dec_follow() does. */
struct err *fl_end_before_realloc(struct valuer *v, enum dec_follow_what what);

/** v->follow is there: say how the value came about. */
struct err *fl_end_origin(struct valuer *v);

#endif
