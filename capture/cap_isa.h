// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which instruction sets a processor has: a capture's program may have chosen its code by them, and
 * then replays only where they are. Names are those of /proc/cpuinfo.
 */
#ifndef CAPTURE_CAP_ISA_H
#define CAPTURE_CAP_ISA_H

#include <stdint.h>

#include "capture/cap_cpu.h"

/** A bit for each instruction set, whose number cap_isa_name() takes. */
typedef uint64_t cap_isa;

/** @return those of the processor that answered as @p c; none where that is not known. */
cap_isa cap_isa_of(const struct cap_cpu *c);

/** @return those of this machine. */
cap_isa cap_isa_here(void);

/** @return the name of number @p i; NULL: there are no more. */
const char *cap_isa_name(unsigned i);

#endif
