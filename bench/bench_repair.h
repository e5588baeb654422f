// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The suite `repair': a program of bench/repair/ whose function gets faults, and somebody who draws
 * what it should do (paper 004, section 7.1). Private to the suite.
 */
#ifndef BENCH_BENCH_REPAIR_H
#define BENCH_BENCH_REPAIR_H

#include "faultlocate/repair/record.h"
#include "faultlocate/repair/repair.h"

enum { REPAIR_TESTS = 100, REPAIR_INPUTS = 16, REPAIR_FAULTS = 4 };

/** So many expressions changed, so many statements deleted. */
struct repair_class {
	const char *name;
	int changed, deleted;
};

struct repair_subject {
	const char *id, *title, *file, *function;
	struct rp_program *p;
	int number, test; ///< of the function, and of the one that calls it
	int64_t inputs[REPAIR_TESTS][REPAIR_INPUTS];
	uint64_t
		right[REPAIR_TESTS]; ///< what the program leaves of each, without a fault
	uint64_t random;
	unsigned most_covered;
	bool *is_used; ///< functions that the test calls, and it
};

/** How much one looks at, the most suspicious first, until faults are found: shares. */
struct repair_rank {
	double first, all; ///< of the expressions that were changed
};

/** One version with faults, and what came of it. */
struct repair_version {
	struct rp_op was[REPAIR_FAULTS];
	int ops[REPAIR_FAULTS];
	int n_faults, n_changed;
	struct rp_recorder rec; ///< the drawing
	bool is_repaired, is_located;
	bool is_sole;	  ///< no other patch as near does what was drawn
	unsigned n_right; ///< tests that the patched program does as the right one
	double cpu_s;
	unsigned widenings, suspects, n_ops;
	struct repair_rank ranked;     ///< by the localisation; share of the program
	double of_function;	       ///< ranked.first as a share of the function
	struct repair_rank spectra[2]; ///< by Tarantula and Ochiai
	bool has_failing_test;	       ///< else these know nothing
	char why[240];
};

/** Read a subject, its random tests and what it does right. */
struct err *bench_repair_subject_init(struct repair_subject *s, const char *dir);
void bench_repair_subject_deinit(struct repair_subject *s);

/** A random number below @p n. */
unsigned bench_repair_draw(struct repair_subject *s, unsigned n);

/** What the program leaves of test @p i: reachable nodes and globals. 0: it crashes, or does not end.
 * @p covered: NULL, or one an operation, set where it was executed. */
uint64_t bench_repair_run(struct repair_subject *s, size_t i, bool *covered,
			  struct rp_recorder *rec);

/** Put faults of @p c into the program; each alone is seen in the drawing.
 * @return whether there are such. */
bool bench_repair_break(struct repair_subject *s, const struct repair_class *c,
			struct repair_version *v);
/** Draw one more run. @return whether there is one. */
bool bench_repair_draw_more(struct repair_subject *s, struct repair_version *v);
/** The program as it was; @p v is no more. */
void bench_repair_mend(struct repair_subject *s, struct repair_version *v);

/** Ask for the repair of what is broken. @p is_everywhere: without localisation. */
struct err *bench_repair_ask(struct repair_subject *s, struct repair_version *v,
			     bool is_everywhere, double most_s);
/** Rank what is broken by its tests. */
struct err *bench_repair_rank(struct repair_subject *s, struct repair_version *v);

#endif
