// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The peers: other tools that watch a program run. One table says how each is called, what
 * it does, which Debian package has it.
 */
#ifndef BENCH_BENCH_PEERS_H
#define BENCH_BENCH_PEERS_H

#include "bench/bench_suite.h"

/** The versions of all that are installed, and the names of those that are not, into the
 * results. */
struct err *bench_peers_describe(struct bench *b);

/** Each peer that @p w is for, at most @p max. Those that cannot run are among them, with the
 * reason. @return how many. */
size_t bench_peers_commands(struct bench *b, const struct bench_work *w,
			    struct bench_command *ret, size_t max);

/** The peer of that name on @p w. @return false when there is no such peer. */
bool bench_peer_command(struct bench *b, const char *name, const struct bench_work *w,
			struct bench_command *ret);

#endif
