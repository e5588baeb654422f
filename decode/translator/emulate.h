// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Instructions in which C has a part although nothing is logged, because the machine's
 * surroundings show through them:
 *
 *   gs-relative operands	gs is the machine's own. The copy says fs, and fs holds the
 *				guest's gs base while it runs.
 *   rdgsbase, wrgsbase		the guest's base is a value in the context.
 *   rdpkru, wrpkru		likewise: what the guest forbids itself would be forbidden
 *				to the machine too. Keys are not enforced.
 *   fnstenv, fxsave, ...	the image holds the address of the last x87 instruction,
 *				which is one in the code cache: it becomes the guest's.
 */
#ifndef DECODE_TRANSLATOR_EMULATE_H
#define DECODE_TRANSLATOR_EMULATE_H

#include "decode/translator/engine.h"

/** What Linux gives a new program: access by key 0 only. */
#define DEC_PKRU_INIT 0x55555554u

/** Enter the guest at @p block, ctx->entry being its code. */
void dec_engine_go(struct dec_engine *e, const struct engine_block *block);

/** Do @p insn (is_emulated), which is at rip. */
enum dec_verdict dec_engine_emulate(struct dec_engine *e, const struct dec_insn *insn);

/** The guest's x87 state names the guest's instruction, not the code cache's. */
void dec_engine_settle_x87(const struct dec_engine *e);

/** Why @p insn (DEC_FLOW_FORBIDDEN) cannot be replayed; a static buffer. */
const char *dec_engine_forbidden_text(const struct dec_insn *insn);

/** A processor that has no lzcnt executes bsr in its place, for tzcnt bsf, and does not trap.
 *
 * @return whether @p insn is one of these, this CPU lacks it and the recording one did not. */
bool dec_engine_lacks(const struct dec_engine *e, const struct dec_insn *insn);

/** Make @p insn what it was for the recording CPU, if that lacked it and this one does not:
 * bsr or bsf, of the same length. */
void dec_engine_reduce(const struct dec_engine *e, struct dec_insn *insn);

/** @p insn is one that this CPU lacks; a static buffer. */
const char *dec_engine_lacking_text(const struct dec_insn *insn);

#endif
