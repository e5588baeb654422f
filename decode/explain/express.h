// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the program calls a value: the variable that a register is, or how it was loaded, as in
 * `list->head->next`. From DWARF, at the instructions that ran.
 */
#ifndef DECODE_EXPLAIN_EXPRESS_H
#define DECODE_EXPLAIN_EXPRESS_H

#include "decode/explain/backward.h"
#include "decode/symbols/frame.h"

struct dec_expression {
	char text[DEC_NAME_BYTES]; ///< "" when there is none
	struct dec_type type;
	bool has_type;
	uint64_t value; ///< of what is called so
};

/** What register @p reg of thread @p tid holds just before @p position, where the instruction at
 * @p rip runs next. */
struct err *dec_express_reg(struct dec_past *p, struct dec_symbols *s, uint64_t position,
			    uint64_t rip, uint32_t tid, uint8_t reg,
			    struct dec_expression *ret);

/** What lies in memory at @p addr, of @p bytes, where instruction @p insn accesses it at
 * @p position. */
struct err *dec_express_mem(struct dec_past *p, struct dec_symbols *s, uint64_t position,
			    const struct dec_insn *insn, uint32_t tid, uint64_t addr,
			    uint64_t bytes, struct dec_expression *ret);

/** Registers and memory just before @p position, where @p rip runs next. @p ret is good until the
 * machine is moved. */
struct err *dec_express_frame(struct dec_past *p, uint64_t position, uint64_t rip,
			      struct dec_frame *ret);

#endif
