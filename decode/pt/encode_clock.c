// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/*
 * The clock of software PT: a TSC of 1 GHz that counts CLOCK_MONOTONIC nanoseconds, so
 * that packets and the capture's events have one time (in perf's terms time_mult 1,
 * time_shift 0, time_zero 0). At each event it is at least the event's time. In between,
 * an instruction takes one cycle of a core of 3 GHz, and the clock waits for the next
 * event rather than run ahead of it: nothing is known of how long each one took.
 */

#include "decode/pt/encode_int.h"

enum { CYCLES_PER_TSC = DEC_PT_RATIO / DEC_PT_NOMINAL_RATIO };

static struct err *clock_fetch(struct pt_clock *k)
{
	struct err *err = cap_events_next(k->events, &k->next, &k->is_at_end);
	uint64_t at = k->next.at_ns * CYCLES_PER_TSC;

	// Where the log breaks off the replay ends, and tells why.
	if (err && (err->code == ERR_TRUNCATED || err->code == ERR_FORMAT)) {
		err_destroy(err);
		err = NULL;
		k->is_at_end = true;
	}
	k->until = err || k->is_at_end ? UINT64_MAX : at > k->cycles ? at : k->cycles;
	return err;
}

struct err *dec_pt_clock_meet(struct pt_clock *k, uint64_t seq)
{
	struct err *err = NULL;

	while (!err && !k->is_at_end && k->next.seq <= seq) {
		uint64_t at = k->next.at_ns * CYCLES_PER_TSC;

		if (k->cycles < at)
			k->cycles = at;
		err = clock_fetch(k);
	}
	return err;
}

void dec_pt_clock_run(struct pt_clock *k, uint64_t n)
{
	k->cycles = n < k->until - k->cycles ? k->cycles + n : k->until;
}

uint64_t dec_pt_clock_tsc(const struct pt_clock *k)
{
	return k->cycles / CYCLES_PER_TSC;
}

uint64_t dec_pt_clock_crystal(const struct pt_clock *k)
{
	return dec_pt_clock_tsc(k) * DEC_PT_TSC_DEN / DEC_PT_TSC_NUM;
}

uint64_t dec_pt_clock_of_crystal(uint64_t ticks)
{
	return ticks * DEC_PT_TSC_NUM / DEC_PT_TSC_DEN * CYCLES_PER_TSC;
}

struct err *dec_pt_clock_init(struct pt_clock *k, const struct capture *c)
{
	struct err *err = cap_events_open(c, &k->events);

	if (!err)
		err = clock_fetch(k);
	if (!err && !k->is_at_end)
		k->cycles = k->until;
	return err;
}

void dec_pt_clock_deinit(struct pt_clock *k)
{
	if (k->events)
		cap_events_close(k->events);
	k->events = NULL;
}
