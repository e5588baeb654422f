// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The code that a PT stream ran: which file lay where, from which byte of the stream on.
 * A packet stream names branches only, so decoding needs the instructions between them;
 * a program that unmaps one library and maps another at its place needs both, in turn.
 *
 * Reading applies the mappings up to a byte of the stream, forward only. Not shared
 * between threads.
 */
#ifndef DECODE_DEC_PT_IMAGE_H
#define DECODE_DEC_PT_IMAGE_H

#include "base/base.h"
#include "capture/capture.h"

/** A piece of a file mapped as code. */
struct dec_pt_map {
	uint64_t addr, size;
	uint64_t file_offset;
	uint64_t from_byte; ///< of the stream: it was mapped there
	char *path;
	const uint8_t *data; ///< the file's bytes at file_offset
	size_t data_bytes;   ///< less than size where the file is shorter
	bool hides;	     ///< lies over an earlier one
};

struct dec_pt_image {
	const struct capture *capture;
	VEC(struct dec_pt_map) maps; ///< ascending by from_byte
	size_t n_applied;	     ///< by dec_pt_image_apply()
	struct map next; ///< instruction -> the one behind it, of those applied
};

/** Start with the code mapped at exec in @p c, which is borrowed. On error, too,
 * dec_pt_image_deinit() is due. */
struct err *dec_pt_image_init(struct dec_pt_image *im, const struct capture *c);
void dec_pt_image_deinit(struct dec_pt_image *im);

/** @p file (1-based, of the capture) was mapped as code when the stream had
 * @p from_byte bytes. A file that was not kept is left out: decoding finds a gap. */
struct err *dec_pt_image_map(struct dec_pt_image *im, uint32_t file, uint64_t addr,
			     uint64_t size, uint64_t file_offset, uint64_t from_byte);

/** Begin reading anew: nothing is applied. What dec_pt_image_next() found out already, and
 * no mapping hid, it still knows. */
void dec_pt_image_rewind(struct dec_pt_image *im);

/** Apply what was mapped before byte @p at of the stream. @return how many mappings are
 * applied now: the first so many of `maps`, later ones hiding earlier ones. */
size_t dec_pt_image_apply(struct dec_pt_image *im, uint64_t at);

/** Find the instruction that follows the one at @p rip when no branch packet says
 * otherwise: behind it, or where a direct jump or call goes. @return ERR_RANGE: no code
 * is known there; ERR_FORMAT: it is no instruction. */
struct err *dec_pt_image_next(struct dec_pt_image *im, uint64_t rip, uint64_t *ret);

#endif
