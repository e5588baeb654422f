// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Processes that handle a stranger's bytes, kept from doing harm. A confined *group* is this
 * same program, started again under another name: a *warden*, which does nothing but wait, and
 * below it the worker and its forks. The owner deals with the warden alone; process ids that
 * workers tell are names in the warden's world, never ids of the owner's (doc/confinement.md).
 *
 *   owner --commands--> warden --(clone)--> worker, its forks (children of the warden, too)
 *         <---ends-----
 *
 * Invariants:
 *  1. No process of a group outlives its owner or confine_destroy(): the warden is the first
 *     of a process id namespace; where the kernel allows none, the group's leader.
 *  2. Ids are only used by the warden, and only of its own children.
 *  3. A worker that has called confine_self() makes only the calls of its table.
 */
#ifndef CONFINE_CONFINE_H
#define CONFINE_CONFINE_H

#include <seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"

/* ---- the owner's side -------------------------------------------------------------------- */

struct confine;

/** A process of the group has ended. */
struct confine_end {
	int32_t pid;	///< as the group knows it
	int32_t status; ///< as of waitpid(2)
};

/**
 * Start this program again, confined as @p name.
 *
 * @param name	argv[0]: some constructor calls confine_begin() for it.
 * @param args	NULL-terminated, the worker's from argv[CONFINE_ARGS] on.
 * @param fds	open in the worker under the same numbers, @p n of them. Negative ones count for
 *		none.
 * @param ret_pid  the worker.
 * @return ERR_OS.
 */
struct err *confine_start(const char *name, char *const args[], const int *fds, size_t n,
			  struct confine **ret, int32_t *ret_pid);

#define CONFINE_ARGS 3

/** Tell the next end that was not told yet, without waiting. @return false: there is none. */
bool confine_next_end(struct confine *c, struct confine_end *ret);

/** End process @p pid of the group and wait until it is gone. Who is not of the group is left
 * alone. */
void confine_kill(struct confine *c, int32_t pid);

/** @return whether the whole group is gone. *@p ret_status: the warden's wait status. */
bool confine_is_gone(struct confine *c, int *ret_status);

/** End the group. NULL is fine. */
void confine_destroy(struct confine *c);
void confine_destroyp(struct confine **c);

/* ---- the confined side ------------------------------------------------------------------- */

/** In a process that confine_start() made, before anything else: returns in the worker, with
 * @p fds (as there) and 0 to 2 as the only descriptors; its messages (descriptor 2) go through
 * the warden, who lets a few pass, without escape sequences. */
void confine_begin(char **argv, const int *fds, size_t n);

/** What becomes of a system call. */
enum confine_how {
	CONFINE_MAY,   ///< it is made
	CONFINE_NEVER, ///< it kills, whatever else the table says
	CONFINE_FAILS, ///< it fails with EPERM
};

/** Some calls of one number: those whose arguments compare like this. */
struct confine_call {
	int nr; ///< SYS_*
	enum confine_how how;
	unsigned n; ///< comparisons, all of which must hold
	struct scmp_arg_cmp when[2];
};

/** Argument @p i is @p fd, as the kernel takes it: the upper half does not count. */
#define CONFINE_FD(i, fd) SCMP_CMP(i, SCMP_CMP_MASKED_EQ, 0xffffffff, (uint32_t)(fd))

/** From here on the calling process and its forks may only make the calls of the table, @p n
 * rows (any other kills), and have no file system, no capability and no way to get one. What is
 * to be used must be open. @return ERR_OS. */
struct err *confine_self(const struct confine_call *calls, size_t n);

#endif
