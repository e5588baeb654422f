// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * Captures that lie: a copy of a real one with something changed in its events.
 */
#ifndef TESTS_DECODE_FORGE_H
#define TESTS_DECODE_FORGE_H

#include <fcntl.h>

#include "capture/cap_format.h"
#include "tests/unit.h"

/** Copy the capture in @p good to @p bad, its events passed through @p change. */
static inline void forge_capture(const char *good, const char *bad,
				 void (*change)(struct cap_event *ev, void *ctx),
				 void *ctx)
{
	struct capture *c;
	struct cap_events *it;
	struct cap_log *log;
	struct cap_event ev;
	char path[8192];
	uint64_t bytes;
	int fd;

	assert_int_equal(unit_run("rm -rf %s; cp -r %s %s", bad, good, bad), 0);
	snprintf(path, sizeof(path), "%s/events.flt", bad);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	ok(cap_log_create(fd, &log));
	ok(capture_open(good, &c));
	ok(cap_events_open(c, &it));
	for (bool is_end = false;;) {
		ok(cap_events_next(it, &ev, &is_end));
		if (is_end)
			break;
		change(&ev, ctx);
		ok(cap_log_append(log, &ev));
	}
	ok(cap_log_finish(log, &bytes));
	cap_log_destroy(log);
	cap_events_close(it);
	capture_close(c);
}

#endif
