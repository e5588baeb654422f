// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * Blocks of the allocator's in a nullifying run: when each was given out and given back, as far as that
 * was seen. Of a value in one it tells whether the pointer by which it was read is older than the
 * block's end, or the value older than its beginning.
 */
#include "decode/machine/nullify_int.h"

#define SMALLEST 24 ///< bytes of a block whose size is not known

/* Of the two, which a kind without a position is before everything: was @p a made before @p b? */
static bool is_before(nul_source a, nul_source b)
{
	return !(dec_nullify_position(a) > dec_nullify_position(b));
}

static struct nul_block *block_at(struct nul_run *n, uint64_t addr)
{
	const uint64_t *i = map_get(&n->block_of, addr);
	struct nul_block *b;

	if (i)
		return &n->blocks.data[*i];
	b = vec_push(&n->blocks);
	if (!b || map_put(&n->block_of, addr, n->blocks.size - 1)) {
		n->has_no_memory = true;
		return NULL;
	}
	*b = (struct nul_block){ .addr = addr, .size = SMALLEST };
	return b;
}

/* The block that @p addr is in; the nearest one before it counts. */
static const struct nul_block *block_with(const struct nul_run *n, uint64_t addr)
{
	const struct nul_block *ret = NULL;

	for (size_t i = 0; i < n->blocks.size; i++) {
		const struct nul_block *b = &n->blocks.data[i];

		if (b->addr <= addr && (!ret || b->addr > ret->addr))
			ret = b;
	}
	return ret && addr - ret->addr < ret->size ? ret : NULL;
}

static uint64_t asked_size(enum dec_nullify_allocator kind, const uint64_t *g)
{
	switch (kind) {
	case DEC_NULLIFY_MALLOC:
		return g[CAP_RDI];
	case DEC_NULLIFY_CALLOC:
		return g[CAP_RDI] * g[CAP_RSI];
	case DEC_NULLIFY_REALLOC:
		return g[CAP_RSI];
	default:
		return 0;
	}
}

void dec_nullify_block_asked(struct nul_run *n, struct nul_frame *f,
			     enum dec_nullify_allocator kind)
{
	const uint64_t *g = n->r->engine.ctx->gpr;
	bool gives_back = kind == DEC_NULLIFY_FREE || kind == DEC_NULLIFY_REALLOC;
	struct nul_block *b = gives_back && g[CAP_RDI] ? block_at(n, g[CAP_RDI]) : NULL;

	f->asked = asked_size(kind, g);
	if (b)
		b->back = f->called;
}

void dec_nullify_block_given(struct nul_run *n, uint64_t size, nul_source here)
{
	uint64_t addr = n->r->engine.ctx->gpr[CAP_RAX];
	struct nul_block *b = size && addr ? block_at(n, addr) : NULL;

	if (!b)
		return;
	b->size = size;
	b->out = here;
}

nul_source dec_nullify_block_of(const struct nul_run *n, const struct nul_leaf *leaf)
{
	const struct nul_block *b =
		leaf->at && leaf->via_since ? block_with(n, leaf->at) : NULL;

	if (b && b->back && is_before(leaf->via_since, b->back))
		return b->back;
	return b && b->out && is_before(leaf->made, b->out) ? b->out : 0;
}
