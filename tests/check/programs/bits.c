// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors
//
// Atomic operations on, and zeroes counted in, what was never given a value; and what is right.
#include <stdatomic.h>
#include <stdlib.h>

struct shared {
	int value;
	atomic_int lock;
	long many;
};

static void *volatile sink;
static volatile int sum;

__attribute__((noinline)) static struct shared *same(void *p)
{
	sink = p;
	return sink;
}

static int shifted(int by)
{
	int one = 1;

	__asm__ volatile("shll %%cl, %0" : "+r"(one) : "c"(by) : "cc");
	return one;
}

static long shifted_double(long by)
{
	long one = 1;

	__asm__ volatile("shldq %%cl, %1, %0" : "+r"(one) : "r"(0l), "c"(by) : "cc");
	return one;
}

int main(void)
{
	struct shared *none = same(malloc(sizeof(*none))), *zeroes = same(calloc(1, sizeof(*zeroes)));
	int zero = 0, other = 7;

	if (atomic_compare_exchange_strong(&none->lock, &zero, 1)) // expect: UNINIT-USE
		sum++;
	none = same(malloc(sizeof(*none)));
	if (atomic_fetch_add(&none->lock, 1) == 3) // expect: UNINIT-USE
		sum++;
	zero = 0;
	atomic_compare_exchange_strong(&zeroes->lock, &zero, none->value);
	if (zeroes->lock == 4) // expect: UNINIT-USE
		sum++;
	if (__builtin_ctzl(none->many | 8) == 3) // expect: UNINIT-USE
		sum++;
	if (__builtin_clz(none->value | 8) == 28) // expect: UNINIT-USE
		sum++;
	// The first one is before what has no value.
	if (__builtin_ctz(none->value | 1) == 0)
		sum++;
	if (__builtin_clz(none->value | 0x80000000) == 0)
		sum++;
	none = same(malloc(sizeof(*none)));
	atomic_store(&none->lock, 0);
	zero = 0;
	if (atomic_compare_exchange_strong(&none->lock, &zero, 1) && none->lock == 1)
		sum++;
	if (atomic_fetch_add(&none->lock, 1) == 1 && none->lock == 2)
		sum++;
	if (!atomic_compare_exchange_strong(&none->lock, &other, none->value) && other == 2)
		sum++;
	// Shifts look at the lowest bits of a count alone: compilers leave a bit field's neighbours in the others.
	if (shifted(none->many << 5 | 3) == 8 && shifted_double(none->many << 6 | 1) == 2)
		sum++;
	if (shifted(none->many << 4 | 3) == 8) // expect: UNINIT-USE
		sum++;
	if (shifted_double(none->many << 5 | 1) == 2) // expect: UNINIT-USE
		sum++;
	return 0;
}
