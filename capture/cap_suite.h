// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A suite: the captures of a program's tests, and how each test ended. What
 * `faultline suite record` writes and analyses of many runs read; on disk a directory whose
 * suite.json appears last (doc/suites.md).
 *
 * Invariants:
 *  1. Names of tests differ (the writer sees to it), and each can name a file.
 *  2. A capture that is named is finished: its manifest was there before suite.json.
 *
 * Not shared between threads.
 */
#ifndef CAPTURE_CAP_SUITE_H
#define CAPTURE_CAP_SUITE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

#define CAP_SUITE_VERSION 1
#define CAP_SUITE_FILE "suite.json" ///< the finished suite's
#define CAP_SUITE_PLAN "plan.json"  ///< the same of one being recorded: nothing has ended

#define CAP_SUITE_ANY -1 ///< no exit status: any is right; it has none

enum cap_suite_outcome {
	CAP_SUITE_UNKNOWN, ///< nobody could tell; always so without a capture
	CAP_SUITE_PASSED,
	CAP_SUITE_FAILED,
};

struct cap_suite_test {
	char *name;
	char **args; ///< n_args, NULL-terminated: what the command got behind its own
	size_t n_args;
	char *input;	 ///< path of its stdin; NULL = nothing was to be read
	char *expected;	 ///< path of the stdout that is right; NULL = see oracle
	char *oracle;	 ///< path of the program that decides; NULL = there is none
	int want_status; ///< 0 to 255, or CAP_SUITE_ANY
	bool is_recorded;
	enum cap_suite_outcome outcome;
	int status; ///< as a shell has it: 128+N by signal N; CAP_SUITE_ANY = not known
	char *why;  ///< one line for people; NULL where it passed
};

struct cap_suite {
	char **command; ///< n_command, NULL-terminated
	size_t n_command;
	struct cap_suite_test *tests; ///< n_tests, in the order of their list
	size_t n_tests;
	struct cap_suite_list
		*list; ///< from which they are read as they are asked for, tests NULL
};

/** @return "passed", "failed", "unknown". */
const char *cap_suite_outcome_name(enum cap_suite_outcome outcome);

/** @return whether a test may be called so: it is not long, not hidden, no path. */
bool cap_suite_name_is_fine(const char *name);

/**
 * Read the suite in directory @p dir: @p file is CAP_SUITE_FILE or CAP_SUITE_PLAN.
 *
 * @param ret  Overwritten; cap_suite_deinit() in any case.
 * @return NULL, ERR_NOT_FOUND (there is none, or not yet), ERR_FORMAT (damaged, foreign),
 *	   ERR_VERSION (newer than this faultline).
 */
struct err *cap_suite_read(const char *dir, const char *file, struct cap_suite *ret);

/** The same, of which some tests only are in memory at a time, however many there are: cap_suite_at(). Each is
 * looked at once. */
struct err *cap_suite_list(const char *dir, const char *file, struct cap_suite *ret);

/** @return test @p i. Of a listed suite it is valid until another is asked for, and one without a name when
 * memory is short or the file cannot be read any more. */
struct cap_suite_test *cap_suite_at(const struct cap_suite *s, size_t i);

/** Write it, by rename, over one that is there. */
struct err *cap_suite_write(const char *dir, const char *file, const struct cap_suite *s);

/** Where the test called @p name keeps @p what ("capture", "stdout", "stderr"), below
 * @p dir or, where that is NULL, as suite.json names it. @return for free(); NULL: no memory. */
char *cap_suite_path(const char *dir, const char *name, const char *what);

/**
 * Open that, NULL for the directory of all of them, as file_open_below() does.
 *
 * @param flags  as of open(2). O_RDONLY alone is for a regular file; with O_CREAT the file is
 *		 a new one, in the place of what is there.
 * @return a descriptor, or -1 with errno.
 */
int cap_suite_open(const char *dir, const char *name, const char *what, int flags);

/** @return the test called @p name, or NULL. */
struct cap_suite_test *cap_suite_find(const struct cap_suite *s, const char *name);

/** Free what @p s owns. A zeroed one is fine. */
void cap_suite_deinit(struct cap_suite *s);

#endif
