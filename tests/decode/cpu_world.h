// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What an engine's world answers where a test has none: its runs end there.
 */
#ifndef TESTS_DECODE_CPU_WORLD_H
#define TESTS_DECODE_CPU_WORLD_H

#include "decode/translator/engine.h"
#include "tests/unit.h"

static enum dec_verdict on_exit_to_c(void *ctx, struct dec_engine *e)
{
	(void)ctx, (void)e;
	return DEC_DIVERGED;
}

static inline enum dec_verdict on_special(void *ctx, struct dec_engine *e,
					  const struct dec_insn *insn)
{
	(void)insn;
	return on_exit_to_c(ctx, e);
}

static void on_complaint(void *ctx, struct dec_engine *e, const char *text)
{
	(void)ctx;
	print_error("the engine complains at %#lx: %s\n", (long)e->ctx->rip, text);
}

#endif
