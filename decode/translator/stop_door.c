// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * A thread was interrupted in a loop whose passes differ in memory alone, as compilers make them that keep variables
 * there: each pass has the registers that the world waits for. To leave for C and come back takes longer than ten of them;
 * so C is asked by this door, with the guest's vector registers where they are (DOOR in the Makefile).
 */
#include "decode/translator/engine.h"

// The guest's code runs in one thread.
static struct dec_engine *engine;

void dec_engine_open_stop_door(struct dec_engine *e)
{
	engine = e;
#if !defined(HAS_NO_DOOR) && !defined(__clang__)
	e->ctx->stop_door = (uint64_t)dec_stop_door;
#endif
}

uint8_t *dec_engine_at_stop_door(void)
{
	const struct dec_engine *e = engine;
	const struct engine_exit *x = &e->exits.data[e->ctx->exit_id];
	const struct engine_block *b = &e->blocks.data[x->block];

	if (!e->world.may_pass || !e->world.may_pass(e->world.ctx))
		return (uint8_t *)e->ctx->common;
	return b->host + b->async_over;
}
