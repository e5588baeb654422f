// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How flight.c is divided. Private to decode/.
 */
#ifndef DECODE_PAST_FLIGHT_INT_H
#define DECODE_PAST_FLIGHT_INT_H

#include "decode/past/flight.h"

/* ---- what ran (flight_pt.c) --------------------------------------------------------- */

/** Instructions in the order in which they ran; `insns` has each one once. */
struct flight_path {
	VEC(struct dec_insn) insns;
	VEC(uint32_t) order; ///< index into insns; FLIGHT_GAP
	uint64_t n_decoded;
};

#define FLIGHT_GAP UINT32_MAX

/** Decode the last @p n instructions of thread @p tid in the PT of @p c, whose code is read
 * from @p core. */
struct err *dec_flight_path_read(const struct capture *c, const struct cap_core *core,
				 uint32_t tid, uint64_t n, struct flight_path *ret);
void dec_flight_path_deinit(struct flight_path *p);

/* ---- the end (flight_end.c) ---------------------------------------------------------- */

struct flight_end {
	struct dec_recover_end end;
	const struct capture *capture;
	const struct cap_core *core;
};

/** Make of @p core what dec_recover wants to know. Borrows both. */
struct err *dec_flight_end_create(const struct capture *c, const struct cap_core *core,
				  struct flight_end **ret);

/* ---- heap events (flight_calls.c) ------------------------------------------------------ */

/** Find the allocator calls of @p p, and which recorded events they are. Fills f->calls. */
struct err *dec_flight_calls_match(struct dec_flight *f, const struct capture *c,
				   const struct flight_path *p);

/* ---- store events (flight_stores.c) ------------------------------------------------------ */

/** Find which executions in @p p the recorded hits of store probes belong to. Fills
 * f->hits. */
struct err *dec_flight_hits_match(struct dec_flight *f, const struct capture *c,
				  const struct flight_path *p);

/** Step @p i of the path comes next: tell f->recover what a probe there says. @p next: the
 * first hit that may be; 0 in the beginning. */
struct err *dec_flight_hits_anchor(struct dec_flight *f, uint64_t i, size_t *next);

#endif
