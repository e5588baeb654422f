// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Packets of gdb's remote protocol: what arrives whole, damaged, escaped, too long; and what
 * leaves comes back from a decoder that is written from the manual alone.
 */
#include <string.h>

#include "debug/packet.h"
#include "tests/unit.h"

static struct dbg_reader reader;

/* @return what the last byte of @p text completes; before it nothing must be. */
static enum dbg_token take(const char *text, size_t n)
{
	enum dbg_token last = DBG_TOKEN_NONE;

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(last, DBG_TOKEN_NONE);
		last = dbg_reader_take(&reader, text[i]);
	}
	return last;
}

#define TAKE(text) take(text, sizeof(text) - 1)

static void begin(bool checks)
{
	memset(&reader, 0, sizeof(reader));
	reader.checks = checks;
}

static void test_whole(void **state)
{
	(void)state;
	begin(true);
	assert_int_equal(TAKE("$g#67"), DBG_TOKEN_PACKET);
	assert_string_equal(reader.data, "g");
	assert_int_equal(TAKE("+"), DBG_TOKEN_ACK);
	assert_int_equal(TAKE("-"), DBG_TOKEN_NAK);
	assert_int_equal(TAKE("\003"), DBG_TOKEN_INTERRUPT);
	assert_int_equal(TAKE("noise$#00"), DBG_TOKEN_PACKET);
	assert_int_equal(reader.size, 0);
	// A byte 3 within a packet is data.
	assert_int_equal(TAKE("$\003#03"), DBG_TOKEN_PACKET);
	assert_int_equal(reader.size, 1);
	// Escaped: a brace and a hash; '*' means nothing in what arrives.
	assert_int_equal(TAKE("$}]}\003*#84"), DBG_TOKEN_PACKET);
	assert_memory_equal(reader.data, "}#*", 4);
}

static void test_damaged(void **state)
{
	(void)state;
	begin(true);
	assert_int_equal(TAKE("$g#68"), DBG_TOKEN_DAMAGED);
	assert_int_equal(TAKE("$g#xy"), DBG_TOKEN_DAMAGED);
	assert_int_equal(TAKE("$g#6"), DBG_TOKEN_NONE);
	assert_int_equal(TAKE("$"), DBG_TOKEN_DAMAGED); // it stands for a digit
	// The end of one got lost.
	assert_int_equal(TAKE("$mabc$g#67"), DBG_TOKEN_PACKET);
	assert_string_equal(reader.data, "g");
	begin(false);
	assert_int_equal(TAKE("$g#00"), DBG_TOKEN_PACKET);
}

static void test_long(void **state)
{
	(void)state;
	begin(false);
	assert_int_equal(TAKE("$"), DBG_TOKEN_NONE);
	for (size_t i = 0; i < DBG_PACKET_MOST; i++)
		assert_int_equal(dbg_reader_take(&reader, 'a'), DBG_TOKEN_NONE);
	assert_int_equal(TAKE("#00"), DBG_TOKEN_PACKET);
	assert_int_equal(reader.size, DBG_PACKET_MOST);
	assert_int_equal(TAKE("$"), DBG_TOKEN_NONE);
	for (size_t i = 0; i < DBG_PACKET_MOST + 1; i++)
		assert_int_equal(dbg_reader_take(&reader, 'a'), DBG_TOKEN_NONE);
	assert_int_equal(TAKE("#00"), DBG_TOKEN_TOO_LONG);
	assert_int_equal(TAKE("$g#00"), DBG_TOKEN_PACKET);
	assert_string_equal(reader.data, "g");
}

static void test_words(void **state)
{
	const char text[] = "Z2,7ffffffff000,8zz";
	struct dbg_cursor c = { text, text + strlen(text) };
	uint8_t bytes[4];
	uint64_t n;

	(void)state;
	assert_true(dbg_take(&c, "Z"));
	assert_true(dbg_take_hex(&c, &n) && n == 2);
	assert_false(dbg_take_hex(&c, &n));
	assert_true(dbg_take(&c, ","));
	assert_true(dbg_take_hex(&c, &n) && n == 0x7ffffffff000);
	assert_false(dbg_take(&c, ",9"));
	assert_true(dbg_take(&c, ",8"));
	assert_int_equal(dbg_take_bytes(&c, bytes, 4), 0);
	c = (struct dbg_cursor){ "00fF7", "00fF7" + 5 };
	assert_int_equal(dbg_take_bytes(&c, bytes, 4), 2);
	assert_int_equal(bytes[1], 0xff);
	assert_int_equal(dbg_left(&c), 1);
}

/* What gdb makes of a packet: runs, then escapes. @return its bytes. */
static size_t decode(const struct dbg_text *t, char *to)
{
	const char *at = t->bytes.data + 1, *end = t->bytes.data + t->bytes.size - 3;
	static char flat[1 << 20];
	size_t n = 0, m = 0;
	uint8_t sum = 0;
	char told[3];

	assert_int_equal(*t->bytes.data, '$');
	assert_int_equal(*end, '#');
	for (const char *p = at; p < end; p++)
		sum += *p;
	snprintf(told, sizeof(told), "%02x", sum);
	assert_memory_equal(told, end + 1, 2);
	for (; at < end; at++) {
		assert_null(memchr("$#", *at, 2));
		if (*at == '*' && n) {
			int again = *++at - 29;

			assert_in_range(again, 3, 97);
			memset(flat + n, flat[n - 1], again);
			n += again;
		} else {
			flat[n++] = *at;
		}
	}
	for (size_t i = 0; i < n; i++)
		to[m++] = flat[i] == '}' ? flat[++i] ^ 0x20 : flat[i];
	return m;
}

static void round_trip(const char *bytes, size_t n)
{
	static char back[1 << 20];
	struct dbg_text data = {}, packet = {};

	dbg_put_binary(&data, bytes, n);
	dbg_frame(&packet, data.bytes.data, data.bytes.size);
	assert_int_equal(decode(&packet, back), n);
	if (n)
		assert_memory_equal(back, bytes, n);
	dbg_text_deinit(&data);
	dbg_text_deinit(&packet);
}

static void test_leaves(void **state)
{
	char bytes[512];
	struct dbg_text t = {};

	(void)state;
	round_trip("", 0);
	for (size_t n = 1; n < 300; n++) { // each length of a run
		memset(bytes, '0', n);
		round_trip(bytes, n);
		memset(bytes, '}', n);
		round_trip(bytes, n);
	}
	for (int i = 0; i < 512; i++)
		bytes[i] = i;
	round_trip(bytes, 512);
	dbg_frame(&t, "0000000000", 10);
	assert_memory_equal(t.bytes.data, "$0*&#80", t.bytes.size);
	dbg_text_deinit(&t);
	dbg_put_xml(&t, "a<&\"\x01>b");
	assert_memory_equal(t.bytes.data, "a&#60;&#38;&#34;&#62;b", t.bytes.size);
	dbg_text_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),  cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_long),   cmocka_unit_test(test_words),
		cmocka_unit_test(test_leaves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
