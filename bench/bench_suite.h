// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * One run of `faultline bench`: its options, what it measures on, and the suites, each of
 * which adds rows and series to the results. Nobody but the emitters prints results.
 */
#ifndef BENCH_BENCH_SUITE_H
#define BENCH_BENCH_SUITE_H

#include <stdio.h>

#include "bench/bench.h"
#include "bench/bench_result.h"

#define BENCH_SCALES_MAX 16
#define BENCH_SEEDS_MAX 64

/** The files that results go into, too. */
enum bench_file { BENCH_FILE_JSON, BENCH_FILE_HTML, BENCH_FILE_MARKDOWN, BENCH_FILES };

struct bench_options {
	uint32_t suites; ///< bit i: the i-th of bench_suites.c's table
	bool is_quick;
	int rounds;
	double scale
		[BENCH_SCALES_MAX]; ///< factors at which growth is measured, ascending
	size_t n_scales;
	int first_seed, n_seeds; ///< of the suite locate; 0: 1, and as many as it has
	const char *corpus, *specs, *cache;
	const char *outputs[BENCH_FILES]; ///< NULL: there is none
	const char *from;		  ///< results to show instead of measuring
	bool is_comparing;
	const char *compared[2]; ///< old, new
};

/** One run of the command. */
struct bench {
	struct bench_options o;
	struct arena arena;
	char exe[4096], scratch[4096], capture[4200];
	struct bench_work works[BENCH_WORKS];
	size_t n_works;
	const char *suite; ///< the name of the one that runs
	void (*progress)(const char *suite, const char *work); ///< NULL: nobody looks
	double startup_s; ///< what recording adds to /bin/true; 0 before it is known
	FILE *talk;	  ///< for the tables: stdout, if no file goes there
	struct bench_results results;
};

/** @return a bit for each suite of that name ("all": all but corpus; NULL: those that run
 * when none is named); 0 when there is none. */
uint32_t bench_suites_named(const char *name);

/** @return the name of the suite of bit @p i; NULL: there is none. */
const char *bench_suites_name(size_t i);

/** Print the table of suites. */
void bench_suites_list(FILE *out);

/** Run the suites of the options into the results, printing each; b->scratch is the
 * caller's to remove. @p argv: the command line, for the header. */
struct err *bench_suites_run(struct bench *b, int argc, char **argv);

/**
 * Time @p n commands on @p work and add a row "time" for each, skipped ones too.
 *
 * @param times  n of them, for what else follows from them; bench_times_deinit_all().
 */
struct err *bench_measure(struct bench *b, const char *work,
			  const struct bench_command *c, size_t n, int rounds,
			  struct bench_times *times);

/** Add @p row, of one value, and tell on stderr at once what it is: for suites that take hours. */
struct err *bench_row_show(struct bench *b, const struct bench_row *row, double value);

/** The same of a row of @p n runs, its median and range. */
struct err *bench_row_show_runs(struct bench *b, const struct bench_row *row,
				const double *runs, size_t n);

/** Add a row "user time": what other work has of the processors hardly changes it. @p limit:
 * wanted ratio, or 0. */
struct err *bench_measure_user(struct bench *b, const char *work,
			       const struct bench_command *c, const struct bench_times *t,
			       double limit);

/** Add a row "time less start-up", compared with native's "time", where start-up is known
 * and @p t has times. @p limit: wanted ratio, or 0. */
struct err *bench_measure_net(struct bench *b, const char *work,
			      const struct bench_command *c, const struct bench_times *t,
			      double limit);

/** Add a row "speed", @p count of @p unit ("instr/s") in each run. */
struct err *bench_measure_speed(struct bench *b, const char *work,
				const struct bench_command *c,
				const struct bench_times *t, double count,
				const char *unit);

/** Call @p fn for each work that is replayed, until it fails. @return its error. */
struct err *bench_each_replayed(struct bench *b,
				struct err *(*fn)(struct bench *b,
						  const struct bench_work *w));

/** @return the sum of @p of over all processes below @p pid, which is not one of them. */
double bench_sum_below(int pid, double (*of)(int pid));

/** @return the bytes that process @p pid holds: its share of what it shares. */
double bench_held_by(int pid);

/** Measure start-up (once) on /bin/true. */
struct err *bench_measure_startup(struct bench *b);

/** The work as it is. */
struct bench_command bench_command_native(const struct bench_work *w);

/** The work's program behind @p prefix, a NULL-terminated list. */
struct bench_command bench_command_prefixed(const char *name, const char *const *prefix,
					    const struct bench_work *w);

/** The work recorded, into b->capture. */
struct bench_command bench_command_record(struct bench *b, const struct bench_work *w);

/** Record @p w into b->capture and replay that once. @p instructions: how many it has.
 * @return ERR_OS when either fails. */
struct err *bench_capture_work(struct bench *b, const struct bench_work *w,
			       double *instructions);

/** The suite replay's rows of the machine with checkpoints, on a capture of @p work. */
struct err *bench_replay_checkpoints(struct bench *b, const char *work,
				     const char *capture, double instructions);

/** What recording costs, beside other tools on the same work. */
struct err *bench_suite_record(struct bench *b);

/** What replaying costs, in each log mode. */
struct err *bench_suite_replay(struct bench *b);

/** The cost of an analysis, as a multiple of the plain replay. */
struct err *bench_suite_analyze(struct bench *b);

/** The cost of bug rules, beside memcheck. */
struct err *bench_suite_check(struct bench *b);

/** What recording costs on the compute-bound half of the corpus. */
struct err *bench_suite_corpus(struct bench *b);

/** How costs grow with the work, and what one of it costs. */
struct err *bench_suite_growth(struct bench *b);

/** How long it takes to ask of a history whether its operations were one by one. */
struct err *bench_suite_linear(struct bench *b);

/** What a server under load notices of being attached to. */
struct err *bench_suite_attach(struct bench *b);

/** How well faults in the structures of specs/ are located, and how fast; beside the
 * figures that paper 001 published (tables 2.2, 4.1, 4.2). */
struct err *bench_suite_locate(struct bench *b);

/** What a memory graph takes, in memory and in time, and how it grows; beside the figures
 * that paper 001 published (tables 3.3, 3.4). */
struct err *bench_suite_graph(struct bench *b);

/** How well faults in programs of Debian are located, built from source here; beside tables
 * 4.3 and 4.4 of paper 001. Without network its rows are skipped. */
struct err *bench_suite_real(struct bench *b);

/** How many faults are repaired from drawings, how fast, and how much is suspected (paper 004,
 * section 7.1). */
struct err *bench_suite_repair(struct bench *b);

/** What `record -e stores` costs, and a probe at each store instead. */
struct err *bench_suite_stores(struct bench *b);

/** What somebody who looks at a page of `report --serve` waits for. */
struct err *bench_suite_serve(struct bench *b);

/** What somebody who debugs a capture waits for. */
struct err *bench_suite_debug(struct bench *b);

/** What runs that leave the recorded path cost, going back to a write, and checkpoints. */
struct err *bench_suite_branch(struct bench *b);

/** What execution suppression costs, in its three implementations. */
struct err *bench_suite_suppress(struct bench *b);

/** How near to the head of its list the statement of a seeded fault is, and what would be suggested
 * there; beside paper 003. */
struct err *bench_suite_rank(struct bench *b);

/** What slices cost, how large they are, what refinements of them are worth. */
struct err *bench_suite_slice(struct bench *b);

/** How fast Intel PT is decoded, beside libipt's block decoder in a loop of its own and
 * `perf script`: packets of the replayed works. */
struct err *bench_suite_decode(struct bench *b);

#endif
