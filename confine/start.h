// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Who starts a confined group: the process that wants it, or, where that is a command which may
 * not (command.c), its owner; and what a command may not.
 */
#ifndef CONFINE_START_H
#define CONFINE_START_H

#include <sys/types.h>

#include "confine/confine.h"

/** Start this program again as CONFINE_NAME with @p args (NULL-terminated, CONFINE_ARGS_MOST at
 * most) and @p n descriptors. @p ret: the ends of two pipes, for
 * commands and of ends; the caller's, -1 where there is none. @p warden: the process, to be
 * waited for; 0: somebody else waits. @return ERR_OS. */
typedef struct err *confine_launch_fn(char *const args[], const int *fds, size_t n,
				      int ret[2], pid_t *warden);

confine_launch_fn confine_launch;

/** What confine_start() calls. */
extern confine_launch_fn *confine_launcher;

/** When memory is short, the calling process and those that it makes are the first to be ended. */
void confine_go_first(void);

/** From here on the calling process makes a command's calls only (command_calls.c). @return as
 * confine_self_but(). */
struct err *confine_as_command(void);

#endif
