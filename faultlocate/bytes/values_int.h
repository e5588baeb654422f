// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What values.c, memory and uses, and values_flow.c, one instruction, share.
 */
#ifndef FAULTLOCATE_BYTES_VALUES_INT_H
#define FAULTLOCATE_BYTES_VALUES_INT_H

#include <string.h>

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

static inline void fl_values_put_mask(struct bytes_regs *r, int k, uint64_t bits)
{
	r->mask[k] = bits;
	r->live = (r->live & ~(1u << (BYTES_MASKS + k))) | (uint32_t)(bits != 0)
								   << (BYTES_MASKS + k);
}

/** The x87's state, or MMX's, was changed. */
static inline void fl_values_put_x87(struct bytes_regs *r)
{
	uint64_t any = r->x87 | r->no_status;

	for (int i = 0; i < 8; i++)
		any |= r->mmx[i];
	r->live = (r->live & ~(1u << BYTES_X87)) | (uint32_t)(any != 0) << BYTES_X87;
}

static inline void fl_values_clear_x87(struct bytes_regs *r)
{
	memset(r->mmx, 0, sizeof(r->mmx));
	r->x87 = r->no_status = 0;
	r->live &= ~(1u << BYTES_X87);
}

/** All registers but general ones have values. */
static inline void fl_values_clear_others(struct bytes_regs *r)
{
	memset(r->vec, 0, sizeof(r->vec));
	memset(r->mask, 0, sizeof(r->mask));
	fl_values_clear_x87(r);
	r->live &= (1u << DEC_GPRS) - 1;
	r->vec_live = 0;
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

/** What that refers to holds, of up to @p bytes. @return 0: not known. */
uint64_t fl_flow_value_in(const struct dec_ref *r, unsigned bytes);
/** What operand @p op, no vector register, holds before (or behind) the instruction. */
uint64_t fl_flow_value(const struct bytes_flow *f, int op, bool is_def);
uint64_t fl_flow_bits(const struct bytes_flow *f, int op);
uint64_t fl_flow_mask_of(unsigned bytes);
/** Of general register @p reg, @p bytes from bit @p shift on lack @p bits: what 4 clear has a value. */
void fl_flow_put_register(struct bytes_regs *r, int reg, unsigned bytes, unsigned shift,
			  uint64_t bits);
/** The flags are those of @p a less @p b, of which @p va and @p vb are without a value. */
void fl_flow_put_compared(const struct bytes_flow *f, uint64_t a, uint64_t va, uint64_t b,
			  uint64_t vb);
/** .. of a result of @p bytes. @p has_carry: that and overflow depend on it, too. */
void fl_flow_put_flags(struct bytes_regs *r, uint64_t bits, uint64_t value,
		       unsigned bytes, bool has_carry);
/** What it defines has a value. */
struct err *fl_flow_other(const struct bytes_flow *f);

/** values_bits.c: blsr, pext, bt and the like. @return ERR_NOMEM. */
struct err *fl_values_flow_bits(const struct bytes_flow *f);

/** Of scas and cmps that are repeated: has any round compared what has no value, and not decided? */
bool fl_bits_is_end_unknown(const struct bytes_flow *f);

/** values_x87.c */
struct err *fl_values_flow_x87(const struct bytes_flow *f);

#define VECTOR_BYTES 64

/** Of a vector, mask or MMX register, or memory: the bits of operand @p op. @return how many bytes it has. */
unsigned fl_vector_bits(const struct bytes_flow *f, int op, uint8_t ret[VECTOR_BYTES]);
/** .. what it holds before the instruction. */
void fl_vector_value(const struct bytes_flow *f, int op, uint8_t ret[VECTOR_BYTES]);
/** Of the first @p bytes of what it writes these @p bits have none. */
struct err *fl_vector_put(const struct bytes_flow *f, const uint8_t bits[VECTOR_BYTES],
			  unsigned bytes);
/** How much of a vector register it writes. */
unsigned fl_vector_width(const struct bytes_flow *f);
bool fl_vector_any(const uint8_t *bits, unsigned bytes);
/** What mask register @p k holds before the instruction. */
uint64_t fl_vector_mask(const struct bytes_flow *f, int k);

/** Of the families from MODEL_VECTORS on. @return ERR_NOMEM. */
struct err *fl_values_flow_vector(const struct bytes_flow *f);
/** .. from MODEL_LANES on: values_lanes.c. */
struct err *fl_values_flow_lanes(const struct bytes_flow *f);
/** .. of pcmpistri and the like: values_text.c. */
struct err *fl_values_flow_text(const struct bytes_flow *f);
/** Of a gather or scatter: is an index without a value? */
bool fl_lanes_is_address_unknown(const struct bytes_flow *f);

/** What the instruction defines has values, or not, by what it uses. @return ERR_NOMEM. */
struct err *fl_values_flow(struct bytes_walk *w, const struct dec_step *s,
			   const struct insn_model *m);

#endif
