// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What gdb writes, and functions that it calls: they happen in a branch of the recorded run
 * (decode/machine/branch.h), which is thrown away by whatever goes back, by `monitor seek', and
 * where a call of a function has returned and gdb restores the registers.
 */
#ifndef DEBUG_ALTERED_H
#define DEBUG_ALTERED_H

#include "debug/detour.h"

/** Give register number @p i of thread @p tid (0: that runs) a value, in a branch from here.
 * @return ERR_UNSUPPORTED: not that one. */
struct err *dbg_altered_set(struct dbg_session *s, uint32_t tid, size_t i,
			    const uint8_t *value);

/** Write memory, in a branch from here. */
struct err *dbg_altered_write(struct dbg_session *s, uint64_t addr, const void *bytes,
			      size_t n);

/** @return whether a move of the user's goes on in the branch; if it was only for gdb, which had
 * memory allocated, it is thrown away. */
bool dbg_altered_moves(struct dbg_session *s);

/** Run on in the branch, to a breakpoint. */
struct err *dbg_altered_go(struct dbg_session *s, struct dbg_stop *ret);

/** One instruction, and more as long as it then stands in [@p from, @p to). */
struct err *dbg_altered_step(struct dbg_session *s, uint64_t from, uint64_t to,
			     struct dbg_stop *ret);

/** Take a detour from here on, in a branch; @p d is consumed. */
struct err *dbg_altered_detour(struct dbg_session *s, struct dbg_detour *d);

/** If nothing but detours was asked for, and it stands where it began: go back to the recorded run, to
 * look at it; dbg_altered_resume() then begins anew. *@p ret: the detours, NULL: there is no such
 * branch. */
struct err *dbg_altered_pause(struct dbg_session *s, dbg_detours **ret);
struct err *dbg_altered_resume(struct dbg_session *s, dbg_detours *detours);

/** Throw the branch away, if there is one: it stands where that began. */
void dbg_altered_leave(struct dbg_session *s);

#endif
