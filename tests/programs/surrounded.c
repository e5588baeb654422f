// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reserves all that is free within 2 GiB of its code, then works on data of its own there:
 * loads, stores, calls and jumps by rip-relative operands, and a fault at one of them.
 */
#include <emmintrin.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define MIB (1ull << 20)

static uint64_t words[512] __attribute__((aligned(4096))) = { 1 };
static __m128i vector = { 3, 5 };
static uint64_t guarded[512] __attribute__((aligned(4096)));
static sigjmp_buf back;
static uint64_t at_fault;

/* In ever smaller pieces: what remains has no room for anything. */
static uint64_t reserve_around(uint64_t here)
{
	uint64_t bytes = 0;

	for (uint64_t size = 256 * MIB; size >= MIB; size /= 2) {
		for (uint64_t at = here > 2048 * MIB ? here - 2048 * MIB : size;
		     at < here + 2048 * MIB; at += size) {
			void *p = mmap((void *)(at & -size), size, PROT_NONE,
				       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
					       MAP_FIXED_NOREPLACE,
				       -1, 0);

			if (p != MAP_FAILED)
				bytes += size;
		}
	}
	return bytes;
}

static uint64_t twice(uint64_t n)
{
	return 2 * n;
}
static uint64_t (*volatile function)(uint64_t) = twice;

/* A tail call through memory: jmp [rip+...]. */
static __attribute__((noinline)) uint64_t jump(uint64_t n)
{
	return function(n + 1);
}

static void on_fault(int signo, siginfo_t *info, void *context)
{
	const ucontext_t *u = context;
	uint64_t sum = 0;

	(void)signo;
	for (int i = REG_R8; i < REG_RIP; i++)
		sum = sum * 31 + u->uc_mcontext.gregs[i];
	at_fault = sum + ((uint64_t)info->si_addr - (uint64_t)guarded);
	siglongjmp(back, 1);
}

static uint64_t work(void)
{
	uint64_t sum = 0, old = words[0];
	double d = 2.5;

	for (int i = 0; i < 2000; i++) {
		words[i % 3] += 7 + i;
		sum = sum * 31 + function(words[1]) + jump(i);
		vector = _mm_add_epi64(vector, _mm_set1_epi64x(i));
		__asm__ volatile("lock cmpxchg %2, %1\n\t"
				 "xadd %2, %1\n\t"
				 "fldl %3\n\tfaddl %3\n\tfstpl %3"
				 : "+a"(old), "+m"(words[2]), "+r"(sum), "+m"(d)
				 :
				 : "memory", "cc");
		__asm__ volatile("movb $3, 8+%0\n\tincl 12+%0\n\tlea 16+%0, %%r15\n\t"
				 "add %%r15, 16+%0\n\tpush 24+%0\n\tpop 32+%0"
				 : "+m"(words)
				 :
				 : "r15", "memory", "cc");
	}
	return sum + words[2] + vector[0] + vector[1] + (uint64_t)d;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	printf("%d\n", reserve_around((uint64_t)main) > 0);
	printf("%lx\n", work());
	sigaction(SIGSEGV, &action, NULL);
	mprotect(guarded, sizeof(guarded), PROT_READ);
	for (int i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			((volatile uint64_t *)guarded)[8 + i] = i;
		printf("%lx\n", at_fault);
	}
	return 0;
}
