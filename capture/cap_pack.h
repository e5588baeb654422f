// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files that many captures have are packed: a zstd frame, which may tell them by another one. Private
 * to capture/.
 */
#ifndef CAPTURE_CAP_PACK_H
#define CAPTURE_CAP_PACK_H

#include <stdint.h>
#include <stdio.h>

#include "base/err.h"

#define CAP_PACKED ".zst"			///< how the name of a packed file ends
#define CAP_PACK_MOST (UINT64_C(64) << 20)	///< bytes of a file that is packed
#define CAP_PACK_ALL_MOST (UINT64_C(256) << 20) ///< bytes of all such files of a capture

/** Read all @p size bytes of @p fd. @p ret: for free(), of which nothing was set on ERR_NOMEM. */
struct err *cap_pack_read(int fd, uint64_t size, uint8_t **ret);

/** Write @p n bytes as one frame with a checksum behind what @p out has; @p base, of @p base_bytes, is
 * its prefix (NULL, 0: none). Errors of @p out are its owner's. @return NULL, ERR_NOMEM, ERR_OS. */
struct err *cap_pack_put(FILE *out, const uint8_t *base, size_t base_bytes,
			 const uint8_t *bytes, size_t n);

/**
 * Unpack the frame in @p packed, of @p n bytes.
 *
 * @param shown  what messages call the file that has it.
 * @param ret	 a file in memory that nobody can write to, the caller's.
 * @return NULL; ERR_FORMAT: it is damaged, or unpacks to more than CAP_PACK_MOST; ERR_NOMEM; ERR_OS.
 */
struct err *cap_pack_take(const uint8_t *packed, size_t n, const uint8_t *base,
			  size_t base_bytes, const char *shown, int *ret,
			  uint64_t *bytes);

/** Unpack file @p name and CAP_PACKED of directory @p dir_fd. @return as cap_pack_take(), and
 * file_open_input(). */
struct err *cap_pack_open(int dir_fd, const char *name, const char *shown, int *ret,
			  uint64_t *bytes);

/** Write file @p fd, of @p bytes, packed into directory @p dir_fd, as @p name and CAP_PACKED. @return as
 * cap_pack_put(). */
struct err *cap_pack_file(int dir_fd, const char *name, int fd, uint64_t bytes);

#endif
