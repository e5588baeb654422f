// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of a suite's job arrays share: suite_slurm.c submits and waits, suite_nodes.c knows which
 * nodes do, suite_part.c is a piece.
 */
#ifndef CMD_SUITE_ARRAY_H
#define CMD_SUITE_ARRAY_H

#include <signal.h>

#include "cmd/suite_int.h"

#define SUITE_KINDS_MOST \
	256 ///< sets of instruction sets; the last has what more would need, too

/** A node's name behind it: a file of DIR/slurm that says what that node lacks. */
#define SUITE_UNFIT "unfit."

struct suite_array {
	struct suite_run *r;
	const char *options;
	char *const *argv;
	char *dir;	  ///< DIR/slurm
	bool *is_pending; ///< of each test
	size_t n_pending, n_all;
	cap_isa kinds
		[SUITE_KINDS_MOST]; ///< instruction sets that some test needs; n_kinds
	size_t n_kinds;
	uint8_t *kind; ///< of each test, which of them; NULL: none needs any
	uint8_t round; ///< of those in the last array
	unsigned long job;
	double begun_s;
	bool is_told_silent;
	sigset_t watched;
};

/** Find out which instruction sets the pending tests need. @return ERR_NOMEM. */
struct err *cmd_suite_array_find_needs(struct suite_array *a);

/** Who needs what the first needs that waits is of this round; the others wait for another array. @return how
 * many are. */
size_t cmd_suite_array_choose_round(struct suite_array *a);

/** Is test @p i of this round? */
bool cmd_suite_array_is_in_round(const struct suite_array *a, size_t i);

/** How many nodes are known not to do. */
size_t cmd_suite_array_count_unfit(const struct suite_array *a);

/** Words for sbatch, for free(); NULL: none. @p where: the features that nodes must have, of those that the
 * administrator named; @p out: the nodes that are known not to do. @return ERR_NOMEM. */
struct err *cmd_suite_array_find_places(const struct suite_array *a, char **where,
					char **out);

/** Slurm has no node for tests of this round. @return @p err, what Slurm says, with that before it. */
struct err *cmd_suite_array_no_node(const struct suite_array *a, struct err *err);

/** In a piece: of the tests that are @p wanted those that this machine cannot do are left to others, and the
 * machine's name to who waits. @return what err_errno() says. */
struct err *cmd_suite_array_leave_unfit(const struct suite_run *r, bool *wanted);

/** What the last array is about: of its @p ret_n tests those of piece @p k of @p n_parts are set in @p ret, which
 * has one for each test of the suite. @return what err_errno() says. */
struct err *cmd_suite_array_read_pending(const struct suite_run *r, size_t k,
					 size_t n_parts, bool *ret, size_t *ret_n);

#endif
