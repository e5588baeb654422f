// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the processor says about itself: rdtsc, rdtscp and cpuid in user code. Each value
 * is printed and decides a branch.
 */
#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <x86intrin.h>

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
	return 0;
}
