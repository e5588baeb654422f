// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A segment of a stream that has the kernel traced, too, as tracing of user code alone would
 * have left it: what ran at the kernel's addresses is taken out, tracing goes off where it is
 * entered (TIP becomes TIP.PGD) and on where it is left (TIP becomes TIP.PGE). Its code is
 * not known here; and a decoder that went on behind it, instead of through, would have
 * forgotten the calls that returns are compressed by.
 *
 * Belongs to one thread.
 */
#ifndef DECODE_PT_USER_H
#define DECODE_PT_USER_H

#include <intel-pt.h>

#include "base/base.h"

/** From byte `to` of the result on, up to the next one, bytes are those from `from` on. */
struct dec_pt_user_mark {
	uint64_t to, from;
};

struct dec_pt_user {
	uint8_t *bytes; ///< n of them, with room for n_max
	size_t n, n_max;
	VEC(struct dec_pt_user_mark) marks;
	uint64_t n_visits; ///< of the kernel
};

/** @return whether @p ip is an address of the kernel's. */
static inline bool dec_pt_user_is_kernel(uint64_t ip)
{
	return ip >> 63;
}

/** Make the @p n bytes at @p bytes, which begin with a PSB, user code's alone; what is no
 * packet is left as it is, with all behind it. @p config: of the decoder. @return NULL or
 * err_nomem. */
struct err *dec_pt_user_filter(struct dec_pt_user *u, const struct pt_config *config,
			       const uint8_t *bytes, size_t n);
void dec_pt_user_deinit(struct dec_pt_user *u);

/** @return where byte @p at of the result was. */
uint64_t dec_pt_user_offset(const struct dec_pt_user *u, uint64_t at);

/** Complete the address of IP packet @p p with the last one's upper bytes, @p last_ip, which it
 * then becomes. @return false: it has none. */
bool dec_pt_user_ip(const struct pt_packet_ip *p, uint64_t *last_ip);

#endif
