// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Walk there, both ways: a server of gdb's remote protocol for a replayed process.
 */
#ifndef DEBUG_DEBUG_H
#define DEBUG_DEBUG_H

#include "capture/capture.h"

struct dbg_options {
	int in, out;	       ///< the connection; -1: whoever comes to listener
	int listener;	       ///< a listening socket; -1: none
	uint64_t position;     ///< where to begin
	const char *processes; ///< the list of those that were recorded, for people
	/** Open process @p pid of the same recording. @return ERR_NOT_FOUND: there is none. */
	struct err *(*open)(void *ctx, uint32_t pid, struct capture **ret);
	void *ctx; ///< of that
};

/** Serve the process in @p c until the connection ends; with a listener, one gdb after the other
 * until this process is ended. @return as capture_open(), dec_machine_create(). */
struct err *dbg_serve(const struct capture *c, const struct dbg_options *o);

/** The commands that gdb has for it: a script in Python. Static text. */
extern const char dbg_commands[], dbg_commands_end[];

#endif
