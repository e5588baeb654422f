// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to alloc.c and flow.c: what registers and stack slots hold along
 * one path behind an allocation.
 */
#ifndef DECODE_SYMBOLS_FLOW_H
#define DECODE_SYMBOLS_FLOW_H

#include "decode/symbols/symbols_int.h"
#include "decode/x86/zydis.h"

#define SLOTS_MAX 8

/** What is known of a register. */
struct flow_value {
	bool is_result; ///< the allocation's address
	bool has_type;	///< points off bytes into an object of type `to`
	bool has_index; ///< ... plus an unknown multiple of 8
	bool has_addr;	///< is the link-time address addr (plus index)
	Dwarf_Die to;
	int64_t off;
	uint64_t addr;
};

/** One path of the walk. */
struct flow_path {
	uint64_t pc;
	int steps;
	struct flow_value reg[CAP_GPRS];
	struct dec_sym_spot slot[SLOTS_MAX]; ///< stack slots that hold the result
	int n_slots;
};

/** What a function does to a register that calls preserve, or where it goes. */
struct flow_event {
	enum { FLOW_LOSE, FLOW_SET, FLOW_STEP, FLOW_BRANCH } kind;
	int reg;
	uint64_t pc;   ///< FLOW_SET: where the address was taken
	uint64_t addr; ///< FLOW_SET: it gets this one; FLOW_BRANCH: the target
};

struct flow_kept {
	VEC(struct flow_event) events; ///< in the order of the code
	struct {
		uint64_t addr, pc; ///< taken at pc; 0: none
	} now[CAP_GPRS];	   ///< in the order of the code
};

/** Add to @p k what the instruction at @p pc does; those of a function in their order.
 * @p target: that of a direct branch, else 0. @return ERR_NOMEM. */
struct err *dec_flow_keep(struct flow_kept *k, uint64_t pc,
			  const ZydisDecodedInstruction *in,
			  const ZydisDecodedOperand *ops, uint64_t target);

/** Fill in what @p p does not know at the call that returns to @p return_addr: addresses
 * that registers got before it, on every way there, and perhaps went on from in steps. */
void dec_flow_recall(struct flow_path *p, const struct flow_kept *k,
		     uint64_t return_addr);

/** An object of type @p type (qualifiers peeled) received the result. */
typedef void (*flow_note_fn)(void *ctx, Dwarf_Die *type);

/** Apply to @p p the instruction at p->pc, which does not transfer control; p->pc stays.
 * @p note hears of each typed place in memory that it puts the result into. */
void dec_flow_step(struct dec_sym_unit *u, struct flow_path *p,
		   const ZydisDecodedInstruction *in, const ZydisDecodedOperand *ops,
		   flow_note_fn note, void *ctx);

/** Forget what a call does not preserve. */
void dec_flow_call(struct flow_path *p);

/** @return whether anything still holds the result. */
bool dec_flow_has_result(const struct flow_path *p);

#endif
