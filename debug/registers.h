// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Registers as gdb numbers them: those that the capture's processor has, in the order of a
 * target description (gdb's manual, appendix "Target Descriptions"; "i386 Features" there).
 */
#ifndef DEBUG_REGISTERS_H
#define DEBUG_REGISTERS_H

#include "capture/capture.h"
#include "debug/packet.h"
#include "decode/machine/machine.h"

#define DBG_REGISTERS_MOST 192
#define DBG_REGISTER_BYTES 32 ///< of the widest: gdb has what is wider in pieces

/** Where a register of gdb's lies in one of the machine's. */
struct dbg_register {
	char name[12];
	enum {
		DBG_FROM_GPR,	///< cap_regs.gpr[index]
		DBG_FROM_REGS,	///< cap_regs at byte `at`
		DBG_FROM_STATE, ///< dec_machine_thread_reg(index), from byte `at` on
		DBG_FROM_TAGS, ///< the x87 tag word, of which the machine has the short form
		DBG_FIXED,     ///< always `at`
	} from;
	uint8_t index, bytes;
	uint16_t at;
	uint8_t there; ///< bytes of it that the machine has; the rest are zeros
	const char *type;
};

struct dbg_registers {
	struct dbg_register reg[DBG_REGISTERS_MOST];
	size_t n;
	bool has_avx, has_avx512;
	struct dbg_text xml; ///< the description
};

/** Those of the processor @p cpu. @return NULL or err_nomem. */
struct err *dbg_registers_init(struct dbg_registers *r, const struct cap_cpu *cpu);
void dbg_registers_deinit(struct dbg_registers *r);

/** Values of one thread, fetched from the machine as far as they are asked for. */
struct dbg_values {
	struct dec_machine *machine;
	struct dec_thread thread;
	int held; ///< the register of the machine's that is in state; -1: none
	uint8_t state[160];
};

/** Write register number @p i into @p buf. @return NULL, or as dec_machine_thread_reg(). */
struct err *dbg_registers_read(const struct dbg_registers *r, struct dbg_values *v,
			       size_t i, uint8_t buf[DBG_REGISTER_BYTES]);

#endif
