// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * From events to a bundle, as long as that works.
 */
#define LOG_ROOM "record"
#include <stdarg.h>

#include "pt-collect/log/log.h"
#include "pt-collect/tracee/tracee.h"

void ptc_log_fail(struct ptc_log *l, struct err *err)
{
	l->is_recording = false;
	if (l->failure)
		err_destroy(err);
	else
		l->failure = err;
}

void ptc_log_event(struct ptc_log *l, const struct cap_event *ev)
{
	struct err *err;

	if (!l->is_recording)
		return;
	l->n_events++;
	l->last_ns = ev->at_ns;
	err = cap_writer_event(l->writer, ev);
	if (err)
		ptc_log_fail(l, err);
}

void ptc_log_gap(struct ptc_log *l, pid_t tid, const char *fmt, ...)
{
	struct cap_event ev = { .kind = CAP_EV_GAP, .tid = tid, .at_ns = ptc_now_ns() };
	char text[5000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ev.text = text;
	ptc_log_event(l, &ev);
}
