// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * How long something takes, for progress lines and benchmarks.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <time.h>

/** @return seconds of CLOCK_MONOTONIC; only differences mean anything. */
static inline double clock_now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/** @return seconds of the processor that this process has had. */
static inline double clock_cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

/** @return the seconds since *@p since_s, which is moved on to now. */
static inline double clock_lap_s(double *since_s)
{
	double was_s = *since_s;

	*since_s = clock_now_s();
	return *since_s - was_s;
}

#endif
