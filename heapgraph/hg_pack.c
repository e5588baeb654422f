// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

#include "heapgraph/hg_pack.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <zstd.h>

/*
 * Building is what a user waits for, so it is zstd's fast end: where there is nothing to be
 * found, it looks at each third place (level -1 at each second). Fewer and longer matches, and a
 * table of few KB, which leaves the cache to the graph: that takes a fifth less time than level
 * -5 does by itself, and packs better. Operations of 12 bytes pack to 4 or 5 as a rule, to 8
 * where addresses are random.
 */
static const struct {
	ZSTD_cParameter what;
	int value;
} parameters[] = {
	{ ZSTD_c_compressionLevel, -5 }, // literals as they are
	{ ZSTD_c_targetLength, 2 },
	{ ZSTD_c_minMatch, 7 },
	{ ZSTD_c_hashLog, 10 },
};

static int packed_set(struct hg_packed *ret, const void *bytes, uint32_t n_bytes,
		      uint32_t n_raw)
{
	ret->bytes = malloc(n_bytes + (n_bytes == n_raw ? HG_PACK_SLACK : 0));
	if (!ret->bytes)
		return -1;
	memcpy(ret->bytes, bytes, n_bytes);
	ret->n_bytes = n_bytes;
	ret->n_raw = n_raw;
	return 0;
}

int hg_pack_not(const uint8_t *raw, uint32_t n, struct hg_packed *ret)
{
	return packed_set(ret, raw, n, n);
}

static ZSTD_CCtx *context_create(void)
{
	ZSTD_CCtx *c = ZSTD_createCCtx();

	for (size_t i = 0; c && i < sizeof(parameters) / sizeof(*parameters); i++) {
		size_t r = ZSTD_CCtx_setParameter(c, parameters[i].what,
						  parameters[i].value);

		assert(!ZSTD_isError(r));
	}
	return c;
}

int hg_pack(struct hg_packer *p, const uint8_t *raw, uint32_t n, struct hg_packed *ret)
{
	size_t bound = ZSTD_compressBound(n), packed;
	uint8_t *out;

	if (!p->context)
		p->context = context_create();
	if (!p->context)
		return -1;
	if (p->room < bound) {
		out = realloc(p->out, bound);
		if (!out)
			return -1;
		p->out = out;
		p->room = bound;
	}
	packed = ZSTD_compress2(p->context, p->out, p->room, raw, n);
	if (ZSTD_isError(packed) || packed >= n)
		return hg_pack_not(raw, n, ret);
	return packed_set(ret, p->out, packed, n);
}

void hg_packer_deinit(struct hg_packer *p)
{
	ZSTD_freeCCtx(p->context);
	free(p->out);
	*p = (struct hg_packer){};
}

int hg_unpacker_reserve(struct hg_unpacker *u, size_t room)
{
	u->which = NULL;
	if (!u->context)
		u->context = ZSTD_createDCtx();
	if (!u->context)
		return -1;
	if (u->room >= room)
		return 0;
	free(u->bytes);
	u->bytes = malloc(room + HG_PACK_SLACK);
	u->room = u->bytes ? room : 0;
	return u->bytes ? 0 : -1;
}

void hg_unpacker_deinit(struct hg_unpacker *u)
{
	ZSTD_freeDCtx(u->context);
	free(u->bytes);
	*u = (struct hg_unpacker){};
}

size_t hg_unpacker_bytes(const struct hg_unpacker *u)
{
	return u->room + ZSTD_sizeof_DCtx(u->context);
}

const uint8_t *hg_unpack(struct hg_unpacker *u, const struct hg_packed *p)
{
	size_t n;

	if (p->n_bytes == p->n_raw)
		return p->bytes;
	if (u->which == p)
		return u->bytes;
	assert(u->room >= p->n_raw);
	n = ZSTD_decompressDCtx(u->context, u->bytes, u->room, p->bytes, p->n_bytes);
	assert(n == p->n_raw && "what was packed can be unpacked");
	u->which = p;
	return u->bytes;
}
