// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the suite `graph`: the programs of paper 001's tables 3.1 to 3.4, with inputs
 * that are generated, at least as large as the paper's as far as it says, and a second time
 * such that they are as much work as the paper's.
 */
#ifndef BENCH_BENCH_GRAPH_WORK_H
#define BENCH_BENCH_GRAPH_WORK_H

#include "bench/bench_graph.h"

/** What the paper has of a program: tables 3.3 and 3.4. */
struct graph_published {
	double mb[2];	    ///< of MG++, without and with the allocator's internals
	double snapshot_mb; ///< of the snapshot approach
	double original_s;  ///< running it
	double traced_s[2]; ///< running it instrumented, without and with the internals
};

/** A program and its input: either as the paper names it, or of as much work as the paper's, by
 * the measure that the paper has: the snapshot approach's size (table 3.4), nodes times
 * changes. Whether a graph is smaller than the paper's is judged at equal work. */
struct graph_work {
	const char *name;
	const char *input; ///< one line about it
	unsigned
		ways; ///< at equal work: a bit for each enum graph_way measured; else 0: all
	const char *env, *value; ///< a variable of the environment; NULL: none
	bool is_own;		 ///< built with our tests, not Debian's
	const char *argv[BENCH_ARGS_MAX + 1];
	int status; ///< with which it ends well
	const struct graph_published *published;
	const char *missing; ///< why it cannot run; NULL: it can
};

#define GRAPH_WORKS 19

/** Make the inputs in the scratch directory. Strings live in the bench's arena. */
struct err *bench_graph_works_make(struct bench *b, struct graph_work ret[GRAPH_WORKS]);

/** Write a grammar of the C language for bison to @p path. */
struct err *bench_graph_grammar_write(const char *path);

/** Write a grammar of expressions, @p n_levels of binding strength, for bison to @p path. */
struct err *bench_graph_levels_write(const char *path, int n_levels);

#endif
