// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The header of results: the machine, its load, the versions of everything that takes part.
 */
#ifndef BENCH_BENCH_MACHINE_H
#define BENCH_BENCH_MACHINE_H

#include "bench/bench_result.h"

/** Fill the header as of now. @p argv: the command line that measures. */
struct err *bench_machine_describe(struct bench_results *r, int argc, char **argv);

/** The load of the last minute; 0 when nobody knows. */
double bench_machine_load(void);

/** Processor seconds so far: of all, and of this process and its children that have ended. */
/** Seconds since some moment: of the clock, of all processors together (idle aside; of what
 * runs beside this machine, too), of this process with its ended children. */
struct bench_machine_use {
	double wall_s, all_s, own_s;
};

/** @return what was used up to now. all_s is 0 where /proc/stat cannot be read. */
struct bench_machine_use bench_machine_use(void);

/** @return the share of all processors that others have had since @p since, 0 to 1. */
double bench_machine_others(const struct bench_machine_use *since);

#endif
