// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What every system call writes: the table (table.c), and reading it (outputs.c).
 */
#ifndef PT_COLLECT_INPUTS_TABLE_H
#define PT_COLLECT_INPUTS_TABLE_H

#include "pt-collect/kernel/bpf.h"
#include "pt-collect/log/writes.h"
#include "pt-collect/tracee/tracee.h"

/** Descriptor of call @p nr, by its command where it has one; NULL = not listed.
 * @p command descriptors of unknown modern ioctls are made in @p made_up. */
const struct rec_desc *ptc_table_find(int64_t nr, const uint64_t args[6],
				      struct rec_desc *made_up);

/** All of it, for the kernel side. */
extern const struct ptc_calls ptc_table;

/** Read all that the call in @p e wrote from the stopping target into @p w.
 * @return whether everything could be read. */
bool ptc_outputs_read(const struct ptc_tracee *t, struct ptc_writes *w,
		      const struct rec_syscall *e);

/** Add @p size bytes of the target's memory at @p addr to @p w. */
bool ptc_outputs_add(const struct ptc_tracee *t, struct ptc_writes *w, uint64_t addr,
		     uint64_t size);

/** What call @p nr (OUT_POINTERS) wrote through pointers in what its arguments point to, into @p w.
 * @return false: that cannot be found out. */
bool ptc_pointers_add(const struct ptc_tracee *t, struct ptc_writes *w, int64_t nr,
		      const uint64_t args[8]);

#endif
