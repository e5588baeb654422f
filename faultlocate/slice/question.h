// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a user asks a slice of, in words, as seeds: a line, a function, a position, the crash.
 */
#ifndef FAULTLOCATE_SLICE_QUESTION_H
#define FAULTLOCATE_SLICE_QUESTION_H

#include "decode/symbols/symbols.h"
#include "faultlocate/slice/slice.h"

typedef VEC(struct fl_seed) fl_seeds;

/** How a question was understood. */
struct fl_question {
	uint64_t position; ///< of its instance
	uint64_t instance,
		instances; ///< which one of how many there are, from 1; 0: not counted
	uint64_t rip;
	uint32_t tid;
};

/** @return the position that @p at is; 0: it is something else. */
uint64_t fl_question_position(const char *at);

/**
 * Add the seeds of @p at to @p seeds, as slice @p slice.
 *
 * @param at    `FILE:LINE`, `FUNC`, both with `#N` for the Nth time it was executed (the last one
 *		without); `crash`: the instruction at which a signal ended the program; a number:
 *		the instruction at that position.
 * @param vars  @p n_vars of what is asked about there: variables that are used or assigned there,
 *		registers, `*ADDRESS` or `*ADDRESS,BYTES`. None: all that is used.
 * @return ERR_USAGE (it cannot be understood; says what there is), ERR_NOT_FOUND (no such line or
 *	   function, or it never ran), or an error of the replay.
 */
struct err *fl_question_ask(struct fl_trace *t, struct dec_symbols *symbols,
			    const char *at, const char *const *vars, size_t n_vars,
			    unsigned slice, fl_seeds *seeds, struct fl_question *ret);

typedef VEC(struct fl_prune) fl_prunes;

/** Add to @p prunes what @p what means: a register, a function, `0xA..0xB`, `@N`, or a global
 * variable. @return ERR_USAGE: nothing has that name. */
struct err *fl_question_prune(struct dec_symbols *symbols, const char *what,
			      fl_prunes *prunes);

/**
 * A question in a debugger's words, with blanks between: crash, i:POSITION (what an instruction
 * used), r:POSITION:REGISTER:BYTES, m:POSITION:ADDR:BYTES before it; not followed: R:REGISTER,
 * M:FROM:TO, C:FROM:TO (code), S:FROM:TO (what that stores is an input); b:POSITION: back to there.
 *
 * @param begin  fl_slice_options.begin; unchanged, unless the words say so.
 * @return ERR_USAGE, or an error of the replay.
 */
struct err *fl_question_words(struct fl_trace *t, const char *words, fl_seeds *seeds,
			      fl_prunes *prunes, uint64_t *begin);

/** Have what the dynamic linker's code fills in count as an input. */
struct err *fl_question_cut_linker(struct fl_trace *t, struct dec_symbols *symbols,
				   fl_prunes *prunes);

#endif
