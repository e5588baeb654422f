// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The address-size prefix: what an instruction with it accesses is where the processor
 * accesses it. Each form runs here, with all registers far above 4 GiB, behind a stack and two
 * buffers that tell what was written and read.
 */

#include "tests/unit.h"

#include <string.h>
#include <sys/mman.h>

#include "decode/x86/insn.h"

#ifndef MAP_32BIT
#define MAP_32BIT 0x40
#endif

enum { ROOM = 4096 };

/* Where each register points to, above 4 GiB and below, and the code. */
static uint8_t *high, *low, *code;

struct form {
	const char *name;
	uint8_t bytes[8];
	uint8_t len;
	int reg; ///< points to `low`; -1: none does
};

/* rsp is in the middle of `high` for all of them. */
static const struct form forms[] = {
	{ "addr32 call", { 0x67, 0xe8, 0, 0, 0, 0 }, 6, -1 },
	{ "addr32 push rbx", { 0x67, 0x53 }, 2, -1 },
	{ "addr32 push 5", { 0x67, 0x6a, 5 }, 3, -1 },
	{ "addr32 pushfq", { 0x67, 0x9c }, 2, -1 },
	{ "push [ebx]", { 0x67, 0xff, 0x33 }, 3, CAP_RBX },
	{ "mov [ebx], rax", { 0x67, 0x48, 0x89, 0x03 }, 4, CAP_RBX },
	{ "stosb [edi]", { 0x67, 0xaa }, 2, CAP_RDI },
};

/* Run @p f with rsp, rbx, rdi; rax is 0x77 in each byte. A call comes back behind it. */
static void run(const struct form *f, uint64_t rsp, uint64_t rbx, uint64_t rdi)
{
	static const uint8_t leave[] = { 0x41, 0xff, 0xe7 }; // jmp r15
	uint64_t ours;

	memcpy(code, f->bytes, f->len);
	memcpy(code + f->len, leave, sizeof(leave));
	asm volatile("lea -256(%%rsp), %%rsp\n\t"
		     "mov %%rsp, %[ours]\n\t"
		     "lea 1f(%%rip), %%r15\n\t"
		     "mov %[rsp], %%rsp\n\t"
		     "jmp *%[code]\n"
		     "1:\n\t"
		     "mov %[ours], %%rsp\n\t"
		     "lea 256(%%rsp), %%rsp"
		     : [ours] "=&r"(ours), "+b"(rbx), "+D"(rdi)
		     : [rsp] "r"(rsp), [code] "r"(code), "a"(0x7777777777777777)
		     : "r15", "memory", "cc");
}

/* @return the first byte of @p buf that is not @p was any more; ROOM: all are. */
static size_t changed(const uint8_t *buf, uint8_t was)
{
	size_t at = 0;

	while (at < ROOM && buf[at] == was)
		at++;
	return at;
}

/* What was written lies where the instruction says, and nothing was written elsewhere. */
static void judge(const struct form *f)
{
	uint64_t gpr[DEC_GPRS] = {}, wrote;
	const struct dec_mem *m = NULL;
	struct dec_insn insn;

	memset(high, 0x11, ROOM);
	memset(low, 0x22, ROOM);
	gpr[CAP_RSP] = (uint64_t)high + ROOM / 2;
	gpr[CAP_RBX] = f->reg == CAP_RBX ? (uint64_t)low + 512 : (uint64_t)high;
	gpr[CAP_RDI] = f->reg == CAP_RDI ? (uint64_t)low + 512 : (uint64_t)high;
	run(f, gpr[CAP_RSP], gpr[CAP_RBX], gpr[CAP_RDI]);
	wrote = changed(high, 0x11) < ROOM ? (uint64_t)high + changed(high, 0x11) :
					     (uint64_t)low + changed(low, 0x22);
	assert_true(dec_insn_decode(f->bytes, f->len, (uint64_t)code, &insn));
	for (int i = 0; i < insn.n_mem; i++)
		m = insn.mem[i].is_write ? &insn.mem[i] : m;
	assert_non_null(m);
	if (dec_insn_address(m, gpr, 0, 0) != wrote)
		fail_msg("%s writes to %#lx, not to %#lx", f->name, wrote,
			 dec_insn_address(m, gpr, 0, 0));
}

static void addresses_are_the_processors(void **state)
{
	(void)state;
	high = mmap(NULL, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	low = mmap(NULL, ROOM, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	code = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(high != MAP_FAILED && low != MAP_FAILED && code != MAP_FAILED);
	assert_true((uint64_t)high >> 32 && !((uint64_t)low >> 32));
	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++)
		judge(&forms[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		addresses_are_the_processors) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
