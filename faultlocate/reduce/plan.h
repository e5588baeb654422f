// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a capture says is to be run, and with what: read in a confined process, handed over as
 * bytes to the one that runs it, which trusts their form only as far as it has checked it.
 */
#ifndef FAULTLOCATE_REDUCE_PLAN_H
#define FAULTLOCATE_REDUCE_PLAN_H

#include "faultlocate/reduce/run.h"

struct fl_plan {
	char *exe, *cwd, *argv0;
	struct fl_text args, env; ///< each text with its NUL
	uint8_t input;		  ///< enum fl_run_input
	char *name;		  ///< the input's, for people; of a file its path
	struct fl_text data;	  ///< the input
	/** How the recorded run ended: enum cap_end, and its value. */
	uint8_t end;
	int32_t end_value;
	char *notes;	///< lines, "" for none
	uint8_t *bytes; ///< that args, env, data lie in
	/** What an analysis says of each byte of the input: bits of enum fl_role (inputs.h), and
	 * its group on each level of the decomposition tree. NULL: there was none. */
	const uint8_t *roles;
	uint32_t n_levels;
	const uint32_t *groups; ///< n_levels times data.size
};

/** Which method needs what of the capture. */
struct fl_plan_options {
	const char *input; ///< fl_sources_choose()'s name, or NULL
	bool with_analysis;
};

/** Make the plan of capture @p dir and write it to @p fd. For confined processes. */
struct err *fl_plan_make(const char *dir, const struct fl_plan_options *o, int fd);

/** Read what that wrote. @p ret zeroed, to be given to fl_plan_deinit() whatever comes of it.
 * @return ERR_FORMAT: it is no such thing. */
struct err *fl_plan_read(int fd, struct fl_plan *ret);
void fl_plan_deinit(struct fl_plan *p);

#endif
