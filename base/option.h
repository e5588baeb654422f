// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the commands' option parsers share, so that the same mistake gets the same words
 * everywhere. A mistake ends the program through argp_error(): only commands use these.
 */
#ifndef BASE_OPTION_H
#define BASE_OPTION_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/** @return @p arg as a decimal (or 0x, or 0...) number from @p min to @p max. @p what names
 * it in the message ("--nodes", "a thread id"). */
uint64_t option_number(struct argp_state *state, const char *what, const char *arg,
		       uint64_t min, uint64_t max);

/** @return @p arg as a number of bytes from @p min to @p max, a suffix K, M or G allowed. */
uint64_t option_bytes(struct argp_state *state, const char *what, const char *arg,
		      uint64_t min, uint64_t max);

/** @return @p arg as a number of seconds, greater than 0. */
double option_seconds(struct argp_state *state, const char *arg);

/** @return @p arg as a thread id. */
uint32_t option_tid(struct argp_state *state, const char *arg);

/** Standard output takes one result: a mistake when more than one of the @p n files @p paths is "-",
 * or one is though results are printed as JSON (@p prints_json).
 * @return where is printed what else there is to tell: stdout, or stderr when one of them is. */
FILE *option_talk(struct argp_state *state, const char *const *paths, size_t n,
		  bool prints_json);

/** What is left to the parser of a command that takes one argument: @p key and @p arg as argp
 * gave them. The argument comes into @p slot, NULL before; @p what it is ("capture"). @return
 * as a parser does. */
error_t option_only(struct argp_state *state, int key, char *arg, const char *what,
		    const char **slot);

#endif
