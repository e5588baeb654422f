// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The machine's finest view: instruction by instruction, what was read and written, with
 * values. For windows, not whole runs: a full value log is 5 to 9 bytes an instruction.
 */
#ifndef DECODE_MACHINE_TRACE_H
#define DECODE_MACHINE_TRACE_H

#include "decode/machine/log.h"
#include "decode/machine/machine.h"

/** How certain a value is (past/recover.h); what the machine traces is known. */
enum dec_certainty { DEC_KNOWN, DEC_INFERRED, DEC_UNKNOWN };

/** One use or definition. */
struct dec_ref {
	bool is_def; ///< definition (value after); otherwise use (value before)
	bool is_mem;
	bool has_value;		///< false: flags and control registers outside stepped
				///< instructions, which are not logged
	uint8_t reg;		///< register number of x86/insn.h, when !is_mem
	uint8_t certainty;	///< enum dec_certainty: of the value
	uint8_t addr_certainty; ///< of the address; when DEC_UNKNOWN it is 0
	uint64_t addr;		///< address, when is_mem
	/** Bytes: of memory; 8 for a GPR (always the whole register), 64 for a vector
	 * register, 8 for a mask register. */
	uint32_t size;
	const uint8_t *value; ///< size bytes; valid during the callback
};

/** One executed instruction; a system call is one whose definitions are what the kernel
 * did. Uses come before definitions. */
struct dec_step {
	uint64_t position;
	uint32_t tid;		     ///< thread; 0 in a log that does not tell
	const struct dec_insn *insn; ///< NULL for a signal delivery
	const struct dec_ref *refs;
	size_t n_refs;
	/** All general registers behind it, and, where they are logged
	 * (dec_machine_log_regs_at()), before it; else NULL. */
	const uint64_t *gpr, *gpr_before;
	/** Of a system call: what it accessed of memory, by its arguments; the uses and definitions are registers. */
	const struct dec_access *accesses;
	size_t n_accesses;
};

typedef struct err *(*dec_step_fn)(void *ctx, const struct dec_step *step);

/**
 * Run from where @p m stands to @p position and show each instruction to @p fn.
 * Afterwards nothing is logged.
 *
 * @return an error of @p fn's, or as dec_machine_run().
 */
struct err *dec_machine_trace(struct dec_machine *m, uint64_t position, dec_step_fn fn,
			      void *ctx, struct dec_where *ret);

/** What a block's record holds, instruction by instruction. */
struct dec_trace_block {
	/** The glance's: n_insns + 1 times dec_trace.glance_bytes, zeroes at first. */
	void *user;
	struct {
		uint16_t slots;	 ///< its part of slots[],
		uint16_t rip_at; ///< from the block's
		uint8_t n;	 ///< slots
		int8_t rsp_step, cleared_from;
		uint8_t flow;
		bool is_inert;
	} insn[DEC_BLOCK_INSNS];
	struct dec_slot slots[];
};

/** A block as it ran, for who follows most instructions without steps: those take several times
 * as long. Registers are as they are before instruction @p at. */
struct dec_glance {
	const struct log_block *block;
	struct dec_trace_block *plan;
	const uint8_t *rec; ///< the block's record
	uint32_t at, n_ran; ///< instructions of the block: the next one; how many ran
	uint64_t position;  ///< of the first
	uint32_t tid;
	uint64_t fs_base;
	uint64_t *gpr;
	uint8_t (*vec)[64];
	uint64_t *k;
};

/** Blocks one behind the other, for who goes through whole ones by itself: a call for each would cost more
 * than most of them do. */
struct dec_stretch {
	struct dec_glance
		g; ///< rec, position: the next block's, which it becomes; at: how
		   ///< much of it was gone through
	struct log_block *const *blocks;
	size_t n_blocks;
	const uint8_t *end; ///< of the log
	uint64_t until;	    ///< what is behind this position is not for it
};

/** Let @p s->g be the next block. @return whether there is one that was met before, and ran whole. */
static inline bool dec_stretch_next(struct dec_stretch *s)
{
	const uint8_t *rec = s->g.rec;
	size_t left = s->end - rec;
	const struct log_block *b;
	const struct dec_rec *next;

	if (left < sizeof(*next) || ((const struct dec_rec *)rec)->id >= s->n_blocks)
		return false;
	b = s->blocks[((const struct dec_rec *)rec)->id];
	if (!b || !b->user || b->is_watched || b->bytes + sizeof(*next) > left ||
	    s->g.position + b->n_insns > s->until)
		return false;
	next = (const struct dec_rec *)(rec + b->bytes);
	s->g.block = b;
	s->g.plan = b->user;
	s->g.n_ran = b->n_insns;
	return next->id != DEC_REC_PARTIAL;
}

/** The block was gone through. */
static inline void dec_stretch_advance(struct dec_stretch *s)
{
	s->g.rec += s->g.block->bytes;
	s->g.position += s->g.n_ran;
	s->g.at = 0;
}

/** Who wants more of a trace than steps, or less. */
struct dec_trace {
	dec_step_fn step;
	/** Told of the records that are neither blocks nor single instructions
	 * (log_sink.other), each behind the steps that are made of it; or NULL. */
	struct err *(*other)(void *ctx, const struct dec_rec *rec, uint64_t time);
	/** A handler begins, or the registers behind a system call are others: a state (DEC_STATE_SIGNAL, DEC_STATE_CALL)
	 * that the general registers @p before become. Or NULL. */
	struct err *(*state)(void *ctx, uint32_t tid, const struct dec_rec *rec,
			     const uint64_t before[16]);
	/** Deals with instructions from g->at on by itself, for which there are no steps: moves
	 * that on, and the registers with it (dec_glance_define()). Then there is a step of
	 * the next one, and it is asked again. Or NULL. */
	struct err *(*glance)(void *ctx, struct dec_glance *g);
	/** .. with blocks from @p s->g on, up to the one that it leaves there. Or NULL. */
	struct err *(*stretch)(void *ctx, struct dec_stretch *s);
	size_t glance_bytes; ///< that it wants to keep of each instruction, and of the block
	/** The values of what was glanced at go. Or NULL. */
	struct err *(*gone)(void *ctx);
	void *ctx;	  ///< of all
	bool skips_inert; ///< steps of inert instructions have no references
};

/** Instruction @p i of @p g's block, not a call or return, ran: make its definitions those that
 * its record has. */
void dec_glance_define(const struct dec_glance *g, uint32_t i);

/** .. the same of one that ends in a jump, call or return, but for what it accesses. */
void dec_glance_branch(const struct dec_glance *g, uint32_t i);

/** dec_machine_trace() for @p o. */
struct err *dec_machine_trace_for(struct dec_machine *m, uint64_t position,
				  const struct dec_trace *o, struct dec_where *ret);

/** @return whether @p insn accesses no memory and defines nothing but flags: compares and
 * branches, a third of all. */
static inline bool dec_insn_is_inert(const struct dec_insn *insn)
{
	const uint64_t values = (UINT64_C(1) << (DEC_REG_FLAGS - DEC_GPRS)) - 1;

	return !insn->n_mem && !insn->gpr_written && !(insn->other_written & values) &&
	       insn->flow != DEC_FLOW_SYSCALL;
}

/** The reader behind dec_machine_trace(), for logs that come from elsewhere (tests). */
struct dec_tracer;
struct err *dec_tracer_create(uint64_t position, dec_step_fn fn, void *ctx,
			      struct dec_tracer **ret);
void dec_tracer_destroy(struct dec_tracer *t);

/** Set the value of register @p reg at the start of the window. */
void dec_tracer_set(struct dec_tracer *t, int reg, const uint8_t *value, size_t bytes);
void dec_tracer_set_fs(struct dec_tracer *t, uint64_t fs_base);

/** Feed a piece of a DEC_LOG_VALUES log; @p ctx is the tracer (a dec_log_fn). */
struct err *dec_tracer_feed(void *ctx, const uint8_t *log, size_t bytes);

#endif
