// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Packets that came after the library (SDM volume 3, "Packet Definitions"): the event trace's
 * CFE and EVD, TRIG, and the blocks of PEBS via PT (BBP, BIP, BEP). Debian's libipt 2.0 knows
 * none of them. They tell nothing of the flow; where they end is all that is needed to go on
 * behind them. A newer library knows them, and never asks.
 */
#ifndef DECODE_PT_NEWER_H
#define DECODE_PT_NEWER_H

#include <intel-pt.h>

/** Have @p config's decoder skip them. */
void dec_pt_newer_configure(struct pt_config *config);

/** @return the name of the ppt_unknown packet @p p that was skipped so. */
const char *dec_pt_newer_name(const struct pt_packet *p);

#endif
