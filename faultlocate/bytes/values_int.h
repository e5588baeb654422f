// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What values.c, memory and uses, and values_flow.c, one instruction, share.
 */
#ifndef FAULTLOCATE_BYTES_VALUES_INT_H
#define FAULTLOCATE_BYTES_VALUES_INT_H

#include "faultlocate/bytes/bytes_int.h"

/** Bits of @p size bytes of memory without a value: ones. @return of the second ERR_NOMEM. */
void fl_values_read(struct bytes_values *v, uint64_t addr, uint8_t *ret, uint64_t size);
struct err *fl_values_write(struct bytes_values *v, uint64_t addr, const uint8_t *from,
			    uint64_t size);

/** Of general register @p reg these bits have no value. */
static inline void fl_values_put_gpr(struct bytes_regs *r, int reg, uint64_t bits)
{
	r->gpr[reg] = bits;
	r->live = (r->live & ~(1u << reg)) | (uint32_t)(bits != 0) << reg;
}

/** @return the bits of operand @p o that have no value, of up to 8 bytes. */
uint64_t fl_values_operand(struct bytes_walk *w, const struct dec_step *s,
			   const struct model_op *o);

/** @return whether flags that @p m's condition looks at have no value. */
bool fl_values_is_undecided(const struct bytes_regs *r, const struct insn_model *m);

/** One instruction. */
struct bytes_flow {
	struct bytes_walk *w;
	struct bytes_regs *r;
	const struct dec_step *s;
	const struct insn_model *m;
};

/** @return the memory that it reads or (@p is_def) writes, the register @p reg; NULL: none. */
const struct dec_ref *fl_flow_memory(const struct dec_step *s, bool is_def);
const struct dec_ref *fl_flow_register(const struct dec_step *s, int reg, bool is_def);

/** Operand @p op, no vector register, lacks @p bits. @return ERR_NOMEM. */
struct err *fl_flow_put(const struct bytes_flow *f, int op, uint64_t bits);
void fl_flow_clear_flags(struct bytes_regs *r);

/** Of the families from MODEL_VECTORS on. @return ERR_NOMEM. */
struct err *fl_values_flow_vector(const struct bytes_flow *f);

/** What the instruction defines has values, or not, by what it uses. @return ERR_NOMEM. */
struct err *fl_values_flow(struct bytes_walk *w, const struct dec_step *s,
			   const struct insn_model *m);

#endif
