// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What a recorded run got from outside, as texts with names: files, standard input, pipes and
 * sockets, its arguments and environment, random numbers, the time; and which memory got which
 * bytes of them, when. Files that were opened more than once under one name are one.
 */
#ifndef FAULTLOCATE_INPUTS_SOURCES_H
#define FAULTLOCATE_INPUTS_SOURCES_H

#include "base/base.h"
#include "capture/capture.h"

enum fl_source_kind {
	FL_SOURCE_FILE,	  ///< `name` is its path, as the program gave it
	FL_SOURCE_STREAM, ///< stdin; a pipe, a socket, what the program inherited
	FL_SOURCE_ARGS,	  ///< its arguments behind the program's name, a NUL after each
	FL_SOURCE_ENV,	  ///< its environment, a NUL after each variable
	FL_SOURCE_RANDOM,
	FL_SOURCE_TIME,
};

struct fl_source {
	uint8_t kind;	 ///< enum fl_source_kind
	char *name;	 ///< "stdin", "argv", "env", "random", "time"; "socket (fd 5)"
	uint64_t opened; ///< seq of the event that opened a FILE first; UINT64_MAX: none
	bool is_input_end; ///< its end was met
	uint64_t size;	   ///< the largest offset that was read, and one
	/** Its contents; what was never read is 0. Shorter than `size` where that is too much. */
	VEC(uint8_t) bytes;
	uint64_t whole; ///< bytes from its beginning that were read, without a gap
};

/** Memory at [addr, addr + size) got the source's bytes from `offset` on, through event `seq`. */
struct fl_piece {
	uint64_t seq, addr, offset;
	uint32_t size, source;
};

/** A file's opening, to be looked at in a replay. */
struct fl_opening {
	uint64_t seq;	   ///< of its event
	uint64_t position; ///< .. where the path is still in memory, at:
	uint64_t path;	   ///< 0: not met yet
};

struct fl_sources {
	VEC(struct fl_source) all; ///< [0] the arguments, [1] the environment
	VEC(struct fl_piece)
	pieces;		///< by seq; those of the start (argv, env): at the front,
	size_t n_start; ///< so many, by address
	char *argv0;	///< what the program is called; NULL: not known
	VEC(struct fl_opening) openings; ///< by seq
};
enum { FL_SOURCES_ARGS, FL_SOURCES_ENV };

struct dec_machine;

/** Read @p c, whose files' names are found by a replay. @p ret zeroed, to be given to
 * fl_sources_deinit() whatever comes of it. @return as capture's readers, and the machine's. */
struct err *fl_sources_read(const struct capture *c, struct fl_sources *ret);

/** The same for who replays it anyhow: begin; tell of each system call (fl_trace_options.call); then,
 * with machine @p m of @p c, name. */
struct err *fl_sources_begin(const struct capture *c, struct fl_sources *ret);
void fl_sources_call(void *sources, uint64_t seq, uint64_t position,
		     const uint64_t *call);
struct err *fl_sources_name(struct fl_sources *s, struct dec_machine *m);
void fl_sources_deinit(struct fl_sources *s);

/** Find the source's byte that event @p seq (UINT64_MAX: the start) put to @p addr.
 * @return the piece, NULL: there is none. */
const struct fl_piece *fl_sources_find(const struct fl_sources *s, uint64_t seq,
				       uint64_t addr);

/**
 * Which source is meant by @p name: a kind's word (stdin, argv, env), a file's path or its last
 * part. NULL: the file that an argument names, else stdin, else the only file that is no program's
 * and not the system's. Only those with bytes.
 *
 * @return ERR_USAGE: none, or several; says which there are.
 */
struct err *fl_sources_choose(const struct fl_sources *s, const struct cap_info *info,
			      const char *name, uint32_t *ret);

#endif
