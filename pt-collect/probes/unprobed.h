// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A process's memory without what probes of ours have written into its code
 * (unprobed.c).
 */
#ifndef PT_COLLECT_PROBES_UNPROBED_H
#define PT_COLLECT_PROBES_UNPROBED_H

#include "pt-collect/log/private.h"
#include "pt-collect/tracee/tracee.h"

/** Whose memory is read. */
struct ptc_unprobed {
	const struct ptc_tracee *tracee;
	const struct ptc_left_out *left_out;
	const struct ptc_maps *maps; ///< of it, as they are now
};

/** As ptc_private_read(), but that mapped code is as in its file under each breakpoint.
 * @p unprobed: a struct ptc_unprobed. */
struct err *ptc_unprobed_read(void *unprobed, uint64_t addr, void *buf, size_t size);

/** @return whether the breakpoint that was seen at @p addr is a probe's, not one of the program's
 * own. What is not mapped from a file (any more) has none. */
bool ptc_is_probed(const struct ptc_tracee *t, uint64_t addr);

#endif
