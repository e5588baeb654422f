// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A PT stream's packets as lines (in the form of libipt's ptdump) or JSON objects.
 */
#ifndef DECODE_PT_PACKETS_H
#define DECODE_PT_PACKETS_H

#include "decode/pt/show.h"

/** Show the packets of @p source as @p o says; those in between two TSC packets have the
 * first one's time. What is no packet is a gap up to the next PSB, counted in @p n_gaps.
 * @return err_nomem, or ERR_OS (writing fails). */
struct err *dec_pt_packets_show(const struct dec_pt_flow *f,
				const struct dec_pt_source *source,
				const struct dec_pt_show_options *o, uint64_t *n_packets,
				uint64_t *n_gaps);

#endif
