// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// 64 blocks are released, 64 others lie where they lay (without a cache of the allocator's), five times, and the pointers
// to the first are used: 60 of them were kept in memory, 4 in registers. Each by an instruction of its own.

#include <stdlib.h>

static char *volatile kept[60];
static volatile long sum;

#define USE(i) sum += kept[i][3];
#define FIVE(i) USE(i) USE(i + 1) USE(i + 2) USE(i + 3) USE(i + 4)
#define TEN(i) FIVE(i) FIVE(i + 5)

#define ROUND                                                      \
	for (int i = 0; i < 64; i++)                               \
		free(now[i]);                                      \
	for (int i = 0; i < 64; i++)                               \
		now[i] = malloc(40);                               \
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d)); \
	sum += a[3];                                               \
	sum += b[3];                                               \
	sum += c[3];                                               \
	sum += d[3];                                               \
	TEN(0) TEN(10) TEN(20) TEN(30) TEN(40) TEN(50)

int main(void)
{
	register char *a __asm__("rbx"), *b __asm__("r12"), *c __asm__("r13"),
		*d __asm__("r14");
	static char *now[64];

	for (int i = 0; i < 60; i++)
		kept[i] = now[i] = malloc(40);
	now[60] = a = malloc(40);
	now[61] = b = malloc(40);
	now[62] = c = malloc(40);
	now[63] = d = malloc(40);
	ROUND
	ROUND
	ROUND
	ROUND
	ROUND
	return 0;
}
