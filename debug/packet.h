// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Packets of gdb's remote protocol (gdb's manual, appendix "Remote Serial Protocol"): what
 * arrives is a stranger's bytes, read one at a time by a machine that keeps nothing but the
 * packet under way; what leaves is put together in a text, and framed.
 *
 * Nothing here reads or writes descriptors. A reader and a text belong to one thread.
 */
#ifndef DEBUG_PACKET_H
#define DEBUG_PACKET_H

#include "base/base.h"

/** Longest packet, as it is told to gdb; escapes count as what they stand for. */
#define DBG_PACKET_MOST 65536

/* ---- what arrives -------------------------------------------------------------------------- */

/** What a byte completed. */
enum dbg_token {
	DBG_TOKEN_NONE,
	DBG_TOKEN_PACKET,    ///< data and size hold it
	DBG_TOKEN_DAMAGED,   ///< a packet with a wrong checksum: to be sent again
	DBG_TOKEN_TOO_LONG,  ///< a packet that is right, and was dropped
	DBG_TOKEN_ACK,	     ///< the last answer arrived
	DBG_TOKEN_NAK,	     ///< it is to be sent again
	DBG_TOKEN_INTERRUPT, ///< Ctrl-C
};

struct dbg_reader {
	enum { DBG_IDLE, DBG_DATA, DBG_ESCAPED, DBG_SUM_HIGH, DBG_SUM_LOW } state;
	uint8_t sum, told; ///< of the bytes; as told
	bool is_too_long, is_no_sum;
	bool checks; ///< checksums matter: as long as packets are acknowledged
	size_t size;
	char data[DBG_PACKET_MOST + 1]; ///< NUL behind the last
};

/** Take @p byte. The packet stays until the next byte is taken. */
enum dbg_token dbg_reader_take(struct dbg_reader *r, uint8_t byte);

/** The next of a request's words. */
struct dbg_cursor {
	const char *at, *end;
};

/** Take a hexadecimal number of up to 16 digits. @return whether there is one. */
bool dbg_take_hex(struct dbg_cursor *c, uint64_t *ret);

/** Take @p text if it comes next. @return whether it does. */
bool dbg_take(struct dbg_cursor *c, const char *text);

/** Take pairs of hexadecimal digits as bytes, up to @p most. @return how many; fewer than there
 * are where something else comes. */
size_t dbg_take_bytes(struct dbg_cursor *c, uint8_t *to, size_t most);

/** @return how many bytes are left. */
static inline size_t dbg_left(const struct dbg_cursor *c)
{
	return c->end - c->at;
}

/* ---- what leaves --------------------------------------------------------------------------- */

/** A text that grows; once memory is out it takes nothing more. */
struct dbg_text {
	VEC(char) bytes;
	bool is_out_of_memory;
};

void dbg_put(struct dbg_text *t, const char *bytes, size_t n);
void dbg_print(struct dbg_text *t, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/** Put @p n bytes as pairs of hexadecimal digits. */
void dbg_put_hex(struct dbg_text *t, const void *bytes, size_t n);

/** Put @p n bytes, those that mean something in a packet escaped. */
void dbg_put_binary(struct dbg_text *t, const void *bytes, size_t n);

/** Put @p text as the value of an XML attribute. */
void dbg_put_xml(struct dbg_text *t, const char *text);

/** Make a packet of @p data: runs of a character are told as runs. */
void dbg_frame(struct dbg_text *to, const char *data, size_t n);

void dbg_text_deinit(struct dbg_text *t);

#endif
