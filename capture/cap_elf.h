// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What capture/ needs to know about ELF: the start core's writer, and
 * a content hash for files that have no id. Private to capture/ (pt-collect asks through
 * capture.h).
 */
#ifndef CAPTURE_CAP_ELF_H
#define CAPTURE_CAP_ELF_H

#include "capture/cap_mask.h"
#include "capture/capture.h"

/** FNV-1a over the first @p size bytes of @p fd, eight bytes a step. */
struct err *cap_hash_file(int fd, uint64_t size, uint64_t *ret);

/** Write @p core to the empty file @p fd; file indices in it are at most @p n_files. What
 * @p mask looks for is masked in it, also across mappings; @p n_masked grows by the places. */
struct err *cap_core_write(int fd, const struct cap_core *core, size_t n_files,
			   const struct cap_mask *mask, uint64_t *n_masked,
			   struct err *(*read_mem)(void *ctx, uint64_t addr, void *buf,
						   size_t size),
			   void *ctx);

#endif
