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

/** argv[0] of a process of a group: some constructor calls confine_begin() for it, and lets none
 * of that name get to main(). */
#define CONFINE_NAME "faultline-machine"

/** What is started again: the program that runs, unless that has this room from a library. */
extern const char *confine_program;

#define CONFINE_ARGS_MOST 8

/** As the last of the worker's arguments, which does not reach it: its libraries and mappings are
 * not laid out below the top of memory, but from a third of it on. */
#define CONFINE_OLD_LAYOUT "old-layout"
#define CONFINE_FDS 8 ///< at most

/** The worker has its @p i th descriptor as this one. */
#define CONFINE_FD(i) (CONFINE_COMMANDS + 2 + (i))
enum { CONFINE_COMMANDS = 3, CONFINE_ENDS }; ///< the warden's

/**
 * Start this program again, confined.
 *
 * @param args	NULL-terminated, the worker's from argv[1] on.
 * @param fds	become CONFINE_FD(0) and so on in the worker, @p n of them; -1: it is closed.
 * @param ret_pid  the worker.
 * @return ERR_OS.
 */
struct err *confine_start(char *const args[], const int *fds, size_t n,
			  struct confine **ret, int32_t *ret_pid);

/** Tell the next end that was not told yet, without waiting. @return false: there is none;
 * *@p is_gone: nor will there be, the whole group is gone. */
bool confine_next_end(struct confine *c, struct confine_end *ret, bool *is_gone);

/** End process @p pid of the group and wait until it is gone. Who is not of the group is left
 * alone. */
void confine_kill(struct confine *c, int32_t pid);

/** End the group. NULL is fine. */
void confine_destroy(struct confine *c);
void confine_destroyp(struct confine **c);

/* ---- the confined side ------------------------------------------------------------------- */

/** In a process that confine_start() made, before anything else: returns in the worker, with
 * @p n descriptors from CONFINE_FD(0) on; its messages (descriptor 2) go through the warden, who
 * lets a few pass, without escape sequences. The worker may do what a command may, until it
 * calls confine_self(). */
void confine_begin(size_t n);

/** What becomes of a system call. */
enum confine_how {
	CONFINE_MAY,	   ///< it is made
	CONFINE_NEVER,	   ///< it kills, whatever else the table says
	CONFINE_FAILS,	   ///< it fails with EPERM
	CONFINE_NOT_THERE, ///< it fails with ENOSYS, so that another one is tried
};

/** Some calls of one number: those whose arguments compare like this. */
struct confine_call {
	int nr; ///< SYS_*
	enum confine_how how;
	unsigned n; ///< comparisons, all of which must hold
	struct scmp_arg_cmp when[2];
};

/** Argument @p i is @p fd, as the kernel takes it: the upper half does not count. */
#define CONFINE_IS_FD(i, fd) SCMP_CMP(i, SCMP_CMP_MASKED_EQ, 0xffffffff, (uint32_t)(fd))

/** From here on the calling process and its forks may only make the calls of the table, @p n
 * rows (any other kills), and have no file system, no capability and no way to get one. What is
 * to be used must be open. @return ERR_OS. */
struct err *confine_self(const struct confine_call *calls, size_t n);

/** From here on the calling process and its forks may make any call but those of the table
 * (NEVER, FAILS, NOT_THERE), and those that are younger than it. @return ERR_OS. */
struct err *confine_self_but(const struct confine_call *calls, size_t n);

/* ---- whole commands ------------------------------------------------------------------------ */

/** What a command line says that is to be written; of each kind there may be none (NULL). */
struct confine_outputs {
	/** NULL-terminated, as the next one: options that name a new file, "svg" or "o". */
	const char *const *files;
	const char *const *dirs; ///< options that name a new directory
	const char *in_place;	 ///< given this option, any argument may be a new file
	/** Beside a new file there may be a directory, named as it is and with this behind it. */
	const char *beside;
	bool has_inside; ///< directories among the arguments may be written into
};

/**
 * Run a command that reads what strangers wrote in a process of its own, which may read what its
 * user may, and write nothing but its standard output and error: its new files (base/file.h) are
 * made for it, if the command line says so, and below the directories that it may write into.
 * Below any directory among its arguments it may make a joined.flt (doc/joint.md).
 * It has no network, signals nobody, traces nobody.
 *
 * @return its exit status; when a signal ends it, this process ends by the same. SIGKILL is
 *	   told in a line: 2.
 */
int confine_command(int (*run)(int argc, char **argv), int argc, char **argv,
		    const struct confine_outputs *outputs);

/** In such a command: the debug information for build-id @p id that the user's debuginfod
 * servers have (DEBUGINFOD_URLS), which its owner asks. @return a descriptor, the caller's; -1:
 * none, or this is no such command. */
int confine_debuginfo(const uint8_t *id, size_t bytes);

#endif
