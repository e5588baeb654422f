// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Attaching to a running program, and leaving it (attach.c): can it be attached to
 * (target.c), and how all its threads are stopped (freeze.c).
 */
#ifndef PT_COLLECT_START_ATTACH_H
#define PT_COLLECT_START_ATTACH_H

#include "pt-collect/inputs/process.h"

struct ptc_family;

/** What attaching took. */
struct ptc_stopped {
	size_t n_threads; ///< as many stood still
	uint64_t ns;	  ///< so long
	uint64_t saved_bytes;
};

/** Can @p pid be attached to? A thread's number is replaced by its process'. @return why
 * not, and what to do. */
struct err *ptc_target_check(pid_t *pid);

/** Stop all threads of @p p; those not traced yet become so. @p is_recorded: stops of other
 * kinds on the way are events. */
struct err *ptc_freeze(struct ptc_process *p, bool is_recorded);

/** Let the stopped threads go on, with ptrace options @p options; when @p is_leaving,
 * untraced. */
void ptc_thaw(struct ptc_process *p, bool is_leaving, unsigned long options);

/**
 * Take back the signals of ours that are on their way to resting thread @p t: the kernel
 * side's SIGSTOP, and the SIGSEGV of a trapped instruction, which it will execute again.
 * Nobody would expect them later.
 */
void ptc_drop_signals(struct ptc_process *p, struct ptc_thread *t);

/** All threads rest: give back what was taken from them. */
struct err *ptc_attach_change_back(struct ptc_process *p);

/** Attach to the running program: it goes on, recorded; @p ret says for how long it stood. On failure it goes on as before. */
struct err *ptc_attach_start(struct ptc_process *p, struct ptc_stopped *ret);

/** @return whether it has executed another program since @p p was made. */
bool ptc_attach_is_late(const struct ptc_process *p);

/** A stop of ours, not a signal, ended the call in which thread @p tid waited (its registers
 * are @p u): have the thread make it again. */
struct err *ptc_renew_wait(const struct ptc_process *p, pid_t tid,
			   struct user_regs_struct *u);

/** Does the kernel make the call again from which stopped registers @p u come? */
bool ptc_is_cut_short(const struct user_regs_struct *u);

/** Leave it as if we had never been there; what it did until now is recorded. */
void ptc_attach_end(struct ptc_family *f, struct ptc_process *p);

/** It executed another program, and stands before that: the recording ends here. */
void ptc_attach_executed(struct ptc_process *p);

#endif
