// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where the context lies: below 2 GiB, so that emitted code names it by its address alone.
 * That is the guest's ground too: a program that is not position-independent lies from 4 MiB
 * up, its heap behind it; MAP_32BIT begins at 1 GiB; AddressSanitizer's shadow just below
 * 2 GiB. Any place may turn out to be taken; without one the context lies anywhere and is
 * addressed through gs.
 */

#include "decode/translator/ctx.h"

#include <sys/mman.h>

static const uint64_t places[] = { 0x70000000, 0x78000000, 0x38000000, 0x20000000 };

#define N_PLACES (sizeof(places) / sizeof(*places))

static unsigned first_place;

void dec_ctx_skip(unsigned n)
{
	first_place = n;
}

/* All of its targets are set at once. */
static struct dec_ctx *ctx_map(uint64_t at, int flags)
{
	void *p = mmap((void *)at, sizeof(struct dec_ctx), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | flags, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

struct dec_ctx *dec_ctx_create(void)
{
	for (unsigned i = first_place; i < N_PLACES; i++) {
		struct dec_ctx *c = ctx_map(places[i], MAP_FIXED_NOREPLACE);

		if (c && (uint64_t)c == places[i])
			return c;
		if (c) // a kernel before 4.17 took it for a hint
			munmap(c, sizeof(*c));
	}
	return ctx_map(0, 0);
}
