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
	bool has_record, has_replay, has_peers, has_corpus, is_quick;
	int rounds;
	const char *json, *corpus;
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

/** What recording costs, start-up apart. */
struct err *bench_suite_record(struct bench *b);

/** What replaying costs, in each log mode. */
struct err *bench_suite_replay(struct bench *b);

/** What recording costs on the compute-bound half of the corpus. */
struct err *bench_suite_corpus(struct bench *b);

/** Other tools on the same work in the same rounds, where they are installed. */
struct err *bench_suite_peers(struct bench *b);

#endif
