// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* What an instruction is said to read. */

#include "tests/unit.h"

#include <string.h>

#include "decode/x86/insn.h"

static uint64_t masks_read(const char *code, size_t n)
{
	struct dec_insn insn;

	dec_insn_decode((const uint8_t *)code, n, 0x1000, &insn);
	assert_int_equal(insn.len, n);
	return insn.other_read >> (DEC_REG_K - DEC_GPRS) & 0xff;
}

static void without_a_mask_none_is_read(void **state)
{
	(void)state;
	// vmovdqu64 %zmm1, %zmm2; of %zmm2 to itself under k1
	assert_int_equal(masks_read("\x62\xf1\xfe\x48\x6f\xd1", 6), 0);
	assert_int_equal(masks_read("\x62\xf1\xfe\x49\x6f\xd2", 6), 1 << 1);
	// vpaddd %zmm1, %zmm2, %zmm3; vmovdqu64 (%rax), %zmm3
	assert_int_equal(masks_read("\x62\xf1\x6d\x48\xfe\xd9", 6), 0);
	assert_int_equal(masks_read("\x62\xf1\xfe\x48\x6f\x18", 6), 0);
	// As an operand k0 is a register: kmovq %k0, %rax
	assert_int_equal(masks_read("\xc4\xe1\xfb\x93\xc0", 5), 1 << 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		without_a_mask_none_is_read) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
