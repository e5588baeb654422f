// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Calls that end with EINTR because the program is traced (cut.c).
 */
#ifndef PT_COLLECT_INPUTS_CUT_H
#define PT_COLLECT_INPUTS_CUT_H

#include "pt-collect/inputs/process.h"

/** May the kernel make call @p e again, which ended with EINTR? */
bool ptc_cut_is(const struct rec_syscall *e);

/** Call @p e of @p t ended. It is kept back (inputs/assemble.c) if ptc_cut_is(). */
void ptc_cut_ended(struct ptc_thread *t, const struct rec_syscall *e);

/** Thread @p t stands at a signal that is ignored, or at a stop that the recorder asked for
 * (@p signo 0), and goes on without: the call that this cut short goes on, too, or ends as it
 * does when its time is over. */
void ptc_cut_go_on(struct ptc_process *p, struct ptc_thread *t, int signo);

/** Thread @p t was stopped by its user: its call ends with EINTR without us, too. */
void ptc_cut_stopped(struct ptc_thread *t);

/** @p t stands still: whatever its next wait began, it was not before now. */
void ptc_cut_note(struct ptc_process *p, struct ptc_thread *t);

/** End the calls whose time is over.
 * @return when there will be such a call, of CLOCK_MONOTONIC; UINT64_MAX: none is known. */
uint64_t ptc_cut_step(struct ptc_processes *all);

#endif
