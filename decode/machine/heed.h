// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Is some memory of the guest's written to, on a stretch of its way? Its pages are read-only as
 * long as nobody stores there, so that asking costs a fault at most. The answer errs on one side:
 * a store beside what was asked for, or a change of the mapping, counts too.
 *
 * One question a process, at a time; not while its memory is kept (rollback.h).
 */
#ifndef DECODE_MACHINE_HEED_H
#define DECODE_MACHINE_HEED_H

#include "decode/machine/guest.h"
#include "decode/machine/machine.h"

/** Heed writes to @p n spans of @p g from now on. */
void dec_heed_begin(struct dec_guest *g, const struct dec_span *spans, size_t n);

/** @return whether there may have been one. All is as it was. */
bool dec_heed_end(void);

#endif
