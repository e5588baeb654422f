// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The bytes of one trace buffer: pieces that follow each other (of a mapped file, say),
 * and the synchronisation points (PSB) in them. Bytes are numbered from the first piece's
 * first on. Where the recorder lost some, a piece says so; what lies before and behind is
 * not one flow.
 *
 * Filled by one thread; then read by any number of them.
 */
#ifndef DECODE_PT_STREAM_H
#define DECODE_PT_STREAM_H

#include "base/base.h"
#include "decode/pt/image.h"

struct dec_pt_piece {
	uint64_t at; ///< number of its first byte
	const uint8_t *data;
	size_t size;
	const char *lost; ///< why something is missing before it; NULL: nothing is
};

/** Who ran on a processor, with which code, from when on. */
struct dec_pt_turn {
	uint64_t from; ///< as dec_pt_map's
	uint32_t tid;
	struct dec_pt_image *image; ///< borrowed
};

/** What the packets of time mean (SDM volume 3, "TSC, TMA, MTC, CYC, CBR"), and which
 * errata apply; all 0: not known, then time is the TSC packets' only. */
struct dec_pt_clock {
	uint16_t family; ///< of an Intel processor; 0 unknown
	uint8_t model, stepping;
	uint8_t mtc_shift;     ///< an MTC packet each 2^mtc_shift ticks of the crystal
	uint8_t nominal_ratio; ///< of the core's to the bus' clock (MSR_PLATFORM_INFO)
	uint32_t tsc_num, tsc_den; ///< TSC : crystal (CPUID 15H EBX, EAX)
	bool has_ticks;		   ///< there are MTC or CYC packets
};

struct dec_pt_stream {
	VEC(struct dec_pt_piece) pieces;
	uint64_t size;
	/** Ascending, at least one; the first one's `from` counts as 0. */
	VEC(struct dec_pt_turn) turns;
	bool has_kernel; ///< the kernel is traced, too: what ran there is left out
	bool is_timed;	 ///< turns and images go by TSC; else by the byte of the stream
	struct dec_pt_clock clock;
};

/** A PSB packet and the group that it begins. */
struct dec_pt_psb {
	uint64_t at;
	uint64_t end;  ///< behind PSBEND; where the group makes no sense: unspecified
	bool is_sound; ///< there is a PSBEND
	bool is_lossy; ///< an overflow cut the group short
	bool has_ip;   ///< tracing was on, the next instruction lay at `ip`; of user code
	/** The group names a place, but TIP.PGE follows at once: tracing was off (erratum
	 * BDM70; on many processors, and not only on those that libipt knows to have it). */
	bool is_early;
	bool has_tsc;
	uint64_t ip, tsc;
};

enum { DEC_PT_PSB_BYTES = 16 };

/** @p s is empty, with its first turn. @return NULL or err_nomem. */
struct err *dec_pt_stream_init(struct dec_pt_stream *s, uint32_t tid,
			       struct dec_pt_image *image);
void dec_pt_stream_deinit(struct dec_pt_stream *s);

/** Append @p size bytes, which are borrowed. @p lost: text, or NULL, borrowed too. An empty
 * piece matters by what it lost only. @return NULL or err_nomem. */
struct err *dec_pt_stream_add(struct dec_pt_stream *s, const uint8_t *data, size_t size,
			      const char *lost);

/** @return the first PSB at or behind byte @p from; the stream's size when there is none. */
uint64_t dec_pt_stream_find_psb(const struct dec_pt_stream *s, uint64_t from);

/** @return where the bytes from @p at on end: the stream's end, or something is lost there,
 * which @p why (may be NULL) then tells; NULL at the stream's end. */
uint64_t dec_pt_stream_whole_until(const struct dec_pt_stream *s, uint64_t at,
				   const char **why);

/** @return the stream's bytes from @p at up to @p until, in one piece: the stream's own, or
 * copied to @p buffer, which grows; NULL when memory is out. Valid until its next use. */
typedef VEC(uint8_t) dec_pt_buffer;
const uint8_t *dec_pt_stream_bytes(const struct dec_pt_stream *s, uint64_t at,
				   uint64_t until, dec_pt_buffer *buffer);

/** Read the PSB group at @p at. */
struct err *dec_pt_stream_psb(const struct dec_pt_stream *s, uint64_t at,
			      dec_pt_buffer *buffer, struct dec_pt_psb *ret);

/** @return the index of the last turn that begins at or before @p from. */
size_t dec_pt_stream_turn(const struct dec_pt_stream *s, uint64_t from);

#endif
