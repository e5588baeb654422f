// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to heapgraph/: bytes that are kept packed (zstd, at its fast end: packing is part
 * of building) and unpacked to be read. Whoever reads has an unpacker of its own, which
 * keeps what it unpacked last; all of its memory is made beforehand, so reading never fails.
 */
#ifndef HEAPGRAPH_HG_PACK_H
#define HEAPGRAPH_HG_PACK_H

#include <stddef.h>
#include <stdint.h>

/** So many bytes behind unpacked ones may be read, whatever they are. */
#define HG_PACK_SLACK 8

/** Packed bytes; n_bytes == n_raw: they are as they were. */
struct hg_packed {
	uint8_t *bytes;
	uint32_t n_bytes, n_raw;
};

struct hg_packer {
	struct ZSTD_CCtx_s *context;
	uint8_t *out; ///< room for what is being packed
	size_t room;
};

struct hg_unpacker {
	struct ZSTD_DCtx_s *context;
	uint8_t *bytes;
	size_t room;
	const struct hg_packed *which; ///< what bytes holds; NULL: nothing
};

/** Pack @p n bytes. The caller frees ret->bytes. @return 0, or -1 when memory is out. */
int hg_pack(struct hg_packer *p, const uint8_t *raw, uint32_t n, struct hg_packed *ret);

/** The same without packing. */
int hg_pack_not(const uint8_t *raw, uint32_t n, struct hg_packed *ret);

/** Free it; it is empty and usable again. */
void hg_packer_deinit(struct hg_packer *p);

/** Make sure that @p room bytes can be unpacked. What was unpacked is forgotten.
 * @return 0 or -1. */
int hg_unpacker_reserve(struct hg_unpacker *u, size_t room);
void hg_unpacker_deinit(struct hg_unpacker *u);

/** @return the memory that it takes. */
size_t hg_unpacker_bytes(const struct hg_unpacker *u);

/** @return the raw bytes of @p p, valid until the next call with this unpacker, which has
 * room for them. @p p stays where it is as long as the unpacker is used. */
const uint8_t *hg_unpack(struct hg_unpacker *u, const struct hg_packed *p);

#endif
