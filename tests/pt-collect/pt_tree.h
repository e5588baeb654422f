// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A directory that stands for a PMU's in sysfs.
 */
#ifndef TESTS_PT_COLLECT_PT_TREE_H
#define TESTS_PT_COLLECT_PT_TREE_H

#include <sys/stat.h>

#include "tests/unit.h"

static char pt_root[512];

static void pt_put(const char *name, const char *text)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", pt_root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static void pt_begin(const char *name)
{
	char path[600];

	snprintf(pt_root, sizeof(pt_root), "%s/%s", unit_env("TMPDIR"), name);
	assert_int_equal(unit_run("rm -rf '%s'", pt_root), 0);
	assert_int_equal(mkdir(pt_root, 0700), 0);
	snprintf(path, sizeof(path), "%s/format", pt_root);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/caps", pt_root);
	mkdir(path, 0700);
}

#endif
