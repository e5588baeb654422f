// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What depends on whose processor it is: which instructions, and flags that are read although
 * the one before left them undefined.
 */
#include <string.h>

#include "decode/translator/emulate.h"
#include "decode/x86/vendor.h"
#include "tests/unit.h"

#define INSNS 4

/* Decode the instructions in @p bytes. */
static int decode(const char *bytes, size_t size, struct dec_insn insn[INSNS])
{
	size_t at = 0;
	int n = 0;

	while (at < size) {
		assert_true(n < INSNS);
		assert_true(dec_insn_decode((const uint8_t *)bytes + at, size - at,
					    0x1000 + at, &insn[n]));
		at += insn[n++].len;
	}
	return n;
}

static void instructions(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *differs; ///< NULL: does not
	} cases[] = {
		{ "\xd9\xfe", 2, "last bits" },		    // fsin
		{ "\xd9\xf3", 2, "last bits" },		    // fpatan
		{ "\x0f\x53\xc1", 3, "approximation" },	    // rcpps
		{ "\xf3\x0f\x52\xc1", 4, "approximation" }, // rsqrtss
		{ "\xc5\xf8\x52\xc1", 4, "approximation" }, // vrsqrtps
		{ "\x48\x0f\xae\x21", 4, "registers lie" }, // xsave64
		{ "\xd9\xfa", 2, NULL },		    // fsqrt is exact
		{ "\x0f\x51\xc1", 3, NULL },		    // sqrtps, too
		{ "\x48\x0f\xae\x01", 4, NULL },	    // fxsave64
		{ "\x48\x01\xc8", 3, NULL },		    // add
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dec_insn insn[INSNS];
		const char *is;

		assert_int_equal(decode(cases[i].bytes, cases[i].size, insn), 1);
		is = dec_vendor_differs(insn);
		if (!is != !cases[i].differs || (is && !strstr(is, cases[i].differs)))
			fail_msg("%s: %s", dec_insn_name(insn), is ?: "does not differ");
	}
}

static void flags(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		int by, read_by; ///< -1: none
	} cases[] = {
		// mul leaves zf undefined: sete reads it
		{ "\xf7\xe1\x0f\x94\xc0", 5, 0, 1 },
		// mul defines of and cf
		{ "\xf7\xe1\x0f\x90\xc0", 5, -1, -1 },
		// defined anew in between: mul; cmp; sete
		{ "\xf7\xe1\x39\xc8\x0f\x94\xc0", 7, -1, -1 },
		// shl by 5 leaves of undefined: a nop; seto
		{ "\xc1\xe0\x05\x90\x0f\x90\xc0", 7, 0, 2 },
		// div leaves all undefined: adc reads cf
		{ "\xf7\xf1\x11\xc8", 4, 0, 1 },
		// bsf defines zf
		{ "\x0f\xbc\xc1\x0f\x94\xc0", 6, -1, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct dec_vendor_flag f = { -1, -1 };
		struct dec_insn insn[INSNS];
		int n = decode(cases[i].bytes, cases[i].size, insn);

		assert_int_equal(dec_vendor_flags(insn, n, &f), cases[i].by >= 0);
		assert_int_equal(f.by, cases[i].by);
		assert_int_equal(f.read_by, cases[i].read_by);
	}
}

/* A processor without lzcnt executes bsr, and does not trap. */
static void silent_others(void **state)
{
	// lzcnt eax, ecx; tzcnt eax, ecx; bsr eax, ecx; bsf eax, ecx
	static const char code[] = "\xf3\x0f\xbd\xc1\xf3\x0f\xbc\xc1\x0f\xbd\xc1"
				   "\x0f\xbc\xc1";
	static const char *const names[] = { "lzcnt", "tzcnt", "bsr", "bsf" };
	static const char *const reduced[] = { "bsr", "bsf", "bsr", "bsf" };
	struct dec_engine alike = {},
			  here = { .lzcnt = ENGINE_ONLY_HERE, .tzcnt = ENGINE_ONLY_HERE },
			  there = { .lzcnt = ENGINE_ONLY_THERE,
				    .tzcnt = ENGINE_ONLY_THERE };
	struct dec_insn insn[INSNS];

	(void)state;
	assert_int_equal(decode(code, 14, insn), 4);
	for (int i = 0; i < 4; i++) {
		int len = insn[i].len;

		assert_false(dec_engine_lacks(&alike, &insn[i]));
		assert_false(dec_engine_lacks(&here, &insn[i]));
		assert_int_equal(dec_engine_lacks(&there, &insn[i]), i < 2);
		dec_engine_reduce(&alike, &insn[i]);
		dec_engine_reduce(&there, &insn[i]);
		assert_string_equal(dec_insn_name(&insn[i]), names[i]);
		dec_engine_reduce(&here, &insn[i]);
		assert_string_equal(dec_insn_name(&insn[i]), reduced[i]);
		assert_int_equal(insn[i].len, len);
	}
	assert_int_equal(decode(code, 14, insn), 4);
	assert_non_null(
		strstr(dec_engine_lacking_text(&insn[0]), "LZCNT, which this CPU lacks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions),
		cmocka_unit_test(flags),
		cmocka_unit_test(silent_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
