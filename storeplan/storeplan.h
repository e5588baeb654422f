// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Which stores need a probe. With the path of a run known (Intel PT), most stores'
 * addresses and values follow from a few *anchors*: here it is decided, function by
 * function and from the code alone, for which stores that is so, and where uprobes have
 * to be placed so that it is so for the rest. doc/stores.md has the reasoning.
 *
 * Invariants:
 *  1. A probe is placed only where an instruction begins, in a function whose code could
 *     be told from data without doubt.
 *  2. A store that is called recoverable is so on every way through its function, provided
 *     that callees keep the ABI and pointers into the frame come from its code.
 *  3. A plan is a function of the file and the options alone.
 *
 * Addresses are those in the file (load bias 0). Not shared between threads.
 */
#ifndef STOREPLAN_STOREPLAN_H
#define STOREPLAN_STOREPLAN_H

#include "base/base.h"
#include "decode/x86/zydis.h"
#include "storeplan/sp_insn.h"

/** Measured on the machines that doc/stores.md names: a uprobe's cost by what the kernel
 * has to do with the instruction under it. */
#define SP_EMULATED_US 0.55
#define SP_STEPPED_US 19.0

#define SP_READS 4 ///< memory operands that one probe reads at most

/** Does the kernel (6.1 and later) emulate it under a uprobe, instead of stepping it? */
bool sp_is_emulated(const ZydisDecodedInstruction *i);

/** Should nobody put a uprobe on it? The kernel refuses it, or would do something else
 * than the instruction does. */
bool sp_is_unprobable(const ZydisDecodedInstruction *i);

/** Memory that a probe reads: as wide as a store whose value registers do not tell. */
struct sp_read {
	uint8_t base, index; ///< GPR or SP_NONE
	uint8_t scale;
	bool is_fs;	  ///< relative to the thread's fs base
	bool is_absolute; ///< disp is the address in the file, to which the bias comes
	uint16_t size;	  ///< bytes, at most 64
	int64_t disp;
};

/** An instruction to probe. A hit tells all general registers. */
struct sp_site {
	uint64_t addr, file_offset;
	uint32_t function;    ///< index in the plan
	bool is_emulated;     ///< else the kernel single-steps it
	const char *mnemonic; ///< static text
	double often;	      ///< estimate: hits for each call of the function
	uint8_t n_reads;
	struct sp_read reads[SP_READS];
};

enum sp_store_state {
	SP_STORE_FREE,	 ///< follows from what is known anyway
	SP_STORE_SERVED, ///< follows once the probes are there
	SP_STORE_COPY,	 ///< rep movs: where from, where to and how much follow; not what
	SP_STORE_LOST,	 ///< no site was found
	SP_STORE_STATES
};

struct sp_store {
	uint64_t addr;
	uint32_t function;
	uint8_t state; ///< enum sp_store_state
	bool is_frame; ///< at a constant offset in the function's own frame
	bool is_emulated, is_unprobable; ///< a probe on it would be
	uint64_t
		read_at; ///< its value comes from the memory read at this site; 0: it does not
	double often;
};

struct sp_function_plan {
	const char *name; ///< NULL: no symbol tells
	uint64_t start;
	const char *unsound; ///< why it was left alone; NULL: it was not
	uint32_t first_store, n_stores, first_site, n_sites;
	uint32_t n_frame; ///< stores into its own frame, which are not among n_stores
	uint32_t n_frame_known; ///< of those: value known without a probe of their own
};

struct sp_plan {
	struct sp_function_plan *functions;
	struct sp_store *stores;
	struct sp_site *sites;
	size_t n_functions, n_stores, n_sites;
	struct sp_image *image; ///< owner of the names
};

struct sp_options {
	const char *function; ///< only functions that match this glob; NULL: all
	bool wants_frame;     ///< stores into the frame count as stores, too
	bool is_naive; ///< for comparison: a probe at each store, whatever it costs
};

/** What a set of probes costs, by estimate. */
struct sp_cost {
	size_t n_emulated, n_stepped,
		n_refused; ///< refused: the kernel would not have it
	double us;	   ///< for one call of each function
};

/** Make the plan for ELF file @p path. @return ERR_NOT_FOUND, ERR_FORMAT, ERR_NOMEM. */
struct err *sp_plan_make(const char *path, const struct sp_options *o,
			 struct sp_plan **ret);
void sp_plan_destroy(struct sp_plan *p);
void sp_plan_destroyp(struct sp_plan **p);

/** What probes at the plan's sites cost; of function @p f, or of all (UINT32_MAX). */
struct sp_cost sp_plan_cost(const struct sp_plan *p, uint32_t f);

/** What a probe at each store would cost. */
struct sp_cost sp_plan_naive(const struct sp_plan *p, uint32_t f);

/** How many stores of @p f (UINT32_MAX: all) are in state @p s. */
size_t sp_plan_count(const struct sp_plan *p, uint32_t f, enum sp_store_state s);

#endif
