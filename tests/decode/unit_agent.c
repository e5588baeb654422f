// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Agent expressions: operations as gdb's manual has them, what is wrong with code, printing.
 */
#include <string.h>

#include "base/base.h"
#include "decode/machine/agent.h"
#include "tests/unit.h"

#define LITTLE 0x1000

static char said[256];

static bool read_little(void *ctx, uint64_t addr, void *buf, size_t n)
{
	static const uint8_t memory[16] = "\xfe\xff\xff\xff\xff\xff\xff\x7ftext";

	(void)ctx;
	if (addr < LITTLE || addr + n > LITTLE + sizeof(memory))
		return false;
	memcpy(buf, memory + (addr - LITTLE), n);
	return true;
}

static bool read_reg(void *ctx, unsigned number, uint64_t *ret)
{
	(void)ctx;
	*ret = 1000 + number;
	return number < 16;
}

static void hear(void *ctx, const char *text, size_t n)
{
	(void)ctx;
	strncat(said, text, n);
}

static const struct dec_agent_world world = { read_little, read_reg, hear, NULL };

static uint64_t value_of(const char *code, size_t n)
{
	uint64_t value = 0;
	const char *wrong = dec_agent_run((const uint8_t *)code, n, &world, &value);

	if (wrong)
		fail_msg("%s", wrong);
	return value;
}

static const char *wrong_with(const char *code, size_t n)
{
	uint64_t value;

	return dec_agent_run((const uint8_t *)code, n, &world, &value) ?: "nothing";
}

#define VALUE(code) value_of(code, sizeof(code) - 1)
#define WRONG(code) wrong_with(code, sizeof(code) - 1)
#define C8(n) "\x22" n ///< const8
#define END "\x27"
#define MINUS_1 "\x25\xff\xff\xff\xff\xff\xff\xff\xff"
#define LEAST "\x25\x80\0\0\0\0\0\0\0"

static void test_values(void **state)
{
	(void)state;
	assert_int_equal(VALUE(C8("\x05") C8("\x03") "\x02" END), 8);
	assert_int_equal(VALUE(C8("\x05") C8("\x03") "\x03" END), 2);
	assert_int_equal(VALUE(C8("\x05") C8("\x03") "\x04" END), 15);
	assert_int_equal(VALUE(MINUS_1 C8("\x02") "\x05" END), 0); // -1 / 2
	assert_int_equal(VALUE(MINUS_1 C8("\x02") "\x06" END), INT64_MAX);
	assert_int_equal(VALUE(MINUS_1 C8("\x02") "\x07" END), (uint64_t)-1);
	assert_int_equal(VALUE(LEAST MINUS_1 "\x05" END), (uint64_t)INT64_MIN);
	assert_int_equal(VALUE(LEAST MINUS_1 "\x07" END), 0);
	assert_int_equal(VALUE(C8("\x01") C8("\x40") "\x09" END), 0); // << 64
	assert_int_equal(VALUE(MINUS_1 C8("\x7f") "\x0a" END), (uint64_t)-1);
	assert_int_equal(VALUE(MINUS_1 C8("\x3f") "\x0b" END), 1);
	assert_int_equal(VALUE(C8("\0") "\x0e" END), 1);
	assert_int_equal(VALUE(MINUS_1 C8("\x01") "\x14" END), 1); // -1 < 1
	assert_int_equal(VALUE(MINUS_1 C8("\x01") "\x15" END), 0);
	assert_int_equal(VALUE(C8("\xfe") "\x16\x08" END), (uint64_t)-2); // ext 8
	assert_int_equal(VALUE(MINUS_1 "\x2a\x10" END), 0xffff);
	assert_int_equal(VALUE("\x23\x10\0\x17" END), 0xfe); // ref8
	assert_int_equal(VALUE("\x23\x10\0\x19\x16\x20" END), (uint64_t)-2);
	assert_int_equal(VALUE("\x23\x10\0\x1a" END), 0x7ffffffffffffffe);
	assert_int_equal(VALUE("\x26\0\x05" END), 1005);
	assert_int_equal(VALUE(C8("\x07") C8("\x09") "\x2b" END), 7);
	assert_int_equal(VALUE(C8("\x07") C8("\x09") "\x32\x01" END), 7);
	// 1 2 3, rotated: 3 1 2; 2 - ... : (3 - (1 - 2)) is 4.
	assert_int_equal(VALUE(C8("\1") C8("\2") C8("\3") "\x33\x03\x03" END), 4);
	// if (1) goto 8; 5; end; 8: 6; end
	assert_int_equal(VALUE(C8("\1") "\x20\0\x08" C8("\5") END C8("\6") END), 6);
	assert_int_equal(VALUE(C8("\0") "\x20\0\x08" C8("\5") END C8("\6") END), 5);
}

static void test_wrong(void **state)
{
	(void)state;
	assert_string_equal(WRONG(""), "code that does not end");
	assert_string_equal(WRONG(END), "no value");
	assert_string_equal(WRONG("\x02" END), "a stack that is not so deep");
	assert_string_equal(WRONG(C8("\1") C8("\0") "\x05" END), "division by zero");
	assert_string_equal(WRONG(C8("\1") C8("\0") "\x08" END), "division by zero");
	assert_string_equal(WRONG("\x01" END), "an operation that is not known here");
	assert_string_equal(WRONG("\xff" END), "an operation that is not known here");
	assert_string_equal(WRONG("\x25\0"), "code that does not end");
	assert_string_equal(WRONG("\x21\xff\xff"), "code that does not end");
	assert_string_equal(WRONG("\x21\0\0"), "code that does not end"); // for ever
	assert_string_equal(WRONG(C8("\1") "\x21\0\0"), "a stack that is not so deep");
	assert_string_equal(WRONG(C8("\1") "\x32\x01" END),
			    "a stack that is not so deep");
	assert_string_equal(WRONG(C8("\1") "\x17" END), "memory that is not there");
	assert_string_equal(WRONG("\x26\0\x63" END), "a register that is not there");
}

static void print(const char *code, size_t n, const char *expected)
{
	*said = 0;
	assert_null(dec_agent_run((const uint8_t *)code, n, &world, NULL));
	assert_string_equal(said, expected);
}

#define PRINTS(code, expected) print(code, sizeof(code) - 1, expected)
#define CHANNEL C8("\0") C8("\0")

static void test_formats(void **state)
{
	uint64_t value;

	(void)state;
	PRINTS(CHANNEL "\x34\0\0\x06"
		       "100%%\0" END,
	       "100%");
	// Arguments were pushed the last one first.
	PRINTS(MINUS_1 C8("\x2a") CHANNEL "\x34\x02\0\x09"
					  "%d, %4x.\0" END,
	       "42, ffffffff.");
	PRINTS(MINUS_1 CHANNEL "\x34\x01\0\x05"
			       "%lu.\0" END,
	       "18446744073709551615.");
	PRINTS("\x23\x10\x08" CHANNEL "\x34\x01\0\x07"
	       "'%-6s'\0" END,
	       "'text  '");
	PRINTS(C8("\x41") CHANNEL "\x34\x01\0\x05"
				  "%c%%\0" END,
	       "A%");
	PRINTS("\x23\x10\x08" CHANNEL "\x34\x01\0\x03"
	       "%p\0" END,
	       "0x1008");
	PRINTS(CHANNEL "\x34\0\0\x0a"
		       "a\\n\\\\\\101\0" END,
	       "a\n\\A");
	*said = 0;
	assert_string_equal(WRONG(CHANNEL "\x34\0\0\x03"
					  "%d\0" END),
			    "a format that is not known here");
	assert_string_equal(WRONG(CHANNEL "\x34\x01\0\x03"
					  "%d\0" END),
			    "more conversions than values");
	assert_string_equal(WRONG(C8("\1") CHANNEL "\x34\x01\0\x07"
						   "%9999d\0" END),
			    "a format that is not known here");
	assert_string_equal(WRONG(CHANNEL "\x34\0\0\x03"
					  "abc" END),
			    "a format that does not end");
	assert_string_equal(
		dec_agent_run((const uint8_t *)CHANNEL "\x34\0\xff\xff", 7, &world, &value) ?:
			"nothing",
		"code that does not end");
}

static void test_conditions(void **state)
{
	static const uint8_t bytes[] = "\3\0\0\0\x22\0\x27\3\0\0\0\x22\1\x27";
	struct dec_agent_conditions c = { bytes, 7 };

	(void)state;
	assert_false(dec_agent_holds(&c, &world));
	c.n = 14;
	assert_true(dec_agent_holds(&c, &world)); // one of them
	c.n = 6;
	assert_true(
		dec_agent_holds(&c, &world)); // cut short: whoever knows more has to look
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_conditions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
