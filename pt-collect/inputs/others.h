// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What other processes write into a recorded one's memory (others.c).
 */
#ifndef PT_COLLECT_INPUTS_OTHERS_H
#define PT_COLLECT_INPUTS_OTHERS_H

#include "pt-collect/inputs/process.h"

/** @return the recorded process that has number @p number, or a thread of it, for @p by, which may
 * have a name space of its own; NULL: none. */
struct ptc_process *ptc_others_named(const struct ptc_process *by, pid_t number);

/** Call @p e of @p p, which stands at its end, was process_vm_writev().
 * @return whether what it wrote is another process' memory. */
bool ptc_others_called(struct ptc_process *p, const struct rec_syscall *e);

/** Process @p by, which stands still, has written @p size bytes at @p addr of @p to by call @p e. */
void ptc_others_wrote(struct ptc_process *to, const struct ptc_process *by,
		      const struct rec_syscall *e, uint64_t addr, uint64_t size);

/** What others wrote into @p p since its last event: in front of what @p w has. */
void ptc_others_give(struct ptc_process *p, struct ptc_writes *w);

/** A process that is not recorded writes into one that may be: then that is a gap, told once. */
void ptc_others_tell(const struct ptc_processes *all, const struct rec_others *o);

#endif
