// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A directory that stands for a PMU's in sysfs.
 */
#ifndef TESTS_PT_COLLECT_PT_TREE_H
#define TESTS_PT_COLLECT_PT_TREE_H

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit.h"

static char pt_root[512];

static inline void pt_put(const char *name, const char *text)
{
	char path[600];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", pt_root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fprintf(f, "%s\n", text);
	fclose(f);
}

static inline void pt_begin(const char *name)
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

/** @return false, with the reason told, where no event may be opened. */
static inline bool pt_may_open_events(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1 };
	int fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);

	if (fd < 0)
		printf("perf_event_open: %s\n", strerror(errno));
	else
		close(fd);
	return fd >= 0;
}

#endif
