// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Processes that share memory, all recorded (record -f): each one's log says when its turns began
 * (CAP_EV_SWITCH with CAP_SWITCH_TURN), and which memory it shares (CAP_EV_SHARED), but not what the
 * others wrote there while it was away. That follows from theirs: they are replayed together once, turn by
 * turn in the order in which they ran, and what each finds changed when its turn begins is kept as
 * that event's memory. From then on each replays by itself.
 */
#ifndef DECODE_MACHINE_JOINT_H
#define DECODE_MACHINE_JOINT_H

#include "capture/capture.h"

/** Join @p c and all that it shares memory with, if that was not done yet: their bundles have a
 * joined.flt then. Where one of them cannot be replayed to its end, a gap in the others says from where
 * on what it wrote is missing. @return ERR_OS: their bundles cannot be written; ERR_UNSUPPORTED, ERR_NOMEM, or
 * as cap_events_next() of any. */
struct err *dec_joint(const struct capture *c);

#endif
