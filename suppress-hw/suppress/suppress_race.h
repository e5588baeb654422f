// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * May a data race do harm (paper 003, section 6.1.2)? Where the earlier of its two accesses is about to
 * be made, each other thread that is ready goes on in its place, one a run. Does the one that reads read
 * another value than in the recorded run; do two that write leave another one behind them? Not
 * shared between threads.
 */
#ifndef SUPPRESS_HW_SUPPRESS_SUPPRESS_RACE_H
#define SUPPRESS_HW_SUPPRESS_SUPPRESS_RACE_H

#include "decode/machine/branch.h"
#include "decode/machine/machine.h"
#include "faultlocate/race/race.h"

#define SUP_RACE_BYTES 8

/** A run with another schedule. */
struct sup_schedule {
	uint32_t tid;	 ///< the thread that went on instead
	bool is_reached; ///< both accesses were made, or (RAW) the later one
	uint8_t value[SUP_RACE_BYTES]; ///< that was read, or was left
	bool has_ended; ///< within a few times what was left of the recorded run
	struct dec_outcome outcome; ///< then: how
};

typedef VEC(struct sup_schedule) sup_schedules;

/** A race, and what other schedules make of it. */
struct sup_race {
	struct fl_race race;
	uint8_t value[SUP_RACE_BYTES]; ///< the same of the recorded run
	uint32_t bytes;		       ///< of that and of the schedules'
	bool is_harmful;	       ///< it differs in one of them
	sup_schedules schedules;       ///< none: no other thread was ready
};

/** @return "WAR", "WAW" or "RAW": what the later access is, behind the earlier one. */
const char *sup_race_kind(const struct fl_race *race);

/**
 * Judge @p race of the run of @p m, which may stand anywhere and does so afterwards.
 *
 * @param end  position of its end.
 * @param ret  Zeroed; sup_race_deinit() after, in any case.
 * @return what a machine does.
 */
struct err *sup_race_judge(struct dec_machine *m, const struct fl_race *race,
			   uint64_t end, struct sup_race *ret);
void sup_race_deinit(struct sup_race *r);

#endif
