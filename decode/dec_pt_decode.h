// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An Intel PT packet stream back as instructions, by libipt's block decoder. Damage is
 * data: what cannot be decoded is a gap, and decoding goes on at the next PSB behind it.
 *
 * Whatever the bytes are, decoding ends: a PSB is begun at once only, and straight code
 * that runs on without a packet is cut off after DEC_PT_IDLE_INSNS instructions.
 */
#ifndef DECODE_DEC_PT_DECODE_H
#define DECODE_DEC_PT_DECODE_H

#include "base/base.h"
#include "decode/dec_pt_image.h"

/** Instructions that no packet of a sound stream is ever behind: a PSB comes sooner, and
 * a loop without a conditional branch is left by a signal only. */
#define DEC_PT_IDLE_INSNS (64u << 20)

/** Instructions in a row; direct jumps and calls among them are followed. */
struct dec_pt_run {
	uint64_t ip, end_ip; ///< of the first and the last
	uint32_t n_insns;
};

enum dec_pt_gap_kind {
	DEC_PT_GAP_START,    ///< no PSB up to here
	DEC_PT_GAP_ERROR,    ///< bytes or a flow that make no sense: damage, unknown code
	DEC_PT_GAP_OVERFLOW, ///< the tracer lost packets
	DEC_PT_GAP_IDLE,     ///< see DEC_PT_IDLE_INSNS
};

struct dec_pt_gap {
	enum dec_pt_gap_kind kind;
	uint64_t from_byte; ///< of the stream, where it was found out
	uint64_t to_byte;   ///< decoding goes on there
	uint64_t ip; ///< OVERFLOW: decoding goes on there; else where it was; 0 unknown
	const char *why;
};

/** Who takes what was decoded, in order; NULL entries are skipped. */
struct dec_pt_sink {
	void *ctx;
	struct err *(*run)(void *ctx, const struct dec_pt_run *run);
	struct err *(*gap)(void *ctx, const struct dec_pt_gap *gap);
	/** Tracing is on again at @p ip: behind a system call, in a signal's handler. */
	struct err *(*enabled)(void *ctx, uint64_t ip);
};

struct dec_pt_totals {
	uint64_t instructions, runs, gaps, overflows;
};

/** Decode @p n bytes of one thread. @p image is rewound, then applied up to each byte
 * before code behind it is handed out. @return the sink's error, err_nomem, or
 * ERR_UNSUPPORTED (libipt refuses). @p ret may be NULL. */
struct err *dec_pt_decode(const uint8_t *bytes, size_t n, struct dec_pt_image *image,
			  const struct dec_pt_sink *sink, struct dec_pt_totals *ret);

#endif
