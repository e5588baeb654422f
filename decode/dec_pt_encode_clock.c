// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The clock of software PT: a TSC of 1 GHz that counts CLOCK_MONOTONIC nanoseconds, so
 * that packets and the capture's events have one time (in perf's terms time_mult 1,
 * time_shift 0, time_zero 0). At each event it is at least the event's time.
 */

#include "decode/dec_pt_encode_int.h"

static struct err *clock_fetch(struct pt_clock *k)
{
	return cap_events_next(k->events, &k->next, &k->is_at_end);
}

struct err *pt_clock_meet(struct pt_clock *k, uint64_t seq)
{
	while (!k->is_at_end && k->next.seq <= seq) {
		struct err *err;

		if (k->tsc < k->next.at_ns)
			k->tsc = k->next.at_ns;
		k->seq = k->next.seq;
		err = clock_fetch(k);
		if (err)
			return err;
	}
	return NULL;
}

struct err *pt_clock_init(struct pt_clock *k, const struct capture *c)
{
	struct err *err = cap_events_open(c, &k->events);

	if (!err)
		err = clock_fetch(k);
	if (!err && !k->is_at_end)
		k->tsc = k->next.at_ns;
	return err;
}

void pt_clock_deinit(struct pt_clock *k)
{
	if (k->events)
		cap_events_close(k->events);
	k->events = NULL;
}
