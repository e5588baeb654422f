// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * When the recorder is killed: who watches (keeper.c).
 */
#ifndef PT_COLLECT_START_KEEPER_H
#define PT_COLLECT_START_KEEPER_H

#include <signal.h>
#include <stdbool.h>

/**
 * Run @p fn in a process of its own, the recorder, and watch over it (keeper.c).
 *
 * @param in_flight  As in ptc_watched_signals().
 * @return what to exit with: @p fn's result.
 */
int ptc_keep(int (*fn)(void *ctx), void *ctx, bool in_flight);

/** What keeper and recorder take from a descriptor, blocked: children's stops and ends, and
 * requests to end; @p in_flight also SIGUSR2, by which a snapshot is asked for. */
sigset_t ptc_watched_signals(bool in_flight);

/** In a child of the recorder, which becomes a program: process group, signal mask and
 * dispositions as whom the user started has them. Without a keeper they are. */
void ptc_be_usual(void);

/** In the recorder: was the keeper killed? */
bool ptc_is_keeper_gone(void);

#endif
