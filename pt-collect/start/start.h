// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A recording's beginning: the program started, its start state saved (launch.c,
 * start.c, mappings.c).
 */
#ifndef PT_COLLECT_START_START_H
#define PT_COLLECT_START_START_H

#include "pt-collect/inputs/process.h"
#include "pt-collect/tracee/tracee.h"

#define PTC_EXIT_FAILED 125	    ///< faultline itself failed
#define PTC_EXIT_CANNOT_EXECUTE 126 ///< the program is there and cannot be executed
#define PTC_EXIT_NOT_FOUND 127	    ///< there is no such program

/** Start @p argv stopped before its first instruction; when @p is_filtered, without the
 * system calls that no replay could follow. @return NULL with the pid; when it cannot be
 * executed, an error with @p exit_status set. */
struct err *ptc_launch(char **argv, bool is_filtered, pid_t *pid, int *exit_status);

/** End program @p pid, which has been launched and not begun. */
void ptc_launch_undo(pid_t pid);

/** @return ERR_UNSUPPORTED when the program that @p pid, stopped, just became is a 32-bit
 * one; else NULL. */
struct err *ptc_check_is_64(pid_t pid);

/** A core of process @p t, to be filled. It is the caller's, even on failure. */
struct err *ptc_core_create(const struct ptc_tracee *t, struct cap_core **ret);
void ptc_core_destroyp(struct cap_core **core);

/** Make the stopped program's chances ours, and save its start state. */
struct err *ptc_start(struct ptc_process *p);

/** Save the start state of a process that has run before: a child of fork that stands
 * behind the call, with its chances ours already. */
struct err *ptc_start_forked(struct ptc_process *p);

/** Fill core->mappings with what the stopped process has mapped, saying how much of each to
 * save; files are kept. */
struct err *ptc_take_mappings(struct ptc_process *p, const struct ptc_maps *maps,
			      struct cap_core *core);

/** Say it where stopped process @p pid begins a setuid program: the kernel gives one that is traced
 * no rights that its tracer lacks. @p program: its name for people. */
void ptc_tell_setuid(pid_t pid, const char *program);

/**
 * The program stands at its first instruction, and may be dumped (a core of its end, /proc) as if its parent had had
 * all of root's capabilities: of who gets more by an exec the kernel thinks as of a setuid program. One that is
 * setuid stays as it is, and so does a user's.
 */
struct err *ptc_make_dumpable(const struct ptc_tracee *t);

/** After an exec, at the first instruction: rdtsc and cpuid are the program's own again. */
struct err *ptc_free_program(struct ptc_process *p);

/** Vector state of stopped @p tid, laid out as cores have it (cap_core_xstate()). @p xstate is
 * the caller's to free. */
struct err *ptc_take_xstate(pid_t tid, uint8_t **xstate, size_t *bytes);

/** The program break, rounded up to a page: the process is not made to ask for it, because
 * it may not be allowed to. 0 when it cannot be told. */
uint64_t ptc_find_break(pid_t pid, const struct ptc_maps *maps);

/** The auxv as the kernel remembers it; without @p with_vdso that is hidden, as on the
 * stack. @p core owns the result. */
struct err *ptc_recall_auxv(pid_t pid, bool with_vdso, struct cap_core *core);

#endif
