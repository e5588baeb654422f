// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the files of `faultline suite' share: the list of tests, and recording them.
 */
#ifndef CMD_SUITE_INT_H
#define CMD_SUITE_INT_H

#include <stdio.h>

#include "capture/cap_suite.h"

/** Exit statuses. */
enum { SUITE_PASSED, SUITE_SOME_FAILED, SUITE_COULD_NOT };

/** What the command line says. */
struct suite_options {
	const char *verb;
	bool is_list, as_json;
	const char *dir, *tests;
	char **command; ///< NULL-terminated
	unsigned n_jobs;
	double timeout_s;
};

/** Do `suite record'. @p status: the exit status, when there is no error. */
struct err *cmd_suite_record(const struct suite_options *o, int *status);

/**
 * Read the list of tests in @p file, a JSON object a line, into @p s. Paths in it are taken
 * from its directory and come out absolute; what they name is there.
 *
 * @return NULL; an error that names the line and what is wrong in it.
 */
struct err *cmd_suite_tests(const char *file, struct cap_suite *s);

struct suite_run {
	const char *dir;
	struct cap_suite *suite; ///< its tests get their outcomes
	unsigned n_jobs;	 ///< at a time
	double timeout_s;	 ///< of each test; 0 = none
	size_t n_found;		 ///< out: recorded before, by a run that broke off
	bool is_interrupted;	 ///< out: some have no outcome
};

/** Record and judge the tests that are not recorded yet; judge those that are. */
struct err *cmd_suite_run(struct suite_run *r);

/** What became of test @p t, recorded in @p dir, as far as it can be told without its oracle.
 * @return whether that has to be asked. */
bool cmd_suite_judge(const char *dir, struct cap_suite_test *t);

/** What the oracle of @p t said: @p status is waitpid()'s, @p said what it printed. */
void cmd_suite_heed(struct cap_suite_test *t, int status, const char *said);

/** In tests/NAME: there when the test was ended after its time, with how long that was. */
#define SUITE_HUNG "hung"

#endif
