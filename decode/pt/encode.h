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
#ifndef DECODE_PT_ENCODE_H
#define DECODE_PT_ENCODE_H

#include "base/base.h"
#include "base/map.h"
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

/** Says what a PTWRITE at @p rip, the next instruction of thread @p tid, number @p position
 * of the run, writes. @return whether it writes at all. */
typedef bool (*dec_pt_write_value_fn)(void *ctx, uint32_t tid, uint64_t position,
				      uint64_t rip, uint64_t *ret);

/** The clocks of software PT (encode_clock.c), as dec_pt_clock and perf call them. */
enum {
	DEC_PT_TSC_NUM = 40, ///< a crystal of 25 MHz under a TSC of 1 GHz
	DEC_PT_TSC_DEN = 1,
	DEC_PT_NOMINAL_RATIO = 10, ///< a bus of 100 MHz
	DEC_PT_RATIO = 30,	   ///< a core of 3 GHz: what CBR says
};

/** A probe in the program's code, as a recorder's would be: what the trace has of it. */
enum dec_pt_probe {
	/** Without either: direct branches are emulated, others stepped. */
	DEC_PT_PROBE_ANY = 0,
	DEC_PT_PROBE_EMULATED = 1, ///< a breakpoint; the kernel does what lies under it
	DEC_PT_PROBE_STEPPED = 2,  ///< or executes a copy of it in its page
	/** And, at a function's first instruction, its return leads to the page's beginning. */
	DEC_PT_PROBE_RETURN = 4,
};

struct dec_pt_options {
	uint64_t psb_bytes; ///< a PSB+ group at the first block after so many bytes
	bool compresses_returns;
	bool has_tsc; ///< PSB+ carries TSC and CBR
	bool has_mtc; ///< and TMA; each 2^mtc_shift ticks of the crystal there is an MTC
	uint8_t mtc_shift;
	bool has_cyc; ///< packets of branches have a CYC before them when 2^cyc_shift
	uint8_t cyc_shift; ///< cycles or more have passed since the last one
	bool has_tsx;	   ///< of a CPU with transactions: PSB+ carries MODE.TSX
	bool is_tnt_short; ///< of a CPU without long TNT packets
	bool is_ip_whole;  ///< addresses are never compressed
	dec_pt_write_value_fn
		ptwrite;	  ///< NULL, or there are PTWs with FUPs where it says:
				  ///< at PTWRITE instructions, and at
	const uint64_t *ptwrites; ///< these n_ptwrites addresses
	size_t n_ptwrites;
	const struct map *probes; ///< address -> enum dec_pt_probe bits; NULL: none
	uint64_t probe_page;	  ///< address of the kernel's page for them
	dec_pt_map_fn map; ///< or NULL. Both functions get the ctx of the write function
};

struct dec_pt_stats {
	uint64_t bytes, instructions;
	uint64_t psb, tnt_short, tnt_long, tip, pge, pgd, fup, ovf, mtc, cyc, ptw;
	uint64_t tnt_bits, returns_compressed;
	uint64_t probe_hits, probe_returns;
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

/** What does not follow from the flow. */
enum dec_pt_extra {
	DEC_PT_EXTRA_POWER,	///< MWAIT, EXSTOP, PWRE, PWRX: the core slept
	DEC_PT_EXTRA_MNT,	///< what only Intel knows
	DEC_PT_EXTRA_TSX_BEGIN, ///< MODE.TSX: a transaction
	DEC_PT_EXTRA_TSX_END,	///< MODE.TSX: it is committed
};

/** Write @p extra at the running thread's next block. */
void dec_pt_encoder_add(struct dec_pt_encoder *e, enum dec_pt_extra extra);

/** The run stopped with the running thread at @p rip: all packets end there. */
struct err *dec_pt_encoder_finish(struct dec_pt_encoder *e, uint64_t rip);

/** @return what was written of thread @p tid (pending packets of it included), NULL when
 * there is nothing; valid until the next call on @p e. */
const struct dec_pt_stats *dec_pt_encoder_stats(const struct dec_pt_encoder *e,
						uint32_t tid);

#endif
