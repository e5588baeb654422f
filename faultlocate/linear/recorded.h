// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The history in a capture: calls and returns of the functions that the object's file names, in the
 * order of positions.
 */
#ifndef FAULTLOCATE_LINEAR_RECORDED_H
#define FAULTLOCATE_LINEAR_RECORDED_H

#include "capture/capture.h"
#include "faultlocate/linear/linear.h"

/** What is to be told of a history that was recorded. */
struct fl_lin_recorded {
	uint64_t n_nested; ///< calls below another one of the same thread: part of that
	uint64_t
		n_unmatched; ///< returns for which no CALL says what they are: not in the history
	uint64_t
		n_unknown; ///< calls that did not return, of arguments that are not known: as above
	const char *first_unmatched; ///< such a function; borrowed from the object's file
	VEC(const char *)
	missing; ///< functions that the program does not have; borrowed likewise
	VEC(const char *)
	inlined;	  ///< that are inlined somewhere: calls there are not seen
	bool has_matched; ///< the replay
	char divergence[256];
};

/**
 * @param written  what the user wrote; its CALLs are checked against @p o.
 * @param h	   empty; to be deinitialized whatever comes. Places are positions.
 * @return ERR_SPEC: a CALL names no operation, or with another number of arguments (says which);
 *	   ERR_NOT_FOUND: the program has none of the functions; as dec_machine_run().
 */
struct err *fl_lin_history_record(const struct capture *c,
				  const struct spec_object *written,
				  const struct fl_lin_object *o, struct fl_lin_history *h,
				  struct fl_lin_recorded *ret);
void fl_lin_recorded_deinit(struct fl_lin_recorded *r);

#endif
