// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The choice of a probe's site: first instruction that the kernel emulates, arguments
 * still in their registers, on the straight line from the entry.
 */
#include "pt-collect/probes/heap.h"
#include "tests/unit.h"

static void expect_site(const char *code, size_t size, unsigned n_args, unsigned offset,
			bool is_emulated)
{
	struct ptc_site site = ptc_site_choose((const uint8_t *)code, size, n_args, 0);

	assert_int_equal(site.offset, offset);
	assert_int_equal(site.is_emulated, is_emulated);
	assert_non_null(site.mnemonic);
}

#define EXPECT(code, n_args, offset, is_emulated) \
	expect_site(code, sizeof(code) - 1, n_args, offset, is_emulated)

static void test_emulated_at_entry(void **state)
{
	(void)state;
	EXPECT("\x55\x48\x89\xe5\xc3", 1, 0, true);	// push rbp
	EXPECT("\x41\x54\x55\xc3", 1, 0, true);		// push r12
	EXPECT("\x90\xc3", 1, 0, true);			// nop
	EXPECT("\xe9\x00\x01\x00\x00", 1, 0, true);	// jmp
	EXPECT("\xe8\x00\x01\x00\x00\xc3", 1, 0, true); // call
}

static void test_behind_the_entry(void **state)
{
	(void)state;
	// test rdi,rdi; je: glibc's free
	EXPECT("\x48\x85\xff\x74\x10\x55\xc3", 1, 3, true);
	// endbr64; push rbx
	EXPECT("\xf3\x0f\x1e\xfa\x53\xc3", 1, 4, true);
	// mov rax,rdi; sub rsp,8; jne rel32
	EXPECT("\x48\x89\xf8\x48\x83\xec\x08\x0f\x85\x00\x01\x00\x00", 1, 7, true);
}

static void test_elsewhere(void **state)
{
	const uint8_t code[] = "\x41\x54\x55\x53\x48\x89\xfb\xc3"; // push; push; push ...
	const uint8_t jump[] = "\x48\x85\xff\x74\x10\x55\xc3";	   // test; je; push

	(void)state;
	assert_int_equal(ptc_site_choose(code, sizeof(code) - 1, 1, 1).offset, 2);
	assert_int_equal(ptc_site_choose(code, sizeof(code) - 1, 1, 3).offset, 3);
	// Not every call comes by behind the jump.
	assert_int_equal(ptc_site_choose(jump, sizeof(jump) - 1, 1, 4).offset, 0);
}

static void expect_enter(const char *code, size_t size, int behind)
{
	unsigned at;
	bool is_there = ptc_site_enter((const uint8_t *)code, size, &at);

	assert_int_equal(is_there ? (int)at : -1, behind);
}

#define ENTER(code, behind) expect_enter(code, sizeof(code) - 1, behind)

static void test_entered(void **state)
{
	(void)state;
	ENTER("\x55\x48\x89\xe5\xc3", 0); // push
	ENTER("\xf3\x0f\x1e\xfa\xc3", 0); // endbr64
	// vxorps, which the kernel takes for a push; vmovdqu to memory, for a jump; add
	ENTER("\xc5\xf8\x57\xc0\xc5\xfe\x7f\x07\x48\x01\xf8\xc3", 8);
	// vcmpps, for a return; vmovups
	ENTER("\xc5\xfc\xc2\xc1\x01\xc5\xfc\x11\x07\xc3", 5);
	ENTER("\xc5\xf8\x57\xc0\x0f\x05", -1); // syscall
	ENTER("\xc5\xf8\x57\xc0", -1);
}

static void test_arguments_gone(void **state)
{
	(void)state;
	// mov rdi,rsi; push rbp
	EXPECT("\x48\x89\xf7\x55\xc3", 1, 0, false);
	// mov edi,1 writes rdi too
	EXPECT("\xbf\x01\x00\x00\x00\x55\xc3", 1, 0, false);
	// mov rsi,rdi; push: matters with two arguments only
	EXPECT("\x48\x89\xfe\x55\xc3", 2, 0, false);
	EXPECT("\x48\x89\xfe\x55\xc3", 1, 3, true);
	// mul rsi writes rdx unseen
	EXPECT("\x48\xf7\xe6\x55\xc3", 3, 0, false);
}

static void test_line_ends(void **state)
{
	(void)state;
	// mov rax,rdi; ret; push
	EXPECT("\x48\x89\xf8\xc3\x55", 1, 0, false);
	// jmp rax is not emulated and leaves
	EXPECT("\xff\xe0\x55", 1, 0, false);
	// xchg r8,rax has nop's opcode
	EXPECT("\x49\x90\xc3", 1, 0, false);
	// bytes end, or are no instruction
	EXPECT("\x48\x89", 1, 0, false);
	EXPECT("\x06\x55", 1, 0, false);
	expect_site("", 0, 1, 0, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_emulated_at_entry),
		cmocka_unit_test(test_behind_the_entry),
		cmocka_unit_test(test_elsewhere),
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_arguments_gone),
		cmocka_unit_test(test_line_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
