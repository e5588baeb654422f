// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the commands of this room share.
 */
#ifndef CMD_COMMAND_H
#define CMD_COMMAND_H

#include <argp.h>

#include "faultlocate/fl_analysis.h"

typedef VEC(const char *) fl_texts;

/** Add option argument @p text, which is borrowed; ends the program without memory. */
void cmd_command_push(struct argp_state *state, fl_texts *v, const char *text);

/** Which bundle of @p capture is meant by @p process (NULL: that which fl_process_choose()
 * says; then tells on stderr that there are others). @p ret: free(). */
struct err *cmd_command_process(const char *capture, const char *process,
				const fl_texts *specs, char **ret);

#endif
