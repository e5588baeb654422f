// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Pointers go through memory relative to fs, whose base moves: by wrfsbase where there is one, and by
// arch_prctl. Each function ends with an access behind a block of 24 bytes.

#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/syscall.h>

static __thread char *kept;
static uint64_t other[64];
static char *block;

static void set_base(uint64_t base, int by_insn)
{
	long ret = SYS_arch_prctl;

	if (by_insn)
		__asm__ volatile("wrfsbase %0" ::"r"(base) : "memory");
	else // no function of libc has its thread there
		__asm__ volatile("syscall"
				 : "+a"(ret)
				 : "D"(ARCH_SET_FS), "S"(base)
				 : "rcx", "r11", "memory");
}

static uint64_t base(void)
{
	uint64_t at;

	__asm__ volatile("mov %%fs:0, %0" : "=r"(at)); // x86-64 psABI: the thread pointer
	return at;
}

#define NOINLINE __attribute__((noinline, optimize("no-stack-protector")))

NOINLINE static void by_thread_local(void)
{
	char *p;

	kept = block;
	__asm__ volatile("" ::: "memory");
	p = kept;
	p[24] = 1; // astray
}

/* The word at @p at of fs is @p p; what is found there then is read through. */
NOINLINE static void by_moved(int by_insn)
{
	uint64_t old = base(), at = 64, index = 2;
	char *p = block, *found, *again;

	other[8] = 0;
	set_base((uint64_t)other, by_insn);
	__asm__ volatile("mov %0, %%fs:(%1)" ::"r"(p), "r"(at) : "memory");
	__asm__ volatile("mov %%fs:48(%1,%2,8), %0"
			 : "=r"(found)
			 : "r"(index - 2), "r"(index));
	__asm__ volatile("mov %%fs:64, %0" : "=r"(again));
	set_base(old, by_insn);
	if (found != again || (uint64_t)found != other[8])
		abort();
	found[24] = 2; // astray
	again[-1] = 3; // astray
}

int main(void)
{
	volatile int has = getauxval(AT_HWCAP2) >> 1 & 1;

	block = malloc(24);
	by_thread_local();
	by_moved(0);
	for (int i = 0; has && i < 5; i++)
		by_moved(1);
	puts(has ? "wrfsbase" : "arch_prctl");
	return 0;
}
