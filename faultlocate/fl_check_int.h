// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to fl_check.c, which asks at the points of a run, and fl_check_end.c, which asks at its end.
 */
#ifndef FAULTLOCATE_FL_CHECK_INT_H
#define FAULTLOCATE_FL_CHECK_INT_H

#include "base/arena.h"
#include "faultlocate/fl_check.h"

#define FL_CHECK_LOOKS 8

struct fl_check {
	struct spec *rules;
	bool *is_on;	  ///< by rule
	bool is_built_in; ///< all of them are, and mean no function of the program's
	struct arena arena;
	VEC(const char *) functions; ///< that rules name; the first is main
	VEC(const char *) of_rule;   ///< by rule: its function, as the program calls it
	struct hg_judge judge;
	const struct hg_graph *graph;
	struct hg_finder *finder;
	bool is_from_start; ///< all allocations were seen
	bool has_main_returned;
	int64_t result;			     ///< of the system call that is asked about
	struct map closed;		     ///< descriptors that were closed -> 1
	VEC(struct spec_bug_value) pointers; ///< P
	uint8_t *
		reached; ///< at the end, by block: 1 a pointer leads to it, 2 a lost block alone
	VEC(uint64_t) left_words; ///< fl_check_left_word()
	struct map wide_blocks;	  ///< fl_check_wide_block(): where it begins -> bytes
	VEC(struct fl_error) errors;
	struct map seen; ///< hash of rule, statement and callers -> index + 1
	uint64_t n_unknown, n_childs;
	struct fl_error fault; ///< the access that ended the run, if has_fault
	uint64_t fault_bytes;
	bool has_fault;
	fl_races races;
	bool *is_named;		       ///< by rule: it alone, or with others
	uint64_t look[FL_CHECK_LOOKS]; ///< loads that look through the stack
	size_t n_looks;
	bool has_right_values;			  ///< fl_check_values_are_right()
	uint64_t values_doubted_at, values_until; ///< 0: no such
	bool has_left_variables, has_left_values; ///< rules about them were left out
	struct map lines; ///< hash of a source line -> the statement that stands for it
	bool has_threads; ///< and was asked about them
};

/** @p x was found: it is added, or counted where it was found before. @return ERR_NOMEM. */
struct err *fl_check_add(struct fl_check *c, struct frames *frames,
			 const struct fl_error *x);

/** Rule @p i, about what is there at @p time, was found to hold for @p block (whose bid may be 0): that is told
 * where it was allocated. @return ERR_NOMEM. */
struct err *fl_check_add_block(struct fl_check *c, struct frames *frames, size_t i,
			       uint64_t time, const struct spec_bug_value *block);

int fl_check_access(void *ctx, const struct hg_judged *x);
struct err *fl_check_point(void *ctx, struct frames *frames, const struct hg_point *p);

/** @return whether rule @p i asks which bytes have a value. */
bool fl_check_is_about_values(const struct fl_check *c, size_t i);

/** @return whether rule @p i is asked by fl_check_bytes.c alone. */
bool fl_check_is_about_bytes(const struct fl_check *c, size_t i);

/** Fill c->pointers with those that memory and registers hold now. @return ERR_NOMEM. */
struct err *fl_check_list_pointers(struct fl_check *c);

/** @return whether @p name is one of @p list: "read|write". */
bool fl_check_names(const char *list, const char *name);

/** What overwrote a return address, or the guard in front of one, is an access behind the end of a variable; if nobody
 * told of that statement before. */
struct err *fl_check_smash(struct fl_check *c, struct dec_symbols *symbols,
			   const struct fl_end *end);

#endif
