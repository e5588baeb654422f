// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is to be undone in the program that is attached to, whoever dies: a table that the
 * keeper and the recorder share (undo.c).
 */
#ifndef PT_COLLECT_TRACEE_UNDO_H
#define PT_COLLECT_TRACEE_UNDO_H

#include <sched.h>

#include "pt-collect/tracee/tracee.h"
#include "pt-collect/tracee/vdso.h"

/** The table of what is to be undone, made before any other process that is to share it. */
struct err *ptc_undo_init(void);

/** A new table: threads make our calls at the gate of @p vdso. */
struct err *ptc_undo_begin(const struct ptc_vdso *vdso);

/** Resting thread @p tid is about to be changed. */
struct err *ptc_undo_add(pid_t tid);

/** From here on process @p pid, whose threads have been added, is not as it was. */
void ptc_undo_announce(pid_t pid);

/** Nothing is to be undone any more. */
void ptc_undo_end(void);

/** @return the process that is not as it was; 0 = there is none. */
pid_t ptc_undo_pid(void);

/** Is that where its threads make our calls? */
bool ptc_undo_is_gate(uint64_t at);

/** Its vDSO; all zero where nothing was ever to be undone. */
void ptc_undo_vdso(struct ptc_vdso *v);

/** Its user stopped it, or let it go on. */
void ptc_undo_stopped(bool is_stopped);
bool ptc_undo_is_stopped(void);

/** Resting thread @p tid: take rseq, rdtsc and cpuid from it; and give them, and its CPUs,
 * back. */
struct err *ptc_undo_change(const struct ptc_tracee *tracee, pid_t tid);
struct err *ptc_undo_thread(pid_t tid);

/** Thread @p tid has chosen these CPUs since. */
void ptc_undo_cpus(pid_t tid, const cpu_set_t *cpus);

/** Its recorder died while it made a call for us: it has not. */
struct err *ptc_undo_call(pid_t tid);

/** @p tid is about to make a call for us; these are its own registers. */
void ptc_undo_borrow(pid_t tid, const struct user_regs_struct *u);
void ptc_undo_give_back(pid_t tid);

/** @p tid is about to have its signals blocked; this is its own mask. */
void ptc_undo_shield(pid_t tid, uint64_t signals);
void ptc_undo_unshield(pid_t tid);

#endif
