// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A replay as Intel PT packet streams: what user-only, per-thread tracing of the same run
 * would have written (SDM volume 3, chapter "Intel Processor Trace"). It reads the
 * machine's DEC_LOG_FLOW log from position 0 and writes one stream for each thread.
 *
 * Invariants:
 *  1. Each conditional branch is one TNT bit, each indirect branch one TIP; a return is
 *     one TNT bit where its call is known (return compression), else one TIP.
 *  2. TNT bits that are pending go out before any packet that names an address.
 *  3. The known calls are a tail of those that any decoder of the stream knows: they are
 *     forgotten at each PSB, overflow and TIP.PGE.
 *  4. A thread that gets the CPU begins with a PSB+ group, so that its time is known.
 *
 * An encoder belongs to one thread.
 */
#ifndef DECODE_DEC_PT_ENCODE_H
#define DECODE_DEC_PT_ENCODE_H

#include "base/base.h"
#include "capture/capture.h"

struct dec_pt_encoder;

/** A file that the program mapped as code. */
struct dec_pt_mapping {
	uint32_t tid;  ///< who mapped it
	uint32_t file; ///< 1-based, of the capture
	uint64_t addr, size, file_offset;
	uint64_t tsc; ///< when: nothing that was written before ran code of it
};

/** Takes a piece of thread @p tid's stream. @return NULL to go on. */
typedef struct err *(*dec_pt_write_fn)(void *ctx, uint32_t tid, const uint8_t *bytes,
				       size_t n);

/** Takes a mapping; dec_pt_encoder_stats() tells how far each stream is. */
typedef struct err *(*dec_pt_map_fn)(void *ctx, const struct dec_pt_mapping *m);

struct dec_pt_options {
	uint64_t psb_bytes; ///< a PSB+ group at the first block after so many bytes
	bool compresses_returns;
	bool has_tsc;	   ///< PSB+ carries TSC: see dec_pt_encode_clock.c
	dec_pt_map_fn map; ///< or NULL; it gets the ctx of the write function
};

struct dec_pt_stats {
	uint64_t bytes, instructions;
	uint64_t psb, tnt_short, tnt_long, tip, pge, pgd, fup, ovf;
	uint64_t tnt_bits, returns_compressed;
	uint64_t resumed_at; ///< position at which the last overflow was over
};

/** Begin the streams of @p c's replay. @p fn and the map function get @p ctx. @return
 * ERR_UNSUPPORTED (libipt refuses), or why the event log cannot be read. */
struct err *dec_pt_encoder_create(const struct capture *c, const struct dec_pt_options *o,
				  dec_pt_write_fn fn, void *ctx,
				  struct dec_pt_encoder **ret);
void dec_pt_encoder_destroy(struct dec_pt_encoder *e);

/** Feed a piece of the log: a dec_log_fn, @p e is the encoder. @return ERR_FORMAT when
 * the log's blocks do not follow from each other. */
struct err *dec_pt_encoder_feed(void *e, const uint8_t *log, size_t bytes);

/** Lose the packets of the running thread's next @p n_insns instructions to an overflow. */
struct err *dec_pt_encoder_lose(struct dec_pt_encoder *e, uint64_t n_insns);

/** The run stopped with the running thread at @p rip: all packets end there. */
struct err *dec_pt_encoder_finish(struct dec_pt_encoder *e, uint64_t rip);

/** @return what was written of thread @p tid (pending packets of it included), NULL when
 * there is nothing; valid until the next call on @p e. */
const struct dec_pt_stats *dec_pt_encoder_stats(const struct dec_pt_encoder *e,
						uint32_t tid);

#endif
