// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * `record --until-fail' many runs at a time, here or on other machines.
 */
#ifndef CMD_RECORD_MANY_H
#define CMD_RECORD_MANY_H

#include "cmd/work.h"
#include "pt-collect/record.h"

/**
 * Record as --until-fail does, by other recorders beside each other. Of those runs that fail the one
 * with the least number is kept, as if they had come one after the other.
 *
 * @param argv	record's command line; @p o->argv leads into it.
 * @return the exit status.
 */
int cmd_record_many(const struct ptc_options *o, const struct work_place *place,
		    char **argv);

#endif
