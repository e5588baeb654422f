// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where chaos may stop a thread: accesses to memory that others access too
 * (points.c).
 */
#ifndef PT_COLLECT_INPUTS_POINTS_H
#define PT_COLLECT_INPUTS_POINTS_H

#include "pt-collect/tracee/tracee.h"

struct ptc_random;

/** An instruction of the program at which a thread may be stopped, and what was learnt
 * about it in the runs so far. */
struct ptc_point {
	uint64_t at; ///< address as in the file
	uint8_t length;
	bool is_write;	///< to what it accesses; a call counts as one
	uint64_t where; ///< what that was last, as an address in the file; 0 = unknown
	bool is_reached;
	bool is_contended; ///< a thread held here met another one's access
	bool is_crowded;   ///< several threads of one run came here
	unsigned n_tried;  ///< runs that waited for it
};

struct ptc_points {
	VEC(struct ptc_point) list; ///< by address
	uint64_t bias;		    ///< to add to them in the present run
	bool has_list;
};

/** Find them in the stopped program, or place those found in an earlier run. */
struct err *ptc_points_find(const struct ptc_tracee *t, struct ptc_points *points);
void ptc_points_deinit(struct ptc_points *points);

/** Choose a point: one known to be contended, one near point @p last (SIZE_MAX = none), or
 * any. There must be one. @return its index. */
size_t ptc_points_draw(struct ptc_points *points, struct ptc_random *random, size_t last);

/** Choose one of those known to be contended but for the @p n_but ones @p but.
 * @return its index; SIZE_MAX = there is none. */
size_t ptc_points_draw_contended(const struct ptc_points *points,
				 struct ptc_random *random, const size_t *but,
				 unsigned n_but);

/** Choose one of those known to be crowded. @return its index; SIZE_MAX = there is none. */
size_t ptc_points_draw_crowded(const struct ptc_points *points,
			       struct ptc_random *random);

/** @return the point whose instruction ends at address @p behind; NULL = none does. */
struct ptc_point *ptc_points_before(struct ptc_points *points, uint64_t behind);

/** An access to memory, or an instruction. */
struct ptc_watch {
	uint64_t addr;
	unsigned size; ///< 1, 2, 4 or 8; addr is a multiple. 0 = the instruction there
	bool is_write;
};

/** What the instruction at which a stopped thread stands (@p u) is about to access.
 * @return false when that is nothing but the stack. */
bool ptc_points_target(const struct ptc_tracee *t, const struct user_regs_struct *u,
		       struct ptc_watch *ret);

/** What the call at which a stopped thread stands is about to access: mostly what its first
 * argument points to, such as a lock.
 * @return false when that is no pointer, or it stands at no call. */
bool ptc_points_argument(const struct ptc_tracee *t, const struct user_regs_struct *u,
			 struct ptc_watch *ret);

#define PTC_WATCHES 4 ///< that a thread can have at a time

/** Make stopped thread @p tid stop (SIGTRAP, TRAP_HWBKPT) before each instruction, and behind each
 * access that conflicts with an access, of the @p n <= PTC_WATCHES at @p w.
 * @return false when the CPU or the kernel cannot. */
bool ptc_points_arm(pid_t tid, const struct ptc_watch *w, unsigned n);

/** @return whether such a stop comes: a child of ours tries it, once. Some hypervisors take the registers' values, and do
 * nothing. */
bool ptc_points_can_break(void);

/** @return at which of its watches stopped thread @p tid stopped since last asked: a bit for each. */
unsigned ptc_points_take_hits(pid_t tid);

#endif
