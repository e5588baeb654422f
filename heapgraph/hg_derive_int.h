// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What hg_derive.c, which carries derivations on step by step, and hg_glance.c, which does so
 * from a block's record, share.
 */
#ifndef HEAPGRAPH_HG_DERIVE_INT_H
#define HEAPGRAPH_HG_DERIVE_INT_H

#include <string.h>

#include "heapgraph/hg_derive.h"

#define HG_SOURCES_MAX 64

/** What an instruction used: values, and what they are derived from. */
struct hg_sources {
	struct {
		uint64_t value;
		uint32_t from;
		bool is_address; ///< of a register that only tells where memory is
	} at[HG_SOURCES_MAX];
	int n;
};

/** @p value is one, unless it is derived from nothing (@p from 0). */
static inline void hg_source_add(struct hg_sources *so, uint64_t value, uint32_t from,
				 bool is_address)
{
	if (!from || so->n == HG_SOURCES_MAX)
		return;
	so->at[so->n].is_address = is_address;
	so->at[so->n].value = value;
	so->at[so->n++].from = from;
}

/** @return the little-endian word at @p value. */
static inline uint64_t hg_word_at(const uint8_t *value)
{
	uint64_t word;

	memcpy(&word, value, 8);
	return word;
}

/** @return what the word @p value read at @p addr is derived from; 0: nothing. */
uint32_t hg_derive_recall(struct hg_derive *d, uint64_t addr, uint64_t value);

/** The word @p value, derived from @p from, is stored at @p addr. */
void hg_derive_remember(struct hg_derive *d, uint64_t addr, uint64_t value,
			uint32_t from);

/** What the instruction of @p s (whose references are not looked at) defined: memory of @p size
 * bytes at @p addr; general register @p reg, of which d->regs still has the value before; vector
 * register @p v. */
void hg_derive_define_mem(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, uint64_t addr, uint32_t size,
			  const uint8_t *value);
void hg_derive_define_gpr(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, int reg, uint64_t value);
void hg_derive_define_vec(struct hg_derive *d, const struct dec_step *s,
			  const struct hg_sources *so, int v, const uint8_t value[64]);

#endif
