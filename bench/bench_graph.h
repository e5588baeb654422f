// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Private to the suite `graph`: what a memory graph (MG++, paper 001 chapter 3) of a
 * program takes, in memory and in time.
 */
#ifndef BENCH_BENCH_GRAPH_H
#define BENCH_BENCH_GRAPH_H

#include "bench/bench_suite.h"

#define GRAPH_LIMIT_S 300 ///< for replaying and building, in one way

enum graph_way {
	GRAPH_APP,	 ///< the program's allocations
	GRAPH_ALLOCATOR, ///< and glibc's free chunks
	GRAPH_INFERRED,	 ///< found without allocator knowledge (paper 001, Algorithm 2)
	GRAPH_WAYS
};

/** What building the graph of a capture gave, and cost. */
struct graph_built {
	uint64_t changes; ///< operations of the graph: nodes made, nodes ended, stores
	uint64_t nodes;	  ///< all that ever lived
	uint64_t bytes;	  ///< memory of the whole graph, indices and all
	uint64_t events;  ///< looked at to build it: also stores that met no node
	/** What the approach takes that stores the graph at each change: 8 bytes for each
	 * node that then lives (paper 001, section 3.3.1). The paper has an average of nodes
	 * times the changes; this is the sum itself. */
	double snapshot_bytes;
	uint64_t instructions;
	double infer_s;	     ///< finding nodes, with a replay of its own
	double build_s;	     ///< processor time spent building, replay apart
	double wall_s;	     ///< finding nodes, replay and building
	uint64_t peak_bytes; ///< resident, of the process that did both
	char failure[256];   ///< empty: there is none
	bool is_late;	     ///< the failure is that of taking more than GRAPH_LIMIT_S
};

/** Replay the capture in @p dir in a process of its own and build its graph.
 * @return NULL, or ERR_OS when there is no such process; what failed in it is told in
 * @p ret. */
struct err *bench_graph_build(const char *dir, enum graph_way way,
			      struct graph_built *ret);

/** How time and memory grow with the changes of a program (series, and rows of the
 * largest). */
struct err *bench_graph_growth(struct bench *b);

#endif
