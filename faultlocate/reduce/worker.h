// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The process that runs the program: its mounts, a run. Private to reduce/.
 */
#ifndef FAULTLOCATE_REDUCE_WORKER_H
#define FAULTLOCATE_REDUCE_WORKER_H

#include <sys/types.h>

#include "faultlocate/reduce/run.h"

/** What a worker says first. */
struct worker_hello {
	int32_t error;	    ///< errno; 0: it is ready
	char what[96];	    ///< that failed
	bool is_unwritable; ///< nothing can be written in the working directory
};

/** A piece of work; the input is in the memory shared with the owner. */
struct worker_job {
	uint64_t size;
};

/** Be a worker with socket @p sock and input memory @p input, until the socket ends.
 * @p is_mapped: it has a user namespace of its own. */
_Noreturn void fl_worker_be(const struct fl_run_options *o, int sock,
			    const uint8_t *input);

/** Give the calling process mounts as a worker has. @p writable: a directory that may be written
 * nevertheless; or NULL. @p has_pids: it is the first of its process ids. */
bool fl_mounts_make(const struct fl_run_options *o, const char *writable, bool has_pids,
		    struct worker_hello *ret);

/** Put the input there; what the last run wrote is gone. @return false with errno. */
bool fl_mounts_dress(const struct fl_run_options *o, struct fl_text input);

/** The path of the input's copy. */
#define FL_MOUNTS_INPUT "/dev/shm/.faultline/in/input"

/** Text pointers of @p t, NUL after each text, with @p first (or NULL) in front. @return for
 * free(); NULL: no memory. */
char **fl_worker_texts(const char *first, struct fl_text t);

/** The frames of thread @p tid of process @p pid, which is stopped, into @p ret. */
void fl_frames_take(pid_t pid, pid_t tid, const struct fl_run_options *o,
		    struct fl_run_end *ret);

#endif
