// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Emitted code for runs in which registers and bytes of memory may be NaT, "not a thing", as on
 * Itanium (paper 003, 7.3): what is clean runs in the code cache; what uses or defines something
 * that is NaT leaves it, and C propagates the bits an instruction at a time (machine/nullify.h).
 *
 *   - Registers: the bits are in one word of the context. What is tested of it is what the
 *     instruction uses and defines (`tests_each`), or what all of the block do, at its start:
 *     inside a block no bit changes. Those beyond `may_be` are not tested: the owner knows that
 *     none of them is NaT while emitted code runs.
 *   - Memory: `tests_memory`, a byte of a table for each eight bytes that are accessed, chosen by
 *     their address; what is found there is C's to make sure of. With `joins` accesses near to
 *     each other by one register are tested at once. Without `tests_stack` those by the stack
 *     pointer alone are not tested: the owner knows that no stack has a NaT byte, and an
 *     instruction that may set that register to another stack is for C. Where memory is not
 *     tested, there is none, or pages with NaT bytes are the owner's to make inaccessible.
 *   - An instruction that is `counted` leaves when its counter has run out.
 *   - A call leaves in the context where it returns to and which registers its caller has, a
 *     return takes that away: calls under way are known at each moment (dec_ctx.nat_calls).
 *
 * Flags may be other than the guest's where a block leaves so and none of its instructions
 * would have looked at them before they are set.
 */
#ifndef DECODE_TRANSLATOR_NAT_H
#define DECODE_TRANSLATOR_NAT_H

#include "base/base.h"
#include "decode/x86/insn.h"

struct dec_nat {
	bool tests_each, tests_memory, tests_stack, joins;
	uint32_t may_be;    ///< registers, as dec_nat_fold() says
	struct map counted; ///< address of an instruction -> its counter
};

/** @return the bits of dec_ctx.nat for @p regs, of which bit n is register n of x86/insn.h: vector
 * registers from the fourteenth on share one, and so do those of masks and the x87. */
uint32_t dec_nat_fold(uint64_t regs);

/** @return the registers, likewise, that @p insn looks at or defines in any way; not rsp, rip and
 * mxcsr, which are never NaT. */
uint64_t dec_nat_registers(const struct dec_insn *insn);

/** The number in dec_ctx.nat_calls of the call whose return address lies at @p slot. */
static inline unsigned dec_nat_call_index(uint64_t slot)
{
	return ((slot + 8) & 0xffff) / 8;
}

#endif
