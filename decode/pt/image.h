// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 The Faultline authors

/**
 * @file
 * The code that a PT stream ran: which file lay where, from when on.
 * A packet stream names branches only, so decoding needs the instructions between them;
 * a program that unmaps one library and maps another at its place needs both, in turn.
 *
 * Reading applies the mappings one after the other. What is applied belongs to one thread;
 * the mappings themselves do not change while a stream is decoded, and all may read them.
 */
#ifndef DECODE_PT_IMAGE_H
#define DECODE_PT_IMAGE_H

#include "base/base.h"
#include "capture/capture.h"
#include "decode/x86/insn.h"

/** A piece of a file mapped as code. */
struct dec_pt_map {
	uint64_t addr, size;
	uint64_t file_offset;
	/** It was mapped there: a byte of the stream, or a time. 0 where nothing was mapped
	 * before: then nothing could run there earlier, so that it may be there from the
	 * beginning, and how precise the stream's times are does not matter. */
	uint64_t from;
	char *path;	     ///< as the program saw it
	int fd;		     ///< where it is read from, not ours; -1: nowhere
	bool is_core;	     ///< that is start.core
	char *why;	     ///< it cannot be read; NULL: it can
	const uint8_t *data; ///< the file's bytes at file_offset
	size_t data_bytes;   ///< less than size where the file is shorter
	bool hides;	     ///< lies over an earlier one
	/** The same bytes with breakpoints, as the processor met them: a file of ours;
	 * -1: there are none. */
	int traced;
};

/** The kernel's page for the probes of a process: where it executes its copies of probed
 * instructions, each in a slot of its own, and (at its beginning) where functions return to
 * whose ends are probed. */
struct dec_pt_page {
	uint64_t addr; ///< 0: there is none
	uint8_t back[64];
	size_t n_back;
};

enum { DEC_PT_PAGE_BYTES = 4096, DEC_PT_PAGE_SLOT = 128 };

/** A file of the capture, found to be one; who reads it reads this. */
struct dec_pt_kept {
	uint32_t file; ///< 0: start.core
	int fd;
};

struct dec_pt_image {
	const struct capture *capture; ///< NULL: none
	VEC(struct dec_pt_kept) kept;
	VEC(struct dec_pt_map) maps; ///< ascending by from
	size_t n_applied;	     ///< the first so many are there now
	struct map breaks;	     ///< addresses of breakpoints
	struct dec_pt_page page;
};

/** Start with the code mapped at exec in @p c, which is borrowed. On error, too,
 * dec_pt_image_deinit() is due. */
struct err *dec_pt_image_init(struct dec_pt_image *im, const struct capture *c);
void dec_pt_image_deinit(struct dec_pt_image *im);

/** @p file (1-based, of the capture) was mapped as code at @p from, not while the image is
 * being read. A file that was not kept is known by name only: decoding finds a gap. */
struct err *dec_pt_image_map(struct dec_pt_image *im, uint32_t file, uint64_t addr,
			     uint64_t size, uint64_t file_offset, uint64_t from);

/** The same of the file open as @p fd, which the program saw as @p path; it stays open as long as
 * the image is there. @p fd -1: it cannot be read, @p why. */
struct err *dec_pt_image_map_path(struct dec_pt_image *im, const char *path, int fd,
				  const char *why, uint64_t addr, uint64_t size,
				  uint64_t file_offset, uint64_t from);

/** There was a breakpoint at @p addr, all the time that file @p path (NULL: any) was mapped
 * there, for a probe; the image has what lies under it. Not while the image is being read. */
struct err *dec_pt_image_break(struct dec_pt_image *im, const char *path, uint64_t addr);

/** @return whether @p ip lies in the kernel's page for probes. */
static inline bool dec_pt_image_is_page(const struct dec_pt_image *im, uint64_t ip)
{
	return im->page.addr && ip - im->page.addr < DEC_PT_PAGE_BYTES;
}

/** @return how many mappings are there at @p from: the first so many of `maps`, later ones
 * hiding earlier ones. */
size_t dec_pt_image_until(const struct dec_pt_image *im, uint64_t from);

/** @return the address behind @p insn when no branch packet says otherwise. */
uint64_t dec_pt_image_behind(const struct dec_insn *insn);

/** Decode the instruction at @p rip, of the first @p n mappings; several threads may, at
 * once. @return ERR_RANGE: no code is known there; ERR_FORMAT: it is no instruction. */
struct err *dec_pt_image_insn(const struct dec_pt_image *im, size_t n, uint64_t rip,
			      struct dec_insn *ret);

/** @return the path of the mapping at @p rip, of the first @p n, that has no code there;
 * @p why is set to the reason. NULL: nothing is mapped there, @p why is left alone. */
const char *dec_pt_image_missing(const struct dec_pt_image *im, size_t n, uint64_t rip,
				 const char **why);

#endif
