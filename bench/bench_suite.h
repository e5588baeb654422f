// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One run of `faultline bench`: its options, what it measures on, and the suites, each of
 * which prints its rows and adds them to the results.
 */
#ifndef BENCH_BENCH_SUITE_H
#define BENCH_BENCH_SUITE_H

#include <cjson/cJSON.h>

#include "bench/bench.h"

struct bench_options {
	uint32_t suites; ///< bit i: the i-th of cmd_bench.c's table
	bool is_quick;
	int rounds;
	const char *json, *corpus, *specs;
};

/** One run of the command. */
struct bench {
	struct bench_options o;
	struct arena arena;
	char exe[4096], scratch[4096], capture[4200];
	struct bench_work works[BENCH_WORKS];
	size_t n_works;
	double startup_s; ///< what recording adds to /bin/true; 0 before it is known
	cJSON *rows;	  ///< array, one object per command and workload
	bool has_failure;
};

/** Time @p n commands, the first of them native, and print a row for each. */
struct err *bench_measure(struct bench *b, const char *suite, const char *work,
			  const struct bench_command *c, size_t n, int rounds,
			  struct bench_times *times);

/** Print and add the row of @p c, which took @p t; @p native: what it is compared with. */
void bench_row(struct bench *b, const char *suite, const char *work,
	       const struct bench_command *c, const struct bench_times *t,
	       const struct bench_times *native);

/** What recording costs, start-up apart. */
struct err *bench_suite_record(struct bench *b);

/** What replaying costs, in each log mode. */
struct err *bench_suite_replay(struct bench *b);

/** What recording costs on the compute-bound half of the corpus. */
struct err *bench_suite_corpus(struct bench *b);

/** What a server under load notices of being attached to. */
struct err *bench_suite_attach(struct bench *b);

/** How well faults in the structures of specs/ are located, and how fast; beside the
 * figures that paper 001 published (tables 2.2, 4.1, 4.2). */
struct err *bench_suite_locate(struct bench *b);

/** What `record -e stores` costs, and a probe at each store instead. */
struct err *bench_suite_stores(struct bench *b);

/** How fast Intel PT is decoded, beside libipt's block decoder in a loop of its own and
 * `perf script`: packets of the replayed works. */
struct err *bench_suite_decode(struct bench *b);

/** Other tools on the same work in the same rounds, where they are installed. */
struct err *bench_suite_peers(struct bench *b);

#endif
