// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Whatever a gdb sends as an expression ends, and asks for nothing that it may not: once for its
 * value, once for what it prints, once as a list of conditions.
 */
#include <stdlib.h>
#include <string.h>

#include "decode/machine/agent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_some(void *ctx, uint64_t addr, void *buf, size_t n)
{
	(void)ctx;
	memset(buf, addr, n); // without an end where the address has no zero byte
	return addr & 0x80;
}

static bool read_reg(void *ctx, unsigned number, uint64_t *ret)
{
	(void)ctx;
	*ret = number * UINT64_C(0x8000000000000001);
	return number < 20;
}

static void hear(void *ctx, const char *text, size_t n)
{
	volatile char last = n ? text[n - 1] : 0;

	(void)ctx, (void)last;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct dec_agent_world w = { read_some, read_reg, hear, NULL };
	const struct dec_agent_conditions c = { data, size };
	uint64_t value, again;

	if (!dec_agent_run(data, size, &w, &value) &&
	    (dec_agent_run(data, size, &w, &again) || value != again))
		abort();
	dec_agent_run(data, size, &w, NULL);
	dec_agent_holds(&c, &w);
	return 0;
}
