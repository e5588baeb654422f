// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Many captures of one program hold the same executables and libraries: here they are kept once.
 */
#ifndef CAPTURE_CAP_SHARE_H
#define CAPTURE_CAP_SHARE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/** How names of links in a store begin that lead from an executable to a start state of it. */
#define CAP_SHARE_BASE "base."

struct cap_shared {
	size_t n_new, n_found; ///< files that the store did not have, and that it had
	uint64_t bytes;	       ///< of the latter, which are no longer the capture's own
};

/**
 * Make the copies of files in finished capture @p capture one with those in the store @p pool, a
 * directory of the same file system, made when there is none: packed (cap_pack.h), hard links. Each is
 * compared first, byte for byte. No reader of the capture notices.
 *
 * @param ret  Grows.
 * @return NULL; ERR_FORMAT: the store's file is another (named; the capture keeps its own);
 *	   ERR_PERMISSION: the store is a stranger's; what err_errno() says, on another file
 *	   system "Invalid cross-device link". The capture is whole in any case.
 */
struct err *cap_share(const char *capture, const char *pool, struct cap_shared *ret);

#endif
