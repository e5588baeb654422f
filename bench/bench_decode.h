// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The peer of the suite decode, in a file of its own: it alone sees libipt.
 */
#ifndef BENCH_BENCH_DECODE_H
#define BENCH_BENCH_DECODE_H

#include "base/base.h"
#include "decode/pt/image.h"

/** Decode @p n bytes of one thread with libipt's block decoder and count the instructions.
 * @return err_nomem, or ERR_UNSUPPORTED (libipt's own words). */
struct err *bench_libipt_loop(const uint8_t *bytes, size_t n,
			      const struct dec_pt_image *image, uint64_t *ret);

#endif
