// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/* What an instruction is said to read. */

#include "tests/unit.h"

#include <stdlib.h>
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

/* What @p code becomes when its operand lies @p by bytes further on. */
static void moves(const char *code, size_t n, int64_t by, const char *want, size_t n_want)
{
	struct dec_insn insn, other;

	dec_insn_decode((const uint8_t *)code, n, 0x1000, &insn);
	assert_true(dec_insn_move(&insn, by));
	assert_int_equal(insn.len, n);
	assert_int_equal(insn.code_len, n_want);
	assert_memory_equal(insn.bytes, want, n_want);
	dec_insn_decode((const uint8_t *)want, n_want, 0x1000, &other);
	assert_int_equal(insn.n_mem, other.n_mem);
	for (int i = 0; i < insn.n_mem; i++)
		assert_int_equal(insn.mem[i].disp, other.mem[i].disp);
}

static void operands_move(void **state)
{
	struct dec_insn insn;
	int64_t disp;

	(void)state;
	// mov -8(%rbp), %rax: four bytes of displacement, wherever it lies then
	moves("\x48\x8b\x45\xf8", 4, -8, "\x48\x8b\x85\xf0\xff\xff\xff", 7);
	moves("\x48\x8b\x85\xf0\xff\xff\xff", 7, -256, "\x48\x8b\x85\xf0\xfe\xff\xff", 7);
	// lea -0x20(%rbp), %rdi; movl $5, -4(%rbp), with a value behind it
	moves("\x48\x8d\x7d\xe0", 4, 16, "\x48\x8d\xbd\xf0\xff\xff\xff", 7);
	moves("\xc7\x45\xfc\5\0\0\0", 7, -4, "\xc7\x85\xf8\xff\xff\xff\5\0\0\0", 10);
	// mov %al, -0x20(%rbp,%rdx)
	moves("\x88\x44\x15\xe0", 4, 8, "\x88\x84\x15\xe8\xff\xff\xff", 7);
	// mov 0x10(%rip), %eax: the address that it names
	dec_insn_decode((const uint8_t *)"\x8b\x05\x10\0\0\0", 6, 0x1000, &insn);
	assert_int_equal(dec_insn_names(&insn, &disp), DEC_REG_RIP);
	assert_int_equal(disp, 0x1016);
	assert_true(dec_insn_move(&insn, 1l << 40));
	assert_int_equal(insn.rel_target, 0x1016 + (1l << 40));
	assert_int_equal(insn.mem[0].disp, 0x1016 + (1l << 40));
	// mov (%rax), %eax; mov %eax, %ebx
	dec_insn_decode((const uint8_t *)"\x8b\0", 2, 0x1000, &insn);
	assert_false(dec_insn_move(&insn, 4));
	assert_int_equal(dec_insn_names(&insn, &disp), DEC_REG_NONE);
	dec_insn_decode((const uint8_t *)"\x89\xc3", 2, 0x1000, &insn);
	assert_false(dec_insn_move(&insn, 4));
}

/* @p code, at another place, is what @p was becomes there. */
static void comes_again(const char *was, const char *code, size_t n, uint64_t rip)
{
	uint8_t a[16] = { 0 }, b[16] = { 0 };
	struct dec_insn insn, fresh;

	memcpy(a, was, n);
	memcpy(b, code, n);
	assert_int_equal(dec_insn_key(a), dec_insn_key(b));
	dec_insn_decode(a, n, 0x7f0000001000, &insn);
	dec_insn_decode(b, n, rip, &fresh);
	assert_int_equal(insn.len, n);
	assert_true(dec_insn_again(&insn, b, rip));
	assert_int_equal(insn.rip, rip);
	assert_int_equal(insn.target, fresh.target);
	assert_int_equal(insn.rel_target, fresh.rel_target);
	assert_int_equal(insn.mem[0].disp, fresh.mem[0].disp);
	assert_memory_equal(insn.bytes, fresh.bytes, sizeof(insn.bytes));
}

/* Is @p code not taken for @p was? */
static void differs(const char *was, const char *code, size_t n)
{
	struct dec_insn insn;

	dec_insn_decode((const uint8_t *)was, n, 0x1000, &insn);
	assert_int_equal(insn.len, n);
	assert_false(dec_insn_again(&insn, (const uint8_t *)code, 0x2000));
}

static void the_like_is_known(void **state)
{
	(void)state;
	// push %rbp; call, jmp, je by four bytes and by one; loop
	comes_again("\x55", "\x55", 1, 0x1000);
	comes_again("\xe8\x10\x00\x00\x00", "\xe8\xf0\xff\xff\xff", 5, 0x1000);
	comes_again("\xe9\x00\x00\x00\x80", "\xe9\xff\xff\xff\x7f", 5, 0x1000);
	comes_again("\x0f\x84\xff\xff\xff\x7f", "\x0f\x84\x00\x00\x00\x80", 6, 0x1000);
	comes_again("\x74\x7f", "\x74\x80", 2, 0x1000);
	comes_again("\xe2\x10", "\xe2\x10", 2, 0x1000);
	// mov 0x10(%rip), %rax; cmpl $5, 0x10(%rip), with a value behind it; jmp *0x10(%rip); lea
	comes_again("\x48\x8b\x05\x10\x00\x00\x00", "\x48\x8b\x05\xf0\xff\xff\xff", 7,
		    0x1000);
	comes_again("\x83\x3d\x10\x00\x00\x00\x05", "\x83\x3d\x20\x00\x00\x80\x05", 7,
		    0x1000);
	comes_again("\xff\x25\x10\x00\x00\x00", "\xff\x25\x20\x00\x00\x80", 6, 0x1000);
	comes_again("\x48\x8d\x3d\x10\x00\x00\x00", "\x48\x8d\x3d\x00\x00\x00\x80", 7,
		    0x1000);
	// Other registers, displacements that are none of rip, values, conditions.
	differs("\x55", "\x53", 1);
	differs("\x48\x8b\x45\xf8", "\x48\x8b\x45\xf0", 4);
	differs("\x83\x3d\x10\x00\x00\x00\x05", "\x83\x3d\x10\x00\x00\x00\x06", 7);
	differs("\x74\x10", "\x75\x10", 2);
	differs("\xb8\x10\x00\x00\x00", "\xb8\x11\x00\x00\x00", 5);
}

/* Two that have one key, by turns, are each what stands there. */
static void taking_turns(void **state)
{
	static const uint8_t one[16] = "\xb8\x10\x00\x00\x01", // mov $.., %eax
		other[16] = "\xb8\x10\x00\x00\x02";
	struct dec_insns *known = calloc(1, sizeof(*known));

	(void)state;
	assert_int_equal(dec_insn_key(one), dec_insn_key(other));
	for (int i = 0; i < 6; i++) {
		const uint8_t *code = i % 2 ? other : one;
		uint64_t rip = i % 2 ? 0x5000 : 0x1234;
		const struct dec_insn *insn = dec_insns_decode(known, code, 16, rip);

		assert_int_equal(insn->rip, rip);
		assert_int_equal(insn->len, 5);
		assert_memory_equal(insn->bytes, code, 5);
	}
	free(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_mask_none_is_read),
		cmocka_unit_test(operands_move),
		cmocka_unit_test(the_like_is_known),
		cmocka_unit_test(taking_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
