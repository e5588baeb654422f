// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A call of a function in a capture: its state, as the machine has it, to repair from; and the
 * machine going on from there with what the patched function did (hot patch). Types and places
 * are DWARF's; nodes are what its variables lead to, in the order in which they are met.
 */
#ifndef FAULTLOCATE_REPAIR_RECORDED_H
#define FAULTLOCATE_REPAIR_RECORDED_H

#include "faultlocate/repair/run.h"

struct rp_recorded;

typedef VEC(int) rp_lines;

/** Which instant, where one is asked for: the end of the run, or a position of the machine. */
#define RP_AT_END UINT64_MAX

/**
 * Replay @p capture to a call of @p function.
 *
 * @param nth  which call, from 1; 0: the last, or the innermost that @p at is in.
 * @param at   an instant that is in it, for fl_rp_recorded_way(); NULL: none.
 * @param ret  fl_rp_recorded_destroy().
 * @return ERR_NOT_FOUND: it has no such function, or was not called so often, or is not being
 *	   executed at @p at; ERR_DIVERGED.
 */
struct err *fl_rp_recorded_open(const char *capture, const char *function, uint64_t nth,
				const uint64_t *at, struct rp_recorded **ret);
void fl_rp_recorded_destroy(struct rp_recorded *r);
void fl_rp_recorded_destroyp(struct rp_recorded **r);

/** @return the source file that DWARF names, in full; NULL: none. Valid as long as @p r. */
const char *fl_rp_recorded_source(struct rp_recorded *r);

/** The state before the call's first statement. @p ret: fl_rp_state_deinit(). */
struct err *fl_rp_recorded_state(struct rp_recorded *r, const struct rp_program *p,
				 int function, struct rp_state *ret);

/** Which way the run takes from the call to the instant that it was opened for: lines of statements of
 * @p p, the last the one that is under way there; none without such an instant. @p ret: vec_deinit(). */
struct err *fl_rp_recorded_way(struct rp_recorded *r, const struct rp_program *p,
			       rp_lines *ret);

/** Let the machine go on, outside of the recorded run, as if the call had left @p after, and tell
 * what becomes of it on @p out. */
struct err *fl_rp_recorded_go_on(struct rp_recorded *r, const struct rp_program *p,
				 int function, const struct rp_state *after, FILE *out);

#endif
