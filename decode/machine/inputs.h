// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * What the capture knows of the outside: each open file, pipe and socket with the bytes that
 * were read of it and where, each descriptor, the clocks, and answers that never change. The
 * loose world answers from this. It is built by one pass over the event log, in the machine's
 * process; forks of that share it.
 *
 * Invariants:
 *  1. What is not known is said not to be known, never made up.
 *  2. Of a regular file an offset's bytes are those that were read last before they were
 *     written anew by the program, or else there are none: files that the program writes are
 *     known as it wrote them only when it read that back.
 */
#ifndef DECODE_MACHINE_INPUTS_H
#define DECODE_MACHINE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "capture/capture.h"

#define INPUTS_BYTES_MAX (512ull << 20) ///< kept of contents; what is beyond is not known
#define INPUTS_STAT_BYTES 144		///< struct stat

/** Bytes [offset, offset + size) of a file; or of a stream, counted from its beginning. */
struct inputs_extent {
	uint64_t offset, size;
	uint64_t at; ///< in dec_inputs.bytes
};

/** Something that descriptors lead to. */
struct inputs_file {
	bool is_stream; ///< has no offset: a pipe, a socket, a terminal
	bool is_end_known;
	uint64_t end;			   ///< where a read gave 0 bytes, or fstat() said
	VEC(struct inputs_extent) extents; ///< ascending, disjoint
	uint64_t read;			   ///< STREAM: bytes that were read of it in all
	bool is_no_tty;			   ///< ioctl(TCGETS) said so
	bool has_stat;
	uint8_t stat[INPUTS_STAT_BYTES];
};

struct inputs_fd {
	int fd;
	uint32_t open; ///< index into opens: descriptors that are duplicates share one
};

/** An open file description (open(2)). */
struct inputs_open {
	uint32_t file; ///< index into files
	uint64_t offset;
	uint64_t seq; ///< of the event that made it
	int fd;	      ///< on which
};

/** A call whose answer does not change as long as the process lives. */
struct inputs_constant {
	uint64_t nr, args[3];
	int64_t ret;
	uint64_t addr, size, at; ///< what it wrote; size 0: nothing
};

struct dec_inputs {
	VEC(struct inputs_file) files;
	VEC(struct inputs_open) opens;
	VEC(struct inputs_fd) fds; ///< by fd, ascending; as they are at the branch
	VEC(struct inputs_constant) constants;
	VEC(uint8_t) bytes;
	uint32_t random;     ///< the file of getrandom()'s bytes
	uint64_t clock_ns;   ///< CLOCK_MONOTONIC of the last event before the branch
	int64_t realtime_ns; ///< CLOCK_REALTIME less that; 0: not known
	bool is_full;	     ///< contents beyond INPUTS_BYTES_MAX were left out
	bool is_read;	     ///< all of the log was
};

/**
 * Read all events of @p it, which stands at the log's beginning. Descriptors and clocks are
 * left as they are before event number @p seq.
 *
 * @param seen  told of each event, with @p ctx; NULL: nobody.
 * @return NULL, ERR_NOMEM; a log that breaks off is one that ends there.
 */
struct err *dec_inputs_read(struct dec_inputs *in, struct cap_events *it, uint64_t seq,
			    void (*seen)(void *ctx, const struct cap_event *ev),
			    void *ctx);

/** Begin with nothing but the three standard descriptors. */
struct err *dec_inputs_init(struct dec_inputs *in);

/** Learn what @p ev, the next of the log, tells. @return NULL, ERR_NOMEM. */
struct err *dec_inputs_learn(struct dec_inputs *in, const struct cap_event *ev);

/** Call @p ev of the log was made once more, by a run that begins at event @p seq: what its
 * descriptors lead to follows. */
struct err *dec_inputs_follow(struct dec_inputs *in, const struct cap_event *ev);

void dec_inputs_deinit(struct dec_inputs *in);

/** @return what descriptor @p fd leads to, NULL when it is not open (as far as known). Valid
 * until descriptors change. */
struct inputs_open *dec_inputs_open(struct dec_inputs *in, int fd);

/** A new description of @p file on the lowest free descriptor not below @p from. @return it, or
 * -1: memory is short. */
int dec_inputs_new_fd(struct dec_inputs *in, uint32_t open, int from);

/** Make @p fd lead to @p open. @return whether there was memory. */
bool dec_inputs_set_fd(struct dec_inputs *in, int fd, uint32_t open);

/** @return whether it was open. */
bool dec_inputs_close(struct dec_inputs *in, int fd);

/** How many of the bytes at @p offset of @p f are known, up to @p most, with their place in
 * @p ret (valid until the next file is read). */
uint64_t dec_inputs_find(const struct dec_inputs *in, const struct inputs_file *f,
			 uint64_t offset, uint64_t most, const uint8_t **ret);

/** @return the answer to call @p nr with these arguments, NULL when none was recorded. */
const struct inputs_constant *dec_inputs_constant(const struct dec_inputs *in,
						  uint64_t nr, const uint64_t args[3]);

#endif
