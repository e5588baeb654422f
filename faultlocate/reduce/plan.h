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
#include "faultlocate/reduce/tree.h"

struct fl_plan {
	char *exe, *cwd, *argv0;
	struct fl_text args, env; ///< each text with its NUL
	uint8_t input;		  ///< enum fl_run_input
	char *name;		  ///< the input's, for people; of a file its path
	struct fl_text data;	  ///< the input
	/** How the recorded run ended: enum cap_end, and its value. */
	uint8_t end;
	int32_t end_value;
	char *notes;		   ///< lines, "" for none
	uint8_t *bytes;		   ///< that args, env, data lie in
	uint32_t *nodes, *parents; ///< the tree's
	bool has_tree;		   ///< no: of the tree only the data's bytes are known
	struct fl_tree tree;	   ///< of the data's bytes
};

/** Which method needs what of the capture. */
struct fl_plan_options {
	const char *input; ///< fl_sources_choose()'s name, or NULL
	/** Go back from here for the tree, a place as of `inputs --at`; NULL: no tree. */
	const char *at;
	/** Told where the walk back for that is. Or NULL. */
	void (*progress)(void *ctx, uint64_t position);
};

/** Make the plan of capture @p dir and write it to @p fd. For confined processes. */
struct err *fl_plan_make(const char *dir, const struct fl_plan_options *o, int fd);

/** Read what that wrote. @p ret zeroed, to be given to fl_plan_deinit() whatever comes of it.
 * @return ERR_FORMAT: it is no such thing. */
struct err *fl_plan_read(int fd, struct fl_plan *ret);
void fl_plan_deinit(struct fl_plan *p);

#endif
