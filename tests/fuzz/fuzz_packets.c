// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whatever a gdb sends is read as packets; each that is one goes out again as it came in, and its
 * words can be taken.
 */
#include <string.h>

#include "debug/packet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct dbg_reader reader, again;

static void send_back(void)
{
	struct dbg_text data = {}, packet = {};
	enum dbg_token token = DBG_TOKEN_NONE;

	dbg_put_binary(&data, reader.data, reader.size);
	dbg_print(&packet, "$");
	dbg_put(&packet, data.bytes.data, data.bytes.size);
	dbg_print(&packet, "#00");
	for (size_t i = 0; i < packet.bytes.size; i++)
		token = dbg_reader_take(&again, packet.bytes.data[i]);
	if (token != DBG_TOKEN_PACKET || again.size != reader.size ||
	    memcmp(again.data, reader.data, reader.size))
		abort();
	packet.bytes.size = 0;
	dbg_frame(&packet, data.bytes.data, data.bytes.size);
	dbg_text_deinit(&data);
	dbg_text_deinit(&packet);
}

static void take_words(void)
{
	struct dbg_cursor c = { reader.data, reader.data + reader.size };
	uint8_t bytes[16];
	uint64_t n;

	while (dbg_left(&c)) {
		if (!dbg_take_hex(&c, &n) && !dbg_take_bytes(&c, bytes, sizeof(bytes)) &&
		    !dbg_take(&c, "p-1"))
			c.at++;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memset(&reader, 0, sizeof(reader));
	memset(&again, 0, sizeof(again));
	reader.checks = size && data[0] & 1;
	for (size_t i = 0; i < size; i++) {
		if (dbg_reader_take(&reader, data[i]) != DBG_TOKEN_PACKET)
			continue;
		take_words();
		send_back();
	}
	return 0;
}
