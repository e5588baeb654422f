// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The data of a perf.data file as records that are not looked into yet: from the file, or
 * unpacked from compressed records (one zstd stream through all of them, in which a record
 * may be cut anywhere). Private to capture/perf_*.
 */
#ifndef CAPTURE_PERF_RAW_H
#define CAPTURE_PERF_RAW_H

#include <zstd.h>

#include "capture/perf_format.h"

#define PERF_WINDOW_BYTES (128u << 10)

struct perf_raw {
	int fd;
	uint64_t begin, end; ///< of the data in the file
	uint64_t at;	     ///< the next record in the file
	uint64_t last;	     ///< the last one, or the compressed one that it was in

	uint8_t *window; ///< PERF_WINDOW_BYTES
	uint64_t window_at;
	size_t window_bytes;

	ZSTD_DCtx *zstd; ///< NULL until something is compressed
	uint8_t *packed; ///< UINT16_MAX: the compressed record
	ZSTD_inBuffer in;
	bool is_unpacked;  ///< the last record was in a compressed one
	bool has_more;	   ///< zstd may have more without further input
	uint8_t *unpacked; ///< PERF_WINDOW_BYTES
	size_t unpacked_at, unpacked_end;
	uint64_t n_unpacked; ///< bytes, since the beginning
};

/** Read the records from @p begin to @p end of @p fd, which stays the caller's. */
struct err *perf_raw_init(struct perf_raw *r, int fd, uint64_t begin, uint64_t end);
void perf_raw_deinit(struct perf_raw *r);
void perf_raw_rewind(struct perf_raw *r);

/**
 * The next record; @p ret: its bytes, valid until the next call; NULL at the end. What
 * follows an AUXTRACE record in the file is skipped by perf_raw_skip().
 *
 * @return NULL; ERR_FORMAT, ERR_TRUNCATED: why there is none, without the place (`last`).
 */
struct err *perf_raw_next(struct perf_raw *r, const uint8_t **ret, size_t *bytes);

/** Skip @p n bytes behind the last record. @p at: where they are in the file. @return
 * ERR_TRUNCATED: there are not so many. */
struct err *perf_raw_skip(struct perf_raw *r, uint64_t n, uint64_t *at);

#endif
