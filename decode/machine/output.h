// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the replayed program writes to its standard output, shown again: not what goes
 * through descriptor 1, but what goes to where descriptor 1 led at the start, through
 * whichever descriptor leads there now.
 */
#ifndef DECODE_MACHINE_OUTPUT_H
#define DECODE_MACHINE_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "capture/capture.h"
#include "decode/machine/guest.h"

struct dec_output {
	int fd;			///< of the replay's own process; -1: nothing is shown
	VEC(uint32_t) leading;	///< the program's descriptors that lead there
	bool has_unseen_output; ///< the kernel wrote something there by itself
};

/** Begin with descriptor 1 leading to the output, which is shown on @p fd (-1: nowhere).
 * @return NULL, or ERR_NOMEM. */
struct err *dec_output_init(struct dec_output *o, int fd);

/** Show what the system call @p ev wrote, and follow what it did to descriptors. Where
 * memory is out a descriptor is not followed. */
void dec_output_syscall(struct dec_output *o, struct dec_guest *g,
			const struct cap_event *ev);

#endif
