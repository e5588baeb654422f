// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Where the tests of the bundle write theirs: c in a directory of their own.
 */
#ifndef TESTS_CAPTURE_BUNDLE_H
#define TESTS_CAPTURE_BUNDLE_H

#include <sys/stat.h>

#include "capture/capture.h"
#include "tests/scratch.h"
#include "tests/unit.h"

static char dir[512]; ///< scratch of the whole program; the bundle is dir/c

/** @return where file @p name of the bundle is, "" the bundle itself; until the next call. */
static inline char *path_of(const char *name)
{
	static char path[600];

	snprintf(path, sizeof(path), "%s/c/%s", dir, name);
	return path;
}

static inline void remove_bundle(void)
{
	scratch_remove(path_of(""));
}

/** cmocka's setup and teardown. */
static inline int make_scratch(void **state)
{
	const char *tmp = getenv("TMPDIR");

	(void)state;
	snprintf(dir, sizeof(dir), "%.400s/bundle.XXXXXX", tmp ?: "/tmp");
	return mkdtemp(dir) ? 0 : -1;
}

static inline int remove_scratch(void **state)
{
	(void)state;
	return scratch_remove(dir);
}

#endif
