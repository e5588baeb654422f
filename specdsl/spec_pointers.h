// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to specdsl/: where the pointers of a declared type are. A slot is a pointer's number
 * in a node, from 0.
 */
#ifndef SPECDSL_SPEC_POINTERS_H
#define SPECDSL_SPEC_POINTERS_H

#include "specdsl/specdsl.h"

#define POINTER_BYTES 8

/** Offsets of those that are there once, and within the first of the elements that follow. */
struct pointers {
	uint32_t *offsets;
	uint32_t n_offsets, n_once;
	uint64_t element_bytes; ///< 0: there are no elements
	uint64_t first_element; ///< its offset
};

/** Those of @p t, whose layout is known or never will be. @return NULL or ERR_NOMEM. */
struct err *spec_pointers_make(const struct spec_type *t, struct pointers *ret);
void spec_pointers_deinit(struct pointers *p);

/** @return how many of them a node of @p bytes has. */
uint64_t spec_pointers_count(const struct pointers *p, uint64_t bytes);

/** @return where slot @p slot is in its node, bytes. */
uint64_t spec_pointers_offset(const struct pointers *p, uint64_t slot);

/** The slots from *@p first up to *@p end may touch the @p size bytes at @p offset of a node;
 * the others do not. Some may be beyond its last. */
void spec_pointers_range(const struct pointers *p, uint64_t offset, uint32_t size,
			 uint64_t *first, uint64_t *end);

#endif
