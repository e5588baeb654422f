// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the processor says about itself: rdtsc, rdtscp and cpuid in user code. Each value
 * is printed and decides a branch. Then programs' oldest way to ask for its model, flags
 * that can be changed: ID, and AC, under which what is not aligned is a SIGBUS.
 */
#include <cpuid.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

#define FLAG_AC 0x40000ul
#define FLAG_ID 0x200000ul

static sigjmp_buf out;

static void on_bus(int signo, siginfo_t *info, void *raw)
{
	(void)raw;
	__writeeflags(__readeflags() & ~FLAG_AC);
	siglongjmp(out, signo == SIGBUS && info->si_code == BUS_ADRALN ? 1 : 2);
}

/* Work on aligned data with AC set; then on data that is not. */
static void check_alignment(void)
{
	struct sigaction sa = { .sa_sigaction = on_bus, .sa_flags = SA_SIGINFO };
	volatile uint64_t words[64];
	uint64_t sum = 0, set;
	volatile char *bytes = (volatile char *)words;
	int how;

	sigaction(SIGBUS, &sa, NULL);
	for (int i = 0; i < 64; i++)
		words[i] = i;
	__writeeflags(__readeflags() | FLAG_AC);
	set = __readeflags() & FLAG_AC;
	for (int i = 0; i < 100000; i++) {
		words[i & 63] += sum;
		sum = sum * 3 + words[(i * 7) & 63] +
		      *(volatile uint8_t *)(bytes + (i & 511));
	}
	__writeeflags(__readeflags() & ~FLAG_AC);
	printf("AC %lx: %lx\n", set, sum);

	how = sigsetjmp(out, 1);
	if (!how) {
		__writeeflags(__readeflags() | FLAG_AC);
		sum = *(volatile uint64_t *)(bytes + 3);
		__writeeflags(__readeflags() & ~FLAG_AC);
	}
	printf("not aligned: %s\n", how == 1 ? "SIGBUS" : how ? "other" : "nothing");
}

static void check_id(void)
{
	uint64_t old = __readeflags(), changed;

	__writeeflags(old ^ FLAG_ID);
	changed = __readeflags();
	__writeeflags(old);
	printf("ID %s be changed\n", (old ^ changed) & FLAG_ID ? "can" : "cannot");
}

int main(void)
{
	unsigned a, b, c, d, aux;
	uint64_t last = 0, t, odd = 0;

	for (unsigned leaf = 0; leaf <= __get_cpuid_max(0, NULL) && leaf < 32; leaf++) {
		__cpuid_count(leaf, 0, a, b, c, d);
		printf("cpuid %u: %08x %08x %08x %08x\n", leaf, a, b, c, d);
	}
	__cpuid_count(7, 1, a, b, c, d);
	printf("cpuid 7.1: %08x %08x %08x %08x\n", a, b, c, d);
	for (int i = 0; i < 200; i++) {
		t = i % 2 ? __rdtsc() : __rdtscp(&aux);
		if (t <= last)
			puts("time went back");
		if (t >> 5 & 1)
			odd++;
		last = t;
	}
	printf("tsc %lu odd %lu\n", last, odd);
	__rdtscp(&aux);
	printf("aux %x\n", aux);
	check_alignment();
	check_id();
	return 0;
}
