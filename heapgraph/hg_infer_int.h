// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The parts of hg_infer.h, which hg_infer.c (the walk and its accesses), hg_infer_heap.c (what
 * is heap) and hg_infer_calls.c (calls, own and foreign) share.
 */
#ifndef HEAPGRAPH_HG_INFER_INT_H
#define HEAPGRAPH_HG_INFER_INT_H

#include "decode/history/heap.h"
#include "heapgraph/hg_derive.h"
#include "heapgraph/hg_infer.h"
#include "heapgraph/hg_pieces.h"

#define HG_ARGS 6

/* What a function was given: a register that is overwritten before it is read was no
 * argument. */
struct hg_args {
	uint32_t head[HG_ARGS]; ///< 0: no pointer
	uint8_t undecided;	///< bit n: number n was neither read yet nor overwritten
};

/* A call of the program's own code. */
struct hg_own_call {
	uint64_t rsp; ///< where its return address lies
	uint64_t fn;  ///< 0: not there yet
	uint64_t rip; ///< of the call
	uint32_t number;
	struct hg_args args;
};

/* A write of foreign code, kept until it is known what kind of function it was. */
struct hg_foreign_write {
	uint64_t time, addr;
	uint32_t head, size;
};

/* A stay in foreign code. */
struct hg_foreign {
	uint64_t rsp;	    ///< on entry: of the return address; 0: none
	uint64_t time, rip; ///< of the call
	struct hg_args args;
	bool is_header_read[HG_ARGS];
};

/* What foreign code left in rax, and it is a node's begin if it is a result. */
struct hg_result {
	uint64_t time, rip; ///< time 0: nothing
};

struct hg_infer_thread {
	struct hg_result result;
	VEC(struct hg_own_call) calls;
	VEC(struct hg_foreign) outer; ///< stays that called the program back
	VEC(struct hg_foreign_write) writes;
	struct hg_foreign foreign;
	bool is_return; ///< the last instruction was one
	bool is_call;	///< .. a call
};

struct hg_region {
	uint64_t start, end;
};

struct hg_infer {
	struct dec_symbols *symbols;
	struct hg_derive derive;
	struct hg_pieces *pieces;
	struct frames *frames;	   ///< lent for each step
	VEC(const char *) foreign; ///< modules: their paths
	struct map sites;	   ///< return address -> whether it tells the type
	struct map sizes;	   ///< call + 1 -> bytes of the struct that it allocates
	VEC(struct hg_region) regions; ///< ascending, apart
	size_t last_region;
	uint32_t n_calls;
	uint64_t now; ///< of the instruction
	uint64_t rip;
	VEC(struct hg_infer_thread) threads; ///< as derive's
	struct hg_infer_thread *thread;
};

/* ---- registers --------------------------------------------------------------------------- */

/** @return the head that register @p reg is derived from; 0: it is no pointer. */
static inline uint32_t hg_infer_head(const struct hg_infer *f, int reg)
{
	return f->derive.regs->gpr[reg];
}

static inline void hg_infer_set_head(struct hg_infer *f, int reg, uint32_t head)
{
	hg_derived_set(f->derive.regs, reg, head);
}

/** @return what register @p reg holds, as last seen. */
static inline uint64_t hg_infer_value(const struct hg_infer *f, int reg)
{
	return f->derive.regs->value[reg];
}

/** For hg_derive.h: what a word of unknown origin points to; @p ctx is the struct hg_infer. */
uint32_t hg_infer_pointer(void *ctx, uint64_t value);

/** From here on registers that held @p value, derived from @p old, are pointers to @p new. */
void hg_infer_rename(struct hg_infer *f, uint64_t value, uint32_t old, uint32_t new);

/* ---- hg_infer_border.c ------------------------------------------------------------------- */

/** Find out which modules are f->foreign. @return NULL or ERR_NOMEM, or as
 * cap_core_open(). */
struct err *hg_infer_find_border(struct hg_infer *f, const struct capture *c);

/* ---- hg_infer_heap.c --------------------------------------------------------------------- */

/** @return whether @p addr is in memory that the program got by brk or anonymous mmap. */
bool hg_infer_is_heap(struct hg_infer *f, uint64_t addr);

/** As dec_heap_events.region; @p ctx is the struct hg_infer. */
struct err *hg_infer_region(void *ctx, uint64_t time, uint64_t start, uint64_t size,
			    bool is_stack);

/* ---- hg_infer_calls.c -------------------------------------------------------------------- */

/** @return the number of the innermost call of the program's own; 0: none. */
uint32_t hg_infer_call(const struct hg_infer *f);

/** The function that was given @p a executes @p insn. @return bit n: reads argument n, for
 * the first time. */
uint8_t hg_infer_decide(struct hg_args *a, const struct dec_insn *insn);

/** Foreign code begins. */
void hg_foreign_enter(struct hg_infer *f);

/** It accesses @p r by a pointer to @p head. @return NULL or ERR_NOMEM. */
struct err *hg_foreign_access(struct hg_infer *f, const struct dec_ref *r, uint32_t head);

/** What the function did was done to its arguments: it is no allocator. */
void hg_foreign_commit(struct hg_infer *f);

/** Foreign code returned: what it was given may have ended. */
void hg_foreign_leave(struct hg_infer *f);

/** It left something in rax, and @p insn runs: is that a result at all? */
void hg_foreign_result(struct hg_infer *f, const struct dec_insn *insn);

/** The program's own code called. @return NULL or ERR_NOMEM. */
struct err *hg_own_enter(struct hg_infer *f);

/** The program's own function that runs uses what it was given, in @p insn. */
void hg_own_use(struct hg_infer *f, const struct dec_insn *insn);

/** The call whose return address was at @p rsp returns by the instruction at @p place. */
void hg_own_return(struct hg_infer *f, uint64_t rsp, uint64_t place);

#endif
