// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Muted pages: a block that stores into these alone leaves no record in a log of
 * DEC_LOG_STORES, if it has no other reason to; its instructions are counted, as those of blocks
 * without stores are. Who mutes a page does without what is stored there, until it is unmuted and
 * its contents are told at once.
 *
 * An entry of ctx->muted belongs to one of the pages whose numbers have the same low 16 bits:
 * 0 less the rest of its number, less 1. 0: none of them is muted. So emitted code has the sum
 * of entry, rest and 1, which is 0 for a muted page alone, and looks at no flag (BMI2).
 *
 * A page is told from a store's first byte: up to 63 more may lie in the next one.
 */
#ifndef DECODE_TRANSLATOR_MUTE_H
#define DECODE_TRANSLATOR_MUTE_H

#include "decode/translator/engine.h"

struct translation;

/** Pages may be muted from here on, in a log of DEC_LOG_STORES: the code cache is dropped. @return
 * false: this processor cannot. */
bool dec_mute_begin(struct dec_engine *e);

/** Mute page @p page (address >> 12). @return whether it is muted now: another one may have its
 * entry. */
bool dec_mute_page(struct dec_engine *e, uint64_t page);

/** Its stores are logged again. */
void dec_mute_end(struct dec_engine *e, uint64_t page);

/** @return whether it is muted. */
bool dec_mute_is_muted(const struct dec_engine *e, uint64_t page);

/** The block at @p rip is the entry of a function that frees or writes what its first argument points
 * to: the world hears of it (dec_world.unmute) before it runs, where that is in a muted page or
 * 4095 bytes on is. Registers are logged there already. */
void dec_mute_set_release(struct dec_engine *e, uint64_t rip);

/** The guest is about to execute rip, by itself: is it such an entry? */
void dec_mute_step(struct dec_engine *e);

/* ---- for the translator ---------------------------------------------------------------- */

/** Shall the block be left out where it can be? Then t->is_mutable is set. Its instructions are known. */
void dec_translation_mute_plan(struct translation *t);

/** Memory operand @p m of the block's is stored to: its registers lie in the record. */
void dec_translation_mute_store(struct translation *t, const struct dec_mem *m);

/** Emit what leaves for dec_world.unmute, before the block's first instruction. */
void dec_translation_mute_release(struct translation *t);

/** Emit, for a record that is complete, the log pointer's way behind it, or the count instead. */
void dec_translation_mute_advance(struct translation *t);

#endif
