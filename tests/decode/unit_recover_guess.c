// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * What recovery finds of a few instructions by the rules that look at more than one of them:
 * memory that is known in part, loops, tables, what fxsave overwrites.
 */
#include "tests/unit.h"

#include <string.h>

#include "decode/past/recover.h"

enum { CODE_AT = 0x400000, DATA_AT = 0x7ffd00001000, TABLE_AT = 0x500000 };

/** A program, the way that it took, and how it ended. */
struct sketch {
	const uint8_t *code;
	const uint8_t *way; ///< offsets of instructions, from the first to the end
	size_t n;
	uint64_t gpr[16]; ///< in the end; memory at DATA_AT holds data then
	uint64_t data[8];
	uint64_t table[8]; ///< at TABLE_AT: nobody writes it
	struct dec_recover *recover;
};

static enum dec_recover_map sketch_read(void *ctx, uint64_t addr, void *buf, size_t size)
{
	const struct sketch *s = ctx;

	memset(buf, 0x77, size);
	if (addr == TABLE_AT)
		memcpy(buf, s->table, size);
	else if (addr == DATA_AT)
		memcpy(buf, s->data, size);
	else if (addr < DATA_AT - 4096 || addr > DATA_AT + 4096)
		return DEC_MAP_NONE;
	return addr == TABLE_AT ? DEC_MAP_CONST : DEC_MAP_PRIVATE;
}

static void sketch_recover(struct sketch *s)
{
	struct dec_recover_end end = { .read = sketch_read, .ctx = s };
	struct dec_recover_stats stats;
	struct dec_insn insn;

	ok(dec_recover_create(0, &s->recover));
	for (size_t i = 0; i + 1 < s->n; i++) {
		assert_true(dec_insn_decode(s->code + s->way[i], 15, CODE_AT + s->way[i],
					    &insn));
		ok(dec_recover_step(s->recover, &insn));
	}
	memcpy(end.regs.gpr, s->gpr, sizeof(s->gpr));
	end.regs.rip = CODE_AT + s->way[s->n - 1];
	end.regs.rflags = 0x44; // all end with a register that is cleared
	dec_recover_set_end(s->recover, &end);
	ok(dec_recover_run(s->recover, &stats));
	assert_int_equal(stats.known_conflicts, 0);
}

/* Step @p step read (or wrote) @p value in register @p reg, or in memory when @p reg is -1. */
static void sketch_expect(const struct sketch *s, uint64_t step, int reg, bool is_def,
			  uint64_t value, enum dec_certainty certainty)
{
	struct dec_step shown;

	dec_recover_show(s->recover, step, &shown);
	for (size_t i = 0; i < shown.n_refs; i++) {
		const struct dec_ref *ref = &shown.refs[i];
		uint64_t v = 0;

		if (ref->is_def != is_def || ref->is_mem != (reg < 0) ||
		    (reg >= 0 && ref->reg != reg))
			continue;
		assert_int_equal(ref->certainty, certainty);
		if (certainty == DEC_UNKNOWN)
			return;
		memcpy(&v, ref->value, ref->size);
		assert_int_equal(v, value);
		return;
	}
	fail_msg("step %lu has no such operand", step);
}

/* x ^= x << 5, in memory: each five bits of x follow from those below, through its two loads. */
static void test_part_of_a_byte(void **state)
{
	static const uint8_t code[32] = { 0x8b, 0x07,	    // mov eax, [rdi]
					  0xc1, 0xe0, 0x05, // shl eax, 5
					  0x89, 0xc2,	    // mov edx, eax
					  0x8b, 0x07,	    // mov eax, [rdi]
					  0x31, 0xd0,	    // xor eax, edx
					  0x89, 0x07,	    // mov [rdi], eax
					  0x31, 0xc0, 0x31, 0xd2 };
	static const uint8_t way[] = { 0, 2, 5, 7, 9, 11, 13, 15, 17 };
	const uint32_t x = 0x89abcdef;
	struct sketch s = { .code = code, .way = way, .n = sizeof(way) };

	(void)state;
	s.gpr[CAP_RDI] = DATA_AT;
	s.data[0] = x ^ x << 5;
	sketch_recover(&s);
	sketch_expect(&s, 0, -1, false, x, DEC_KNOWN);
	dec_recover_destroy(s.recover);
}

/* A loop that counts from 0 and ends at a bound that nothing else tells. */
static void test_bound(void **state)
{
	static const uint8_t code[32] = { 0x31, 0xc9,		  // xor ecx, ecx
					  0x48, 0x83, 0xc1, 0x01, // add rcx, 1
					  0x48, 0x39, 0xd1,	  // cmp rcx, rdx
					  0x7c, 0xf7,		  // jl -9
					  0x31, 0xd2 };		  // xor edx, edx
	static const uint8_t way[] = { 0, 2, 6, 9, 2, 6, 9, 2, 6, 9, 11, 13 };
	struct sketch s = { .code = code, .way = way, .n = sizeof(way) };

	(void)state;
	s.gpr[CAP_RCX] = 3;
	sketch_recover(&s);
	sketch_expect(&s, 2, CAP_RDX, false, 3, DEC_INFERRED);
	dec_recover_destroy(s.recover);
}

/* The same of one iteration, in whose middle the window begins: the counter is at the bound. */
static void test_end_of_loop(void **state)
{
	static const uint8_t code[32] = { 0x83, 0xc1, 0x01, // add ecx, 1
					  0x39, 0xd1,	    // cmp ecx, edx
					  0x7c, 0xf9,	    // jl -7
					  0x31, 0xc9 };	    // xor ecx, ecx
	static const uint8_t way[] = { 0, 3, 5, 7, 9 };
	struct sketch s = { .code = code, .way = way, .n = sizeof(way) };

	(void)state;
	s.gpr[CAP_RDX] = 7;
	sketch_recover(&s);
	sketch_expect(&s, 1, CAP_RCX, false, 7, DEC_INFERRED);
	dec_recover_destroy(s.recover);
}

/* Which entry of a table that nobody writes was loaded. */
static void test_table(void **state)
{
	static const uint8_t code[32] = {
		0x48, 0x83, 0xf8, 0x03, // cmp rax, 3
		0x77, 0x10,		// ja
		0x48, 0x8b, 0x04, 0xc5, // mov rax,
		0x00, 0x00, 0x50, 0x00, 0x31, 0xd2
	}; //   [rax*8 + table]
	static const uint8_t way[] = { 0, 4, 6, 14, 16 };
	struct sketch s = {
		.code = code, .way = way, .n = sizeof(way), .table = { 9, 5, 8, 7, 8 }
	};

	(void)state;
	s.gpr[CAP_RAX] = 8;
	sketch_recover(&s);
	sketch_expect(&s, 2, CAP_RAX, false, 2, DEC_INFERRED);
	dec_recover_destroy(s.recover);
}

/* Three words in a row were loaded from an array: only one place has them in that order, but
 * for its likes far behind. */
static void test_position(void **state)
{
	static const uint8_t code[64] = { 0x48, 0x8b, 0x04, 0xf7, // mov rax, [rdi+rsi*8]
					  0x4c, 0x8b, 0x44, 0xf7, 8,  // mov r8, 8[..]
					  0x4c, 0x8b, 0x4c, 0xf7, 16, // mov r9, 16[..]
					  0x31, 0xf6 };		      // xor esi, esi
	static const uint8_t way[] = { 0, 4, 9, 14, 16 };
	struct sketch s = { .code = code,
			    .way = way,
			    .n = sizeof(way),
			    .data = { 4, 6, 7, 5, 6, 7, 8, 9 } };

	(void)state;
	s.gpr[CAP_RDI] = DATA_AT;
	s.gpr[CAP_RAX] = 6;
	s.gpr[CAP_R8] = 7;
	s.gpr[CAP_R9] = 8;
	sketch_recover(&s);
	sketch_expect(&s, 0, CAP_RSI, false, 4, DEC_INFERRED);
	dec_recover_destroy(s.recover);
}

/* What fxsave wrote over is not what was stored before. */
static void test_fxsave(void **state)
{
	static const uint8_t code[32] = { 0x48, 0x89, 0x1f,	  // mov [rdi], rbx
					  0x48, 0x0f, 0xae, 0x07, // fxsave64 [rdi]
					  0x31, 0xdb };		  // xor ebx, ebx
	static const uint8_t way[] = { 0, 3, 7, 9 };
	struct sketch s = { .code = code, .way = way, .n = sizeof(way) };

	(void)state;
	s.gpr[CAP_RDI] = DATA_AT;
	s.data[0] = 42;
	sketch_recover(&s);
	sketch_expect(&s, 0, CAP_RBX, false, 0, DEC_UNKNOWN);
	dec_recover_destroy(s.recover);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_part_of_a_byte), cmocka_unit_test(test_bound),
		cmocka_unit_test(test_end_of_loop),    cmocka_unit_test(test_table),
		cmocka_unit_test(test_position),       cmocka_unit_test(test_fxsave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
