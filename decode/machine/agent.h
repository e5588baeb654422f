// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Agent expressions: bytecode that gdb makes of a breakpoint's condition, and of what is to be
 * printed there, so that it need not be asked each time (gdb's manual, appendix "The GDB Agent
 * Expression Mechanism"). The code is a stranger's: whatever it is, it ends.
 */
#ifndef DECODE_MACHINE_AGENT_H
#define DECODE_MACHINE_AGENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Expressions one behind the other, of which one must hold: each is its size, a uint32_t as this
 * machine has it, and so many bytes. */
struct dec_agent_conditions {
	const uint8_t *bytes;
	size_t n;
};

/** Registers as gdb numbers the first ones: the general ones in its order, rip, eflags. */
enum { DEC_AGENT_RIP = 16, DEC_AGENT_FLAGS = 17 };

/** @return which general register (enum cap_gpr) is gdb's @p number, below DEC_AGENT_RIP. */
unsigned dec_agent_gpr(unsigned number);

/** What an expression can see and do. */
struct dec_agent_world {
	/** Read memory. @return whether all of it is there. */
	bool (*read)(void *ctx, uint64_t addr, void *buf, size_t n);
	/** Read the register that gdb gives @p number. @return whether there is one. */
	bool (*reg)(void *ctx, unsigned number, uint64_t *ret);
	/** Print. */
	void (*say)(void *ctx, const char *text, size_t n);
	void *ctx;
};

/**
 * Evaluate the expression @p code.
 *
 * @param ret  what it ends with; NULL: it is run for what it prints, and need not leave anything.
 * @return NULL, or why it has no value. Static text.
 */
const char *dec_agent_run(const uint8_t *code, size_t n, const struct dec_agent_world *w,
			  uint64_t *ret);

/** @return whether one of @p c holds: it is not 0, or cannot be evaluated, so that whoever knows more
 * has to look. */
bool dec_agent_holds(const struct dec_agent_conditions *c,
		     const struct dec_agent_world *w);

#endif
