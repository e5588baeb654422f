// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of `faultline dump' share: which events, and what of them.
 */
#ifndef CMD_DUMP_INT_H
#define CMD_DUMP_INT_H

#include <stdio.h>

#include "capture/capture.h"

struct dump_options {
	bool with_memory, with_regs;
	uint32_t tid;	///< only events of this thread; 0: all
	uint32_t kinds; ///< only those with bit 1 << kind; 0: all
};

/** @return the name of @p kind for --kind and "kind": "syscall"; NULL: no such kind. */
const char *cmd_dump_kind(enum cap_event_kind kind);

/** @return whether @p ev is asked for. A switch belongs to both of its threads. */
bool cmd_dump_is_wanted(const struct cap_event *ev, const struct dump_options *o);

/** Print @p ev as one JSON object and a newline. */
struct err *cmd_dump_json(const struct cap_event *ev, const struct dump_options *o,
			  FILE *out);

/** Print the program and the processes followed from it as a tree, a line each; or each as
 * one JSON object and a newline. */
struct err *cmd_dump_processes(const struct cap_info *info, FILE *out);
struct err *cmd_dump_processes_json(const struct cap_info *info, FILE *out);

#endif
