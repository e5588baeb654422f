// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Files that the guest maps more than once. A mapping of its own is private memory here,
 * filled from the capture. When the same part of a file is mapped again, and one of the mappings is
 * shared, what is written through one must be seen through the others: they all become
 * mappings of one memory file, each with the kernel's own semantics.
 *
 * A fork of the machine's process (a checkpoint) gets a memory file of its own: see
 * dec_alias_fork().
 */
#ifndef DECODE_MACHINE_ALIAS_H
#define DECODE_MACHINE_ALIAS_H

#include "decode/machine/guest.h"

/** The guest mapped [start, end), and its contents are in place: @p offset of the file of
 * identity @p key (0 = nobody else can map it). */
struct err *dec_alias_add(struct dec_guest *g, uint64_t key, uint64_t offset,
			  uint64_t start, uint64_t end, bool is_shared);

/** The guest unmaps [start, end), or maps something else there. */
struct err *dec_alias_cut(struct dec_guest *g, uint64_t start, uint64_t end);

/** The guest moved [from, from + size) to @p to; the old place is cut next. */
struct err *dec_alias_move(struct dec_guest *g, uint64_t from, uint64_t size,
			   uint64_t to);

/** A mapping that ended at @p end has @p size more bytes. */
struct err *dec_alias_grow(struct dec_guest *g, uint64_t end, uint64_t size);

/** What is mapped shared in [from, from + size) is mapped at @p to as well, where its contents
 * are in place. */
struct err *dec_alias_again(struct dec_guest *g, uint64_t from, uint64_t size,
			    uint64_t to);

/** @return how many bytes from @p addr on are mapped shared elsewhere, too. */
uint64_t dec_alias_elsewhere(const struct dec_guest *g, uint64_t addr);

/** @return whether the mapping at @p addr is shared. */
bool dec_alias_is_shared(const struct dec_guest *g, uint64_t addr);

/** @return the end of the mapping that starts at @p start; 0 = there is none. */
uint64_t dec_alias_end(const struct dec_guest *g, uint64_t start);

/** Call @p fn with each other page (address >> 12) that is the same memory as @p page. */
void dec_alias_each(struct dec_guest *g, uint64_t page,
		    void (*fn)(struct dec_guest *g, uint64_t page));

/** This process is a fork: give it memory files of its own. The other one must not run
 * meanwhile. */
struct err *dec_alias_fork(struct dec_guest *g);

#endif
