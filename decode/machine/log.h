// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Reads the machine's log: splits it into records, decodes each block's bytes once, and
 * hands both to a sink with the exact position. The other half of translator/slots.h.
 */
#ifndef DECODE_MACHINE_LOG_H
#define DECODE_MACHINE_LOG_H

#include <string.h>

#include "base/base.h"
#include "decode/translator/slots.h"

/** Where a block's record holds the registers of a memory operand's address. */
struct log_mem {
	uint16_t base_at, index_at; ///< offsets in the record; 0: no such register, or
				    ///< (full value logs) to be taken from the registers
	int16_t base_step, index_step; ///< push and pop moved rsp since it was logged
};

/** A block as the log's reader knows it. */
struct log_block {
	uint64_t rip;
	uint32_t n_insns;
	uint32_t bytes;		 ///< of its record, header included
	bool is_watched;	 ///< 16 GPRs follow the header
	struct dec_insn *insn;	 ///< n_insns; what follows up to `user' lies behind them
	uint32_t *slot_at;	 ///< n_insns + 1: offset of each instruction's first slot
	struct dec_known *known; ///< n_insns: before each instruction
	struct log_mem (*mem)[DEC_MEMS]; ///< n_insns: of each memory operand
	void *user;			 ///< the sink's, freed with free()
};

/** Where a memory operand lies, as far as it is the same each time: what is asked of many records. */
struct log_where {
	uint64_t disp, mask;
	uint16_t base_at, index_at; ///< in the record; 0: none
	uint8_t scale;
};

/** @return that of operand @p m of instruction @p i. Not for full value logs, whose reader keeps
 * the registers. */
struct log_where dec_log_where(const struct log_block *b, uint32_t i, int m);

/** @return the word at @p at of record @p rec. */
static inline uint64_t log_word(const uint8_t *rec, uint32_t at)
{
	uint64_t v;

	memcpy(&v, rec + at, 8);
	return v;
}

/** @return the operand's address in record @p rec, the fs base not added. */
static inline uint64_t dec_log_at(const struct log_where *w, const uint8_t *rec)
{
	uint64_t a = w->disp;

	if (w->base_at)
		a += log_word(rec, w->base_at);
	if (w->index_at)
		a += log_word(rec, w->index_at) * w->scale;
	return a & w->mask;
}

/** The same of operand @p m of instruction @p i, asked once. */
uint64_t dec_log_address(const struct log_block *b, uint32_t i, int m,
			 const uint8_t *rec);

/** Bytes of a memory operand that are accessed. */
struct log_run {
	uint32_t offset, size;
};

#define LOG_RUNS 32 ///< every other one of 64 lanes

/** List which of the @p size bytes of an operand are accessed: all of them, or, where it has lanes
 * of @p lane_bytes, those that are set in @p mask, neighbours as one. @return how many runs. */
int dec_log_runs(uint32_t lane_bytes, uint32_t size, uint64_t mask,
		 struct log_run ret[LOG_RUNS]);

/** The same of operand @p m of instruction @p i from record @p rec. Not for full value logs. */
int dec_log_accesses(const struct log_block *b, uint32_t i, int m, const uint8_t *rec,
		     struct log_run ret[LOG_RUNS]);

/** Keep the fs base up to date over @p insn, which was stepped in C: wrfsbase sets it. */
void dec_log_follow_fs(const struct dec_rec_slow *rec, const struct dec_insn *insn,
		       uint64_t *fs_base);

/** Walks the references of an instruction stepped in C; the reader has checked them. */
struct log_refs {
	const uint8_t *at;
	uint32_t left;
};

static inline struct log_refs dec_log_refs(const struct dec_rec_slow *rec)
{
	return (struct log_refs){ (const uint8_t *)(rec + 1), rec->n_refs };
}

/** @return the next one, whose bytes are at *@p data (NULL: it is far); NULL behind the last. */
static inline const struct dec_rec_ref *dec_log_next_ref(struct log_refs *refs,
							 const uint8_t **data)
{
	const struct dec_rec_ref *ref = (const struct dec_rec_ref *)refs->at;

	if (!refs->left)
		return NULL;
	refs->left--;
	*data = ref->is_far ? NULL : refs->at + sizeof(*ref);
	refs->at += sizeof(*ref) + (ref->is_far ? 0 : (ref->bytes + 7ul) & ~7ul);
	return ref;
}

/** What is asked of each record of a block that stores once and neither calls, returns nor jumps into
 * the unknown: for a sink that goes through many. */
struct log_brief {
	uint64_t disp;
	uint16_t bytes; ///< of the record; 0: it is not known, or another block
	uint16_t base_at, index_at;	 ///< where its address is made of, times that:
	uint8_t base_scale, index_scale; ///< 0: there is none
	uint16_t value_at;
	uint8_t size; ///< of the store
	uint8_t n_insns;
	uint32_t number; ///< the sink's
};

/** Who takes the records; NULL entries are skipped. Times are positions. */
struct log_sink {
	void *ctx;
	/** @p n_ran instructions of @p b ran, the first at @p time; @p rec is its record. */
	struct err *(*block)(void *ctx, struct log_block *b, const uint8_t *rec,
			     uint32_t n_ran, uint64_t time);
	/** An instruction stepped in C. */
	struct err *(*slow)(void *ctx, const struct dec_rec_slow *rec,
			    const struct dec_insn *insn, uint64_t time);
	/** STATE, SYSCALL, WRITE, HEAP, LOOK: see enum dec_rec_id. SYSCALL itself takes one
	 * instruction: @p time is its position. */
	struct err *(*other)(void *ctx, const struct dec_rec *rec, uint64_t time);
};

struct log_reader {
	enum dec_log_mode mode;
	uint64_t time;			///< position of the next instruction
	uint64_t quiet;			///< as the last DEC_REC_QUIET, or block, has it
	VEC(struct log_block *) blocks; ///< by number; NULL: not seen
	uint64_t n_insns;		///< in all of them
	struct dec_insns *known;	///< NULL until one is decoded
	bool keeps_old;			///< blocks whose numbers others got live on, too
	VEC(struct log_block *) old;	///< .. here
	VEC(struct log_brief)
	briefs; ///< as blocks; the sink's, zeroed where a block is new
	/** The sink's: a block's record is at *@p log. Takes as many whole blocks as it likes, one
	 * behind the other, without block() for each, and moves *@p log and @p r->time on. Or NULL. */
	struct err *(*stretch)(void *ctx, struct log_reader *r, const uint8_t **log,
			       const uint8_t *end);
	/** The sink's: @p b is about to run the first time. Or NULL. */
	struct err *(*made)(void *ctx, struct log_block *b);
};

/** @return how many instructions ran before the block at @p rec that are in no record; @p quiet is
 * the reader's. */
static inline uint32_t log_quiet(enum dec_log_mode mode, uint64_t quiet,
				 const struct dec_rec *rec)
{
	return dec_log_counts(mode) ? (uint32_t)quiet - rec->size : 0;
}

/** Start reading a log of @p mode at position @p time. */
void dec_log_reader_init(struct log_reader *r, enum dec_log_mode mode, uint64_t time);
void dec_log_reader_deinit(struct log_reader *r);

/** Read a piece. @return the sink's error, or ERR_FORMAT: the log is damaged (the guest
 * scribbled on it, or our own bug). */
struct err *dec_log_reader_feed(struct log_reader *r, const struct log_sink *sink,
				const uint8_t *log, size_t bytes);

#endif
