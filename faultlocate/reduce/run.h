// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * A program, run again and again with other inputs, natively: how does each run end? Workers, one
 * a processor, run it beside each other.
 *
 * Invariants:
 *  1. No run changes a file of this machine: each worker has mounts of its own, all read-only; what
 *     is written below the working directory and /tmp goes to memory, and is gone before the next
 *     run. The input's file is another one, mounted over it.
 *  2. No run reaches the network, or a process that is not of it; none outlives its worker.
 *  3. Runs have one address layout, no core dumps, /dev/null for output, a time limit.
 *
 * What is not kept from them: devices, and sockets in the file system.
 */
#ifndef FAULTLOCATE_REDUCE_RUN_H
#define FAULTLOCATE_REDUCE_RUN_H

#include "faultlocate/reduce/reduce.h"

enum fl_run_input { FL_RUN_FILE, FL_RUN_STDIN, FL_RUN_ARGS, FL_RUN_ENV };

struct fl_run_options {
	const char *exe, *cwd;
	const char *argv0;
	/** Texts with a NUL behind each, for what is not the input. */
	struct fl_text args, env;
	enum fl_run_input input;
	const char *path;  ///< FILE: absolute, or relative to cwd
	size_t input_most; ///< bytes of an input
	double timeout_s;
	unsigned n_frames; ///< functions of the program that tell failures apart
	/** A program of the user's to ask instead: given the input's path, it exits with 0 for an
	 * interesting one. Or NULL. */
	const char *oracle;
	unsigned n_workers; ///< 1 to FL_REDUCE_AT_ONCE
};

enum fl_run_fate { FL_RUN_EXIT, FL_RUN_SIGNAL, FL_RUN_TIMEOUT, FL_RUN_NOT };

enum { FL_RUN_TEXT = 512 };

/** How a run ended. */
struct fl_run_end {
	uint8_t fate; ///< enum fl_run_fate
	bool has_frames;
	int32_t value; ///< EXIT: status; SIGNAL: which; NOT: errno
	/** Of a signal: the innermost functions outside of the C library, n_frames of them,
	 * "AddChild < ParseBody"; with more frames that are only shown. */
	uint64_t frames_hash;
	char frames[FL_RUN_TEXT];
};

struct fl_runner;

/** @p o is borrowed as long as it lives. @return ERR_PERMISSION: no worker can be kept apart from
 * the user's files here (says why); ERR_NOT_FOUND (the program, the working directory); ERR_OS. */
struct err *fl_runner_create(const struct fl_run_options *o, struct fl_runner **ret);
void fl_runner_destroy(struct fl_runner *r);
void fl_runner_destroyp(struct fl_runner **r);

/** Run once with each of @p inputs, @p n of them, up to n_workers at once. */
struct err *fl_runner_run(struct fl_runner *r, const struct fl_text *inputs, size_t n,
			  struct fl_run_end *ret);

/** Record such a run into the new directory @p capture, with the files kept as above. What the
 * recorder says goes to descriptor @p said. @return ERR_PERMISSION, ERR_OS (it could not). */
struct err *fl_runner_record(struct fl_runner *r, struct fl_text input,
			     const char *capture, int said);

/** @return whether two runs ended the same way: a signal in the same functions. */
bool fl_run_is_same(const struct fl_run_end *a, const struct fl_run_end *b);

/** @return the notes that there are on how runs are kept: lines; "" for none. */
const char *fl_runner_notes(const struct fl_runner *r);

#endif
