// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The connection to gdb: a pair of descriptors, or those who come to a listening socket, one at
 * a time.
 */
#ifndef DEBUG_LINK_H
#define DEBUG_LINK_H

#include "debug/packet.h"

struct dbg_link {
	int in, out;	     ///< -1: nobody is there
	int listener;	     ///< -1: none
	bool has_no_acks;    ///< gdb wants no acknowledgements
	bool is_gone;	     ///< the other side is
	bool is_interrupted; ///< Ctrl-C came
	bool has_packet;     ///< reader.data is one that nobody has taken yet
	struct dbg_reader reader;
	uint8_t arrived[8192]; ///< and not looked at yet
	size_t arrived_at, arrived_n;
	struct dbg_text sent; ///< the last answer, framed
};

/** Talk over @p in and @p out, or with whoever comes to @p listener; -1: not. Borrowed. */
void dbg_link_init(struct dbg_link *l, int in, int out, int listener);
void dbg_link_deinit(struct dbg_link *l);

/** Wait for a packet, which stays in reader until the next is waited for. @return false: the other
 * side has gone, or there is none. */
bool dbg_link_receive(struct dbg_link *l);

/** Wait for somebody to come to the listener. @return false: nobody will. */
bool dbg_link_accept(struct dbg_link *l);

/** Let go whoever came. */
void dbg_link_close(struct dbg_link *l);

/** Send @p n bytes as a packet. */
void dbg_link_send(struct dbg_link *l, const char *data, size_t n);

/** Without waiting: @return whether Ctrl-C came, or a packet, or the other side has gone. */
bool dbg_link_poll(struct dbg_link *l);

#endif
