// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A run looked at from its end: who wrote this register or these bytes last before an instant?
 * One window of the run is held instruction by instruction; what is older is found by tracing
 * longer and longer pieces before it, of which nothing but the answer is kept.
 */
#ifndef DECODE_EXPLAIN_BACKWARD_H
#define DECODE_EXPLAIN_BACKWARD_H

#include "base/base.h"
#include "decode/machine/machine.h"
#include "decode/machine/trace.h"

/** A register, or bytes of memory. */
struct dec_location {
	bool is_mem;
	uint8_t reg;  ///< number of x86/insn.h
	uint32_t tid; ///< whose register; 0: of the only thread
	uint64_t addr;
	uint32_t offset; ///< first byte that is meant of a register
	uint32_t size;	 ///< bytes: 1 .. 8
};

/** One use or definition of a step, as struct dec_ref has it. */
struct dec_past_ref {
	uint64_t addr, size;
	uint32_t value_at; ///< private
	uint8_t reg;
	bool is_def, is_mem, has_value;
};

/** One instruction that ran; insn NULL: what the kernel wrote. */
struct dec_past_step {
	uint64_t position;
	uint32_t tid, first, n; ///< private: its references
	uint32_t insn_at;	///< private
};

struct dec_past;
struct dec_written;

/** Of the first @p end positions of @p c, with checkpoints on the way. Borrowed. */
struct err *dec_past_create(const struct capture *c, uint64_t end, struct dec_past **ret);
/** The same of machine @p m, which is borrowed, and moved by whatever is asked. */
struct err *dec_past_over(struct dec_machine *m, struct dec_past **ret);

void dec_past_destroy(struct dec_past *p);
void dec_past_destroyp(struct dec_past **p);

/** When a write of @p l before @p before was, from what somebody knows of memory: DEC_PAST_AT sets
 * *@p time to the position of the last one, DEC_PAST_NEVER says that there was none. */
enum dec_past_known { DEC_PAST_UNKNOWN, DEC_PAST_AT, DEC_PAST_NEVER };
typedef enum dec_past_known (*dec_past_known_fn)(void *ctx, const struct dec_location *l,
						 uint64_t before, uint64_t *time);

/** Ask @p fn about memory that was not written in the window, before it is looked for. */
void dec_past_ask(struct dec_past *p, dec_past_known_fn fn, void *ctx);

/** Look only where @p w, which is borrowed, says that a writer may be. */
void dec_past_know(struct dec_past *p, const struct dec_written *w);

/** Where nobody knows, look through no more than so many instructions; 134 million, if it is not told. */
void dec_past_reach(struct dec_past *p, uint64_t instructions);

/** Find the last step before @p before that wrote any of @p l. @p ret: NULL when nothing did since
 * the start, or as far as is looked back (*@p is_far). Valid until the next call. */
struct err *dec_past_writer(struct dec_past *p, const struct dec_location *l,
			    uint64_t before, const struct dec_past_step **ret,
			    bool *is_far);

/** Load the step at @p position. NULL: there is none, or an error. Valid as above. */
struct err *dec_past_step_at(struct dec_past *p, uint64_t position,
			     const struct dec_past_step **ret);

/** @return the instruction of @p s; NULL: it is none, or what the kernel wrote. */
const struct dec_insn *dec_past_insn(const struct dec_past *p,
				     const struct dec_past_step *s);

/** @return where its instruction is, or the system call's that it belongs to; 0: not known. */
uint64_t dec_past_rip(const struct dec_past *p, const struct dec_past_step *s);

/** @return its @p i-th reference, NULL behind the last. */
const struct dec_past_ref *dec_past_ref(const struct dec_past *p,
					const struct dec_past_step *s, uint32_t i);

/** @return the first bytes of @p r's value, up to 64; NULL when unknown. */
const uint8_t *dec_past_value(const struct dec_past *p, const struct dec_past_ref *r);

/** Stand at @p position, to read what is in memory then. @return the machine. */
struct err *dec_past_seek(struct dec_past *p, uint64_t position,
			  struct dec_machine **ret);

/** The registers of the thread that runs at @p position, just before it. Those of the last positions that
 * were asked for are known, and the machine stays where it is. @return as dec_machine_seek(). */
struct err *dec_past_regs(struct dec_past *p, uint64_t position, struct cap_regs *ret);

#endif
