// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What is logged of a process (log.c).
 */
#ifndef PT_COLLECT_LOG_LOG_H
#define PT_COLLECT_LOG_LOG_H

#include <sys/types.h>

#include "base/base.h"
#include "capture/capture.h"

/** The log of a process: events into its bundle. */
struct ptc_log {
	struct cap_writer *writer;
	bool is_recording;
	uint64_t n_events;   ///< logged
	uint64_t last_ns;    ///< when the last of them was
	struct err *failure; ///< the first thing that went wrong; recording is off since
};

/** Log @p ev, or drop it when recording is off. A failure turns recording off. */
void ptc_log_event(struct ptc_log *l, const struct cap_event *ev);

/** Log a gap. */
void ptc_log_gap(struct ptc_log *l, pid_t tid, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/** Recording ends here; takes over @p err. Whoever records the process looks at l->failure
 * now and then, and lets it be. */
void ptc_log_fail(struct ptc_log *l, struct err *err);

#endif
