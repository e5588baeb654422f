// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What unit tests share: cmocka with the headers it wants, errors that must or must not
 * come, and what tests/run hands to a test.
 */
#ifndef TESTS_UNIT_H
#define TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"

/** @p call must succeed. */
#define ok(call)                                                  \
	do {                                                      \
		struct err *err_ = (call);                        \
		if (err_)                                         \
			fail_msg("%s: %s", #call, err_->message); \
	} while (0)

/** @p call must fail, with code @p want. */
#define expect(want, call)                                                             \
	do {                                                                           \
		struct err *err_ = (call);                                             \
		assert_non_null(err_);                                                 \
		if (err_->code != (want))                                              \
			fail_msg("%s: code %d: %s", #call, err_->code, err_->message); \
		err_destroy(err_);                                                     \
	} while (0)

/** @return the value of @p name, which tests/run sets; without it the test is skipped. */
static inline const char *unit_env(const char *name)
{
	const char *value = getenv(name);

	if (!value) {
		printf("%s is not set: run through tests/run\n", name);
		exit(77);
	}
	return value;
}

/** @return the seed of a test whose random cases are others in each run: FAULTLINE_SEED, when that
 * is set, repeats a run. It is printed, and never 0. */
static inline uint64_t unit_seed(void)
{
	const char *set = getenv("FAULTLINE_SEED");
	uint64_t seed = set ? strtoull(set, NULL, 0) :
			      (uint64_t)clock_now_s() ^ (uint64_t)getpid() << 32;

	seed |= !seed;
	printf("FAULTLINE_SEED=%#lx\n", seed);
	return seed;
}

/** Have the shell run the command. @return its exit status, -1 when a signal ended it. */
__attribute__((format(printf, 1, 2))) static inline int unit_run(const char *fmt, ...)
{
	_cleanup_free_ char *command = NULL;
	va_list ap;
	int status;

	va_start(ap, fmt);
	status = vasprintf(&command, fmt, ap) < 0 ? -1 : system(command);
	va_end(ap);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
