// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "debug/packet.h"

#include <ctype.h>
#include <stdarg.h>
#include <string.h>

#include "base/text.h"

#define INTERRUPT 3
// A run is told as its character, '*', and how often that comes again, as a printable one.
#define RUN_LEAST 3
#define RUN_MOST 97
#define RUN_BASE 29

static int digit_of(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* ---- what arrives -------------------------------------------------------------------------- */

static void begin(struct dbg_reader *r)
{
	r->state = DBG_DATA;
	r->size = 0;
	r->sum = 0;
	r->is_too_long = r->is_no_sum = false;
}

static enum dbg_token take_idle(struct dbg_reader *r, uint8_t byte)
{
	switch (byte) {
	case '$':
		begin(r);
		return DBG_TOKEN_NONE;
	case '+':
		return DBG_TOKEN_ACK;
	case '-':
		return DBG_TOKEN_NAK;
	case INTERRUPT:
		return DBG_TOKEN_INTERRUPT;
	default:
		return DBG_TOKEN_NONE;
	}
}

static void keep(struct dbg_reader *r, uint8_t byte)
{
	if (r->size < DBG_PACKET_MOST)
		r->data[r->size++] = byte;
	else
		r->is_too_long = true;
}

static enum dbg_token take_data(struct dbg_reader *r, uint8_t byte)
{
	if (byte == '$') { // the rest of the last one got lost
		begin(r);
		return DBG_TOKEN_NONE;
	}
	if (byte == '#') {
		r->state = DBG_SUM_HIGH;
		return DBG_TOKEN_NONE;
	}
	r->sum += byte;
	if (r->state == DBG_ESCAPED) {
		r->state = DBG_DATA;
		keep(r, byte ^ 0x20);
	} else if (byte == '}') {
		r->state = DBG_ESCAPED;
	} else {
		keep(r, byte);
	}
	return DBG_TOKEN_NONE;
}

static enum dbg_token take_sum(struct dbg_reader *r, uint8_t byte)
{
	int digit = digit_of(byte);

	r->is_no_sum |= digit < 0;
	r->told = r->told << 4 | (digit & 15);
	if (r->state == DBG_SUM_HIGH) {
		r->state = DBG_SUM_LOW;
		return DBG_TOKEN_NONE;
	}
	r->state = DBG_IDLE;
	r->data[r->size] = 0;
	if (r->checks && (r->is_no_sum || r->told != r->sum))
		return DBG_TOKEN_DAMAGED;
	return r->is_too_long ? DBG_TOKEN_TOO_LONG : DBG_TOKEN_PACKET;
}

enum dbg_token dbg_reader_take(struct dbg_reader *r, uint8_t byte)
{
	switch (r->state) {
	case DBG_IDLE:
		return take_idle(r, byte);
	case DBG_DATA:
	case DBG_ESCAPED:
		return take_data(r, byte);
	default:
		return take_sum(r, byte);
	}
}

bool dbg_take_hex(struct dbg_cursor *c, uint64_t *ret)
{
	const char *from = c->at;
	int digit;

	*ret = 0;
	while (c->at < c->end && c->at - from < 16 && (digit = digit_of(*c->at)) >= 0) {
		*ret = *ret << 4 | digit;
		c->at++;
	}
	return c->at > from;
}

bool dbg_take(struct dbg_cursor *c, const char *text)
{
	size_t n = strlen(text);

	if (dbg_left(c) < n || memcmp(c->at, text, n))
		return false;
	c->at += n;
	return true;
}

size_t dbg_take_bytes(struct dbg_cursor *c, uint8_t *to, size_t most)
{
	size_t n = 0;

	for (; n < most && dbg_left(c) >= 2; n++, c->at += 2) {
		int high = digit_of(c->at[0]), low = digit_of(c->at[1]);

		if (high < 0 || low < 0)
			break;
		to[n] = high << 4 | low;
	}
	return n;
}

/* ---- what leaves --------------------------------------------------------------------------- */

void dbg_put(struct dbg_text *t, const char *bytes, size_t n)
{
	if (t->is_out_of_memory || vec_reserve(&t->bytes, t->bytes.size + n)) {
		t->is_out_of_memory = true;
		return;
	}
	if (n)
		memcpy(t->bytes.data + t->bytes.size, bytes, n);
	t->bytes.size += n;
}

void dbg_print(struct dbg_text *t, const char *fmt, ...)
{
	_cleanup_free_ char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		text = NULL;
		t->is_out_of_memory = true;
	} else {
		dbg_put(t, text, n);
	}
}

void dbg_put_hex(struct dbg_text *t, const void *bytes, size_t n)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < n; i++)
		dbg_put(t, (char[]){ digits[from[i] >> 4], digits[from[i] & 15] }, 2);
}

void dbg_put_binary(struct dbg_text *t, const void *bytes, size_t n)
{
	const char *from = bytes;

	for (size_t i = 0; i < n; i++)
		if (from[i] && strchr("#$*}", from[i]))
			dbg_put(t, (char[]){ '}', from[i] ^ 0x20 }, 2);
		else
			dbg_put(t, &from[i], 1);
}

void dbg_put_xml(struct dbg_text *t, const char *text)
{
	for (; *text; text++)
		if (isalnum((unsigned char)*text) || strchr("/._-+ :@", *text))
			dbg_put(t, text, 1);
		else if ((unsigned char)*text >= ' ')
			dbg_print(t, "&#%u;", (unsigned char)*text);
}

void dbg_frame(struct dbg_text *to, const char *data, size_t n)
{
	size_t from = to->bytes.size + 1;
	uint8_t sum = 0;

	dbg_put(to, "$", 1);
	for (size_t i = 0, again; i < n; i += again + 1) {
		for (again = 0; again < RUN_MOST && i + again + 1 < n &&
				data[i + again + 1] == data[i];)
			again++;
		// Not by what begins and ends packets, nor what acknowledges them.
		while (again && (again < RUN_LEAST || strchr("#$+-", again + RUN_BASE)))
			again--;
		dbg_put(to, &data[i], 1);
		if (again)
			dbg_put(to, (char[]){ '*', again + RUN_BASE }, 2);
	}
	for (size_t i = from; i < to->bytes.size && !to->is_out_of_memory; i++)
		sum += to->bytes.data[i];
	dbg_print(to, "#%02x", sum);
}

void dbg_text_deinit(struct dbg_text *t)
{
	vec_deinit(&t->bytes);
}
