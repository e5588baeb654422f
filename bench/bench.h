// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What it costs. Commands are timed by wall clock, interleaved (A B A B), after one round
 * that does not count, so that a busy spell of the machine hits all alike.
 *
 * Invariants:
 *  1. A command that fails, or prints something else than it does natively, has no time.
 *  2. Every ratio is between medians of the same rounds.
 *
 * Not shared between threads.
 */
#ifndef BENCH_BENCH_H
#define BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <cjson/cJSON.h>

#include "base/base.h"
#include "bench/bench_result.h"

#define BENCH_ARGS_MAX 32
#define BENCH_COMMANDS_MAX 16
#define BENCH_ROUNDS_MAX 31

/** What a command must print on stdout. */
enum bench_output {
	BENCH_OUTPUT_ANY,
	BENCH_OUTPUT_SAME,     ///< what the first command does
	BENCH_OUTPUT_INCLUDES, ///< that, among words of its own
};

/** A command to time. */
struct bench_command {
	const char *name;		      ///< "native", "record", "replay"...
	const char *argv[BENCH_ARGS_MAX + 1]; ///< NULL-terminated; borrowed
	/** Instead of argv: a function of ours that is timed. @return why it failed. */
	struct err *(*call)(void *ctx);
	void *call_ctx;
	const char *fresh_dir; ///< removed before each run; NULL: nothing
	enum bench_output output;
	double time_limit_s; ///< it is ended then, and has no time; 0: none
	double limit;	     ///< wanted ratio to the first command; 0: none
	int status;	     ///< the exit status with which it ends well
	double published;    ///< seconds, what a paper says; 0: nothing
	const char *published_source;
	enum bench_role role; ///< the failure of a peer is no failure of ours
	const char *note;     ///< for the reader of its row
	const char *skipped;  ///< why it is not run; NULL: it is
	/** Runs beside the command, from when its output, in beside_log, has the text
	 * beside_ready; SIGINT ends it. Not part of the time. NULL: nothing. */
	const char *const *beside;
	const char *beside_log, *beside_ready;
};

/** Times of one command, seconds. */
struct bench_times {
	double run_s[BENCH_ROUNDS_MAX];
	double user_s
		[BENCH_ROUNDS_MAX]; ///< in user mode, of all its processes; 0: of a call
	int n_runs;
	double median_s;
	char *failure; ///< why there are none; NULL when there are
};

/**
 * Time @p n commands, one round to warm up and then @p rounds rounds of each in turn.
 *
 * @param scratch  A directory for their output.
 * @param ret      One per command; bench_times_deinit_all() them. A command that fails is
 *		   left out of the remaining rounds.
 * @return NULL, or ERR_OS when commands cannot be started at all.
 */
struct err *bench_time(const struct bench_command *commands, size_t n, int rounds,
		       const char *scratch, struct bench_times *ret);
void bench_times_deinit_all(struct bench_times *t, size_t n);

/** Run @p argv once. stdout goes to file @p output (NULL: nowhere), stderr to the file
 * @p errors. @p wall_s and @p status (as of waitpid) are set. @return NULL or ERR_OS. */
struct err *bench_run(const char *const *argv, const char *output, const char *errors,
		      double *wall_s, int *status);

/** What a run took; status as of waitpid. */
struct bench_used {
	double wall_s;
	double user_s; ///< in user mode, of all its processes
	uint64_t
		peak_bytes; ///< resident, of the largest of its processes, or of us who started it
	int status;
};

/** As bench_run(), but only to learn what its first process had resident at most: its program alone,
 * not what it was before exec. */
struct err *bench_run_peak(const char *const *argv, const char *errors,
			   uint64_t *ret_bytes);

/** As bench_run(), but to learn what @p held says at most meanwhile: it is asked every few milliseconds. */
struct err *bench_run_held(const char *const *argv, const char *errors,
			   double (*held)(void), double *ret);

/** As bench_run(), telling more; what runs longer than @p limit_s (0: any time) is killed
 * with all it has started, and wall_s is more than that. */
struct err *bench_run_used(const char *const *argv, const char *output,
			   const char *errors, double limit_s, struct bench_used *ret);

/** Run a command whose stdout is one JSON object, its output in directory @p scratch.
 * @param ret  NULL when it printed none, whatever its status. cJSON_Delete() it. */
struct err *bench_run_json(const char *scratch, const char *const *argv, cJSON **ret);

/** Start @p argv, its output going to file @p log, and wait until that has the text
 * @p ready. @return NULL with the pid, or ERR_OS (then it does not run). */
struct err *bench_beside_start(const char *const *argv, const char *log,
			       const char *ready, pid_t *ret);

/** End it with SIGINT, and wait for that. */
void bench_beside_stop(pid_t pid);

/** Remove @p path and all below it; what is not there is fine. */
void bench_remove(const char *path);

/** @return the bytes of all files below @p path; 0: there is none. */
double bench_bytes(const char *path);

/** A kind of work, of any size: a line of bench_work.c's table. */
struct bench_work_kind {
	const char *name, *what;
	const char *argv[8]; ///< some stand for the count, or for an input of that size
	const char *counted; ///< what the count counts; NULL: it has one size only
	uint64_t count, count_quick;
	uint64_t suppress_count; ///< in the suite suppress; 0: it is no part of that
	uint64_t growth_count;	 ///< at factor 1 of the suite growth; quick: a quarter
	double record_limit;	 ///< wanted ratio of recording to native, start-up apart
	double replay_limit;	 ///< of a plain replay's user time to native's; 0: none
	double values_limit;	 ///< and of one that logs all values
	bool is_replayed;	 ///< part of the suites replay and decode
	bool is_only_replayed;	 ///< part of the suite replay alone
	bool is_only_checked;	 ///< part of the suite check alone
	bool is_branched;	 ///< part of the suite branch alone
	bool is_served;		 ///< part of the suite serve, too
	bool is_sliced;		 ///< part of the suite slice, without being replayed
	bool is_only_sliced;	 ///< part of the suite slice alone
	bool is_tiny;		 ///< for the slowest peers
};

/** A program with its arguments, the same on every machine that has it. */
struct bench_work {
	const char *name;
	const struct bench_work_kind *kind;
	uint64_t count;
	const char *argv[BENCH_ARGS_MAX + 1];
	const char *skipped; ///< why it cannot run; NULL: it can
};

/** The kind of that name; NULL: there is none. */
const struct bench_work_kind *bench_work_kind(const char *name);

struct bench;

/** A work of @p kind, so large as @p count says; its inputs are made in the scratch
 * directory. Strings live as long as @p b. */
struct err *bench_work_make(struct bench *b, const struct bench_work_kind *kind,
			    uint64_t count, struct bench_work *ret);

/** All works, in the size that the options want. */
#define BENCH_WORKS 20
struct err *bench_works_make(struct bench *b);

/** @return the path of @p program in PATH (or itself when it has a slash), in the arena;
 * NULL when it is not there. */
const char *bench_find_program(struct arena *arena, const char *program);

#endif
