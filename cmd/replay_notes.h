// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What `faultline replay' notes of the processes of a capture: each kind once, with the processes
 * that it is of.
 */
#ifndef CMD_REPLAY_NOTES_H
#define CMD_REPLAY_NOTES_H

#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"

struct replay_note {
	char *text;		 ///< as it was of the first
	VEC(uint32_t) processes; ///< ascending
};

/** Zeroed: there are none. */
struct replay_notes {
	VEC(struct replay_note) list;
};

/** Each line of @p lines (NULL: none) is a note of process @p process, after those of processes with
 * lower numbers. */
struct err *cmd_replay_notes_add(struct replay_notes *n, const char *lines,
				 uint32_t process);

/** Tell them on stderr, and that there are none any more. @p n_processes: of the capture. */
void cmd_replay_notes_tell(struct replay_notes *n, size_t n_processes);

#endif
