// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Where the context lies: below 2 GiB, so that emitted code names it by its address alone.
 * That is the guest's ground too: a program that is not position-independent lies from 4 MiB
 * up, its heap behind it; MAP_32BIT begins at 1 GiB; AddressSanitizer's shadow just below
 * 2 GiB. Any place may turn out to be taken, or be met by a pointer gone wild: it is another one
 * each time. Without one the context lies anywhere and is addressed through gs.
 */

#include "decode/translator/ctx.h"

#include <sys/mman.h>
#include <sys/random.h>

#include "decode/translator/engine.h"

#define LOW_START (256ull << 20)
#define LOW_END (2ull << 30)
#define LOW_TRIES 16
#define LOW_MET 4 ///< the guest has no room there for us

static unsigned n_met;

uint64_t dec_engine_random(void)
{
	uint64_t r = 0;

	(void)!getrandom(&r, sizeof(r), GRND_NONBLOCK);
	return r;
}

void dec_ctx_skip(unsigned n)
{
	n_met = n;
}

/* All of its targets are set at once; what is behind them few runs touch. */
static struct dec_ctx *ctx_map(uint64_t at, int flags)
{
	const int prot = PROT_READ | PROT_WRITE, kind = MAP_PRIVATE | MAP_ANONYMOUS;
	void *p = mmap((void *)at, sizeof(struct dec_ctx), prot, kind | flags, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	mmap(p, CTX_BUSY_BYTES, prot, kind | MAP_POPULATE | MAP_FIXED, -1, 0);
	return p;
}

struct dec_ctx *dec_ctx_create(void)
{
	const uint64_t room = LOW_END - LOW_START - sizeof(struct dec_ctx);

	for (int i = 0; i < LOW_TRIES && n_met < LOW_MET; i++) {
		uint64_t at = LOW_START + dec_engine_random() % room / 4096 * 4096;
		struct dec_ctx *c = ctx_map(at, MAP_FIXED_NOREPLACE);

		if (c && (uint64_t)c == at)
			return c;
		if (c) // a kernel before 4.17 took it for a hint
			munmap(c, sizeof(*c));
	}
	return ctx_map(0, 0);
}
