// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * An Intel PT packet stream back as instructions, by libipt's block decoder. Damage is
 * data: what cannot be decoded is a gap, and decoding goes on at the next PSB behind it.
 *
 * Invariants:
 *  1. Each PSB is begun at anew: what damage does to the flow ends at the next PSB behind
 *     it, and the instructions, gaps and events do not depend on the number of threads.
 *  2. Where the flow does not lead to the place that the next PSB names, there is a gap.
 *  3. Whatever the bytes are, decoding ends: straight code that runs on without a packet
 *     is cut off after DEC_PT_IDLE_INSNS instructions.
 *  4. Memory is bounded: a few segments at a time, and of long ones a part.
 *  5. Time never goes back.
 */
#ifndef DECODE_PT_DECODE_H
#define DECODE_PT_DECODE_H

#include "base/base.h"
#include "decode/pt/image.h"
#include "decode/pt/stream.h"

/** Instructions that no packet of a sound stream is ever behind: only a loop without a
 * conditional branch has so many, and who leaves it is seen in a packet. */
#define DEC_PT_IDLE_INSNS (256u << 10)

#define DEC_PT_THREADS_MAX 64

/** What the last instruction of a run is. */
enum dec_pt_last {
	DEC_PT_LAST_UNKNOWN, ///< libipt does not tell: an indirect jump, or no branch
	DEC_PT_LAST_OTHER,   ///< no branch
	DEC_PT_LAST_CALL,
	DEC_PT_LAST_RETURN,
	DEC_PT_LAST_JUMP,
	DEC_PT_LAST_COND,
	DEC_PT_LAST_FAR, ///< a system call, mostly
};

/** Instructions in a row; direct jumps and calls among them are followed. Where a row is cut
 * into runs is libipt's affair, and depends on what it has decoded before. */
struct dec_pt_run {
	uint64_t ip, end_ip; ///< of the first and the last
	uint32_t n_insns;
	uint8_t last; ///< enum dec_pt_last
	uint64_t tsc; ///< the time before it as far as packets tell; 0 unknown
};

enum dec_pt_gap_kind {
	DEC_PT_GAP_START,    ///< no PSB up to here
	DEC_PT_GAP_ERROR,    ///< bytes or a flow that make no sense: damage
	DEC_PT_GAP_OVERFLOW, ///< the tracer lost packets
	DEC_PT_GAP_IDLE,     ///< see DEC_PT_IDLE_INSNS
	DEC_PT_GAP_LOST,     ///< the recorder lost bytes
	DEC_PT_GAP_CODE,     ///< no code is known where the flow leads
	DEC_PT_GAP_PLACE,    ///< the flow does not lead to where the next PSB is
	DEC_PT_GAP_KINDS,
};

struct dec_pt_gap {
	enum dec_pt_gap_kind kind;
	uint64_t from_byte; ///< of the stream, where it was found out
	uint64_t to_byte;   ///< decoding goes on there
	uint64_t ip; ///< OVERFLOW: decoding goes on there; else where it was; 0 unknown
	const char *why;
	const char *file; ///< CODE: whose code is missing; NULL unknown. The image's
	uint64_t tsc;	  ///< the time before it; 0 unknown
};

enum dec_pt_event_kind {
	DEC_PT_EV_ENABLED, ///< tracing is on again at `ip`: behind a system call
	/** Tracing is off; `ip`: where it would go on, 0 unknown; `value`: the instruction
	 * before which it was interrupted, 0: the last one that ran led out of the flow. */
	DEC_PT_EV_DISABLED,
	DEC_PT_EV_BRANCH,  ///< an interruption led from `value` to `ip`
	DEC_PT_EV_THREAD,  ///< thread `value` runs from here on, or another program in it
	DEC_PT_EV_PTWRITE, ///< `value` was written at `ip` (0 unknown)
};

struct dec_pt_event {
	enum dec_pt_event_kind kind;
	uint64_t ip, value;
	uint64_t tsc;
	/** Of the thread that runs; its mappings are applied as far as the flow has come. */
	struct dec_pt_image *image;
};

/** Who takes what was decoded, in order; NULL entries are skipped. All calls come from the
 * thread that called dec_pt_decode(). */
struct dec_pt_sink {
	void *ctx;
	struct err *(*run)(void *ctx, const struct dec_pt_run *run);
	struct err *(*gap)(void *ctx, const struct dec_pt_gap *gap);
	struct err *(*event)(void *ctx, const struct dec_pt_event *event);
	/** So many bytes of the stream are done; now and then. */
	struct err *(*progress)(void *ctx, uint64_t bytes);
};

struct dec_pt_decode_options {
	unsigned int n_threads; ///< 0: as many as processors, at most DEC_PT_THREADS_MAX
	bool ends_at_calls;	///< runs end at direct calls, too
	bool ends_at_jumps;	///< and at direct jumps
	uint64_t from_tsc,
		to_tsc; ///< segments wholly outside are left out; 0, 0: none is
};

struct dec_pt_totals {
	uint64_t instructions, runs, gaps, overflows;
	uint64_t gaps_of[DEC_PT_GAP_KINDS];
	uint64_t first_tsc, last_tsc; ///< 0: no time is known
	uint64_t skipped_bytes;	      ///< outside of from_tsc, to_tsc
	uint64_t kernel_visits; ///< what ran there is left out: its code is not known
};

/** Decode @p s. Its images are rewound, then applied up to each place before code behind it
 * is handed out. @p o, @p ret may be NULL. @return the sink's error, err_nomem, ERR_OS
 * (no thread can be made), or ERR_UNSUPPORTED (libipt refuses). */
struct err *dec_pt_decode(const struct dec_pt_stream *s,
			  const struct dec_pt_decode_options *o,
			  const struct dec_pt_sink *sink, struct dec_pt_totals *ret);

/** Decoding step by step, by the calling thread alone: whoever compares several streams
 * with something else has all of them under way at once. */
struct dec_pt_steps;

/** @p s is borrowed, @p o (may be NULL) and @p sink are copied. Errors as of
 * dec_pt_decode(). */
struct err *dec_pt_steps_create(const struct dec_pt_stream *s,
				const struct dec_pt_decode_options *o,
				const struct dec_pt_sink *sink,
				struct dec_pt_steps **ret);
void dec_pt_steps_destroy(struct dec_pt_steps *s);

/** Add what was decoded so far to @p sum; its times become the first and the last. */
void dec_pt_steps_add_totals(const struct dec_pt_steps *s, struct dec_pt_totals *sum);

/** Decode up to the next PSB, or set @p is_end: there is nothing more. */
struct err *dec_pt_steps_next(struct dec_pt_steps *s, bool *is_end);

/** @return what kind of gap it is, in a word or two. */
const char *dec_pt_gap_name(enum dec_pt_gap_kind kind);

#endif
